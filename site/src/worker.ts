/** The worker: it reads, asks and evaluates, in short calls, so that each message is answered soon. */

import { Core } from "./core.ts";
import { Guest } from "./host.ts";
import type { Report, Row } from "./types.ts";

/** An opened file, or a text. */
export type Input = File | string;

export type Task =
  | { task: "start"; core: WebAssembly.Module; policy: WebAssembly.Module }
  | { task: "open"; inputs: Input[]; files: [string, string][] }
  | { task: "call"; call: object }
  | { task: "settings"; settings: unknown }
  | { task: "run" }
  | { task: "stop" };

/** How far it came. The rows are those since the last report. */
export type Progress = { part: number; rows?: Row[]; report?: Report };

export type Message = { id: number } & (
  { result: unknown } | { progress: Progress } | { error: string }
);

/** A turn ends after this time, in milliseconds. Then the next message is read. */
const TURN = 40;
/** The time between two reports, in milliseconds. */
const INTERVAL = 1000;
/** The length of a piece of the input, in bytes. */
const PIECE = 1 << 18;

let core: Core | undefined;
let policy: WebAssembly.Module | undefined;
/** Counts what ends a running loop: another input, another question, a stop. */
let turn = 0;
/** How many rows were told to the page. */
let told = 0;

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<{ id: number; task: Task }>) => void) | null;
  postMessage(message: Message): void;
};

scope.onmessage = async ({ data: { id, task } }) => {
  try {
    scope.postMessage({ id, result: await run(id, task) });
  } catch (error) {
    scope.postMessage({ id, error: error instanceof Error ? error.message : String(error) });
  }
};

const pause = () => new Promise((resolve) => setTimeout(resolve));

async function run(id: number, task: Task): Promise<unknown> {
  if (task.task === "start") {
    policy = task.policy;
    core = new Core(task.core, task.policy);
    return undefined;
  }
  if (!core || !policy) throw new Error("the modules are not there yet");
  switch (task.task) {
    case "open":
      turn++;
      return open(id, core, task);
    case "call":
      if ("question" in task.call) {
        turn++;
        told = 0;
      }
      return core.call(task.call);
    case "settings": {
      const payload = new TextEncoder().encode(JSON.stringify(task.settings));
      const answer = new Guest(policy).call("validate_settings", payload, () => new Uint8Array());
      return JSON.parse(new TextDecoder().decode(answer));
    }
    case "run":
      return work(id, core);
    case "stop":
      turn++;
      return undefined;
  }
}

/** Reads all inputs. Returns the number of workloads, or `undefined` if another input came. */
async function open(id: number, core: Core, { inputs, files }: Task & { task: "open" }) {
  const mine = turn;
  told = 0;
  core.call({ call: "begin", files });
  const blobs = inputs.map((input) => (typeof input === "string" ? new Blob([input]) : input));
  const size = blobs.reduce((sum, blob) => sum + blob.size, 0);
  let [read, since] = [0, performance.now()];
  for (const blob of blobs) {
    for (let from = 0; from < blob.size; from += PIECE) {
      const bytes = new Uint8Array(await blob.slice(from, from + PIECE).arrayBuffer());
      if (turn !== mine) return undefined;
      core.piece(bytes);
      read += bytes.length;
      if (performance.now() - since < INTERVAL / 4) continue;
      scope.postMessage({ id, progress: { part: read / size } });
      since = performance.now();
    }
    core.call({ call: "endFile" });
  }
  return core.call<number>({ call: "finish" });
}

/** Works out the rows that are left. Returns whether these are all. */
async function work(id: number, core: Core): Promise<boolean> {
  const mine = ++turn;
  const tell = () => {
    const rows = core.call<Row[]>({ call: "rows", from: told });
    const report = core.call<Report>({ call: "report" });
    told += rows.length;
    scope.postMessage({
      id,
      progress: { part: report.done / (report.workloads || 1), rows, report },
    });
  };
  let [since, began] = [performance.now(), performance.now()];
  for (;;) {
    core.fresh();
    if (!core.call<boolean>({ call: "work" })) break;
    const now = performance.now();
    if (now - began < TURN) continue;
    if (now - since > INTERVAL) {
      tell();
      since = now;
    }
    await pause();
    if (turn !== mine) {
      // A stop: what is done so far is told. After another question, the rows are others.
      if (told > 0 || core.call<Report>({ call: "report" }).done > 0) tell();
      return false;
    }
    began = performance.now();
  }
  tell();
  return true;
}
