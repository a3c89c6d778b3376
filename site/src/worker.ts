/** Runs this policy in a worker, so that a long list or a slow request doesn't block the page. */

import { evaluate, validateSettings } from "./evaluate.ts";
import { textOf } from "./files.ts";
import type { JsonObject } from "./json.ts";
import { type Item, members, type Read, readValue } from "./objects.ts";
import { type PlanRow, planRow } from "./plan.ts";
import type { Table } from "./registry.ts";
import { lineOf, parseAny } from "./yaml.ts";

/** An opened file, or a pasted text. */
export type Input = { name: string; content: File | string };

export type Task =
  | { task: "start"; module: WebAssembly.Module }
  | { task: "settings"; settings: JsonObject }
  | { task: "evaluate"; item: Item; settings: JsonObject; table: Table }
  | { task: "plan"; inputs: Input[]; settings: JsonObject; table: Table }
  | { task: "item"; index: number };

/** A report of a running plan. All fields except `part` count from the last report. */
export type Progress = {
  rows: PlanRow[];
  /** The number of objects whose kinds are not sent to this policy. */
  others: number;
  problems: string[];
  /** The finished part of the whole plan, from 0 to 1. */
  part: number;
};

export type Message =
  | { id: number; result: unknown }
  | { id: number; progress: Progress }
  | { id: number; error: string };

let module: WebAssembly.Module | undefined;
/**
 * The object of each row of the last plan, as text. Each instance of the module makes the browser
 * collect garbage, which takes ten times as long with thousands of parsed objects in memory.
 */
let kept: string[] = [];

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

async function run(id: number, task: Task): Promise<unknown> {
  if (task.task === "start") {
    module = task.module;
    return undefined;
  }
  if (!module) throw new Error("the policy's module is not there yet");
  switch (task.task) {
    case "settings":
      return validateSettings(module, task.settings);
    case "evaluate":
      return evaluate(module, task.item, task.settings, task.table);
    case "item":
      return item(kept[task.index]);
    case "plan":
      return plan(id, module, task.inputs, task.settings, task.table);
  }
}

/** The request for an object of the plan, which is given as text. */
function item(text: string | undefined): Item | undefined {
  return text === undefined ? undefined : readValue(JSON.parse(text)).items[0];
}

/** The shortest time between two reports, in milliseconds. The last report may come sooner. */
const INTERVAL = 200;

async function plan(
  id: number,
  module: WebAssembly.Module,
  inputs: Input[],
  settings: JsonObject,
  table: Table,
) {
  kept = [];
  let told = performance.now();
  let progress: Progress = { rows: [], others: 0, problems: [], part: 0 };
  const tell = (part: number) => {
    scope.postMessage({ id, progress: { ...progress, part } });
    progress = { rows: [], others: 0, problems: [], part };
    told = performance.now();
  };
  for (const [number, { name, content }] of inputs.entries()) {
    const text = typeof content === "string" ? content : await textOf(content);
    const { documents, problems } = parseAny(text);
    const where = inputs.length > 1 || typeof content !== "string" ? `${name}: ` : "";
    for (const problem of problems) {
      progress.problems.push(`${where}line ${lineOf(text, problem.from)}: ${problem.message}`);
    }
    const texts = documents
      .splice(0)
      .flatMap(({ value }) => [...members(value)].map((member) => JSON.stringify(member)));
    for (const [index, text] of texts.entries()) {
      const read: Read = readValue(JSON.parse(text));
      progress.others += read.others.length;
      for (const problem of read.problems.map((words) => where + words)) {
        if (!progress.problems.includes(problem)) progress.problems.push(problem);
      }
      for (const item of read.items) {
        kept.push(text);
        progress.rows.push(planRow(evaluate(module, item, settings, table)));
      }
      if (performance.now() - told > INTERVAL) {
        tell((number + (index + 1) / texts.length) / inputs.length);
      }
    }
  }
  tell(1);
}
