/** This policy in the page: its module, and a worker that runs the module. */

import base64 from "virtual:policy-module";
import type { Evaluation } from "./evaluate.ts";
import type { JsonObject } from "./json.ts";
import type { Chosen } from "./incident.ts";
import type { Item } from "./objects.ts";
import type { Table } from "./registry.ts";
import type { Candidate, Summary } from "./survey.ts";
import type { Input, Message, Progress, Task } from "./worker.ts";
import PolicyWorker from "./worker.ts?worker&inline";

/** The bytes of the built module. */
export const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

/** The time limit of policy-server for an evaluation, in milliseconds. */
const LIMIT = 2000;

/** The module, compiled once. */
export const compiled: Promise<WebAssembly.Module> = WebAssembly.compile(bytes);

/** The error of a task that was cancelled before it had a result. */
export class Ended extends Error {}

/** The error of a task that took longer than `LIMIT`. */
export class TimedOut extends Error {}

/** A worker with the module. The first task starts it, and so does the first task after `end`. */
export class Runner {
  #worker: Worker | undefined;
  /** Settled when the worker has the module. */
  #ready: Promise<unknown> = Promise.resolve();
  readonly #triesAgain: () => void;
  #next = 0;
  #waiting = new Map<
    number,
    {
      resolve: (result: unknown) => void;
      reject: (error: Error) => void;
      progress?: (progress: Progress) => void;
    }
  >();

  /** `triesAgain` is called when a task took too long, before the task is tried once more. */
  constructor(triesAgain: () => void = () => undefined) {
    this.#triesAgain = triesAgain;
  }

  /** Validates settings. */
  settings(settings: JsonObject) {
    return this.#askWithLimit<{ valid: boolean; message?: string }>({ task: "settings", settings });
  }

  /** Evaluates a request, within policy-server's time limit. */
  async evaluate(item: Item, settings: JsonObject, table: Table): Promise<Evaluation> {
    return this.#askWithLimit<Evaluation>({ task: "evaluate", item, settings, table });
  }

  /** Reads the objects of files or texts, for surveys with these files' candidates. */
  read(inputs: Input[], files: Candidate[]): Promise<Summary> {
    return this.#ask({ task: "read", inputs, files });
  }

  /** Works out what candidates do to what was read. A newer survey ends an older one. */
  survey(
    candidates: Candidate[],
    incident: Chosen,
    progress: (progress: Progress) => void,
  ): Promise<void> {
    return this.#ask({ task: "survey", candidates, incident }, progress);
  }

  /** A request about a workload that was read; `undefined` if there is none, or after `end`. */
  async details(index: number, candidate: Candidate): Promise<Item | undefined> {
    if (!this.#worker) return undefined;
    try {
      return await this.#ask<Item | undefined>({ task: "details", index, candidate });
    } catch (error) {
      if (error instanceof Ended) return undefined;
      throw error;
    }
  }

  /** Cancels all tasks that have no result. */
  end(reason = new Ended("ended")) {
    this.#worker?.terminate();
    this.#worker = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(reason);
  }

  /** A browser can be too slow for a moment, so a task that takes too long is tried once more. */
  async #askWithLimit<T>(task: Task): Promise<T> {
    try {
      return await this.#askOnceWithLimit<T>(task);
    } catch (error) {
      if (!(error instanceof TimedOut)) throw error;
      this.#triesAgain();
      return this.#askOnceWithLimit<T>(task);
    }
  }

  async #askOnceWithLimit<T>(task: Task): Promise<T> {
    await this.#start();
    const limit = setTimeout(() => this.end(new TimedOut("the module took too long")), LIMIT);
    return this.#send<T>(task).finally(() => clearTimeout(limit));
  }

  async #ask<T>(task: Task, progress?: (progress: Progress) => void): Promise<T> {
    await this.#start();
    return this.#send<T>(task, progress);
  }

  /** Starts the worker if there is none. Waits until the worker has the module. */
  async #start() {
    const module = await compiled;
    if (!this.#worker) {
      this.#worker = new PolicyWorker();
      this.#worker.onmessage = (event: MessageEvent<Message>) => this.#hear(event.data);
      this.#worker.onerror = (event) => this.end(new Error(event.message));
      this.#ready = this.#send({ task: "start", module });
    }
    await this.#ready;
  }

  async #send<T>(task: Task, progress?: (progress: Progress) => void): Promise<T> {
    if (!this.#worker) throw new Ended("ended");
    const id = this.#next++;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, {
        resolve: resolve as (result: unknown) => void,
        reject,
        ...(progress ? { progress } : {}),
      });
      this.#worker?.postMessage({ id, task });
    });
  }

  #hear(message: Message) {
    const waiting = this.#waiting.get(message.id);
    if (!waiting) return;
    if ("progress" in message) {
      waiting.progress?.(message.progress);
      return;
    }
    this.#waiting.delete(message.id);
    if ("error" in message) waiting.reject(new Error(message.error));
    else waiting.resolve(message.result);
  }
}
