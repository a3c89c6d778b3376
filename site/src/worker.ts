/** Runs this policy in a worker, so that a long list or a slow request doesn't block the page. */

import { evaluate, validateSettings } from "./evaluate.ts";
import { textOf } from "./files.ts";
import type { Chosen } from "./incident.ts";
import type { Json, JsonObject } from "./json.ts";
import { type Item, members } from "./objects.ts";
import type { Result } from "./plan.ts";
import type { Table } from "./registry.ts";
import { type Candidate, type Summary, Survey } from "./survey.ts";
import { group } from "./workloads.ts";
import { lineOf, parseAny } from "./yaml.ts";

/** An opened file, or a pasted text. */
export type Input = { name: string; content: File | string };

export type Task =
  | { task: "start"; module: WebAssembly.Module }
  | { task: "settings"; settings: JsonObject }
  | { task: "evaluate"; item: Item; settings: JsonObject; table: Table }
  | { task: "read"; inputs: Input[]; files: Candidate[] }
  | { task: "survey"; candidates: Candidate[]; incident: Chosen }
  | { task: "details"; index: number; candidate: Candidate };

/** A report of a running survey. The results are those since the last report. */
export type Progress = {
  results: { index: number; candidate: string; result: Result | undefined }[];
  /** The finished part of the whole survey, from 0 to 1. */
  part: number;
};

export type Message =
  | { id: number; result: unknown }
  | { id: number; progress: Progress }
  | { id: number; error: string };

let module: WebAssembly.Module | undefined;
let survey: Survey | undefined;
/** The id of the running survey. A newer one ends it. */
let running: number | undefined;

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
    case "read":
      return read(module, task.inputs, task.files);
    case "survey":
      return work(id, task);
    case "details":
      return survey?.details(task.index, task.candidate);
  }
}

/** Reads the objects of all inputs. */
async function read(module: WebAssembly.Module, inputs: Input[], files: Candidate[]) {
  const values: Json[] = [];
  const problems: string[] = [];
  for (const { name, content } of inputs) {
    const text = typeof content === "string" ? content : await textOf(content);
    const parsed = parseAny(text);
    const where = inputs.length > 1 || typeof content !== "string" ? `${name}: ` : "";
    for (const problem of parsed.problems) {
      problems.push(`${where}line ${lineOf(text, problem.from)}: ${problem.message}`);
    }
    for (const { value } of parsed.documents) values.push(...members(value));
  }
  const cluster = group(
    values,
    files.flatMap(({ policies }) => policies),
  );
  survey = new Survey(module, { ...cluster, problems: [...problems, ...cluster.problems] });
  return survey.summary(files) satisfies Summary;
}

/** The shortest time between two reports, in milliseconds. The last report may come sooner. */
const INTERVAL = 200;

async function work(id: number, { candidates, incident }: Task & { task: "survey" }) {
  if (!survey) throw new Error("nothing was read");
  running = id;
  survey.prepare(candidates);
  const { workloads } = survey.cluster;
  let told = performance.now();
  let results: Progress["results"] = [];
  for (const index of workloads.keys()) {
    for (const candidate of candidates) {
      const result = survey.result(index, candidate, incident);
      results.push({ index, candidate: candidate.name, result });
    }
    if (performance.now() - told < INTERVAL) continue;
    scope.postMessage({ id, progress: { results, part: (index + 1) / workloads.length } });
    results = [];
    // A newer task can come in between.
    await new Promise((resolve) => setTimeout(resolve));
    if (running !== id) return;
    told = performance.now();
  }
  scope.postMessage({ id, progress: { results, part: 1 } });
}
