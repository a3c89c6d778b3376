/** This policy in the page: its module, and a worker that runs the module. */

import base64 from "virtual:policy-module";
import type { Evaluation } from "./evaluate.ts";
import type { JsonObject } from "./json.ts";
import type { Item } from "./objects.ts";
import type { Table } from "./registry.ts";
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

/** A worker with the module. The first task starts it, and so does the first task after `end`. */
export class Runner {
  #worker: Worker | undefined;
  #next = 0;
  #waiting = new Map<
    number,
    {
      resolve: (result: unknown) => void;
      reject: (error: Error) => void;
      progress?: (progress: Progress) => void;
    }
  >();

  /** Validates settings. */
  settings(settings: JsonObject) {
    return this.#ask<{ valid: boolean; message?: string }>({ task: "settings", settings }, LIMIT);
  }

  /** Evaluates a request, within policy-server's time limit. */
  async evaluate(item: Item, settings: JsonObject, table: Table): Promise<Evaluation> {
    return this.#ask<Evaluation>({ task: "evaluate", item, settings, table }, LIMIT);
  }

  /** Evaluates the objects of files or texts, and reports the progress. */
  plan(
    inputs: Input[],
    settings: JsonObject,
    table: Table,
    progress: (progress: Progress) => void,
  ) {
    return this.#ask<void>({ task: "plan", inputs, settings, table }, undefined, progress);
  }

  /** An object of the last plan; `undefined` if there is none, or if the plan was cancelled. */
  async item(index: number): Promise<Item | undefined> {
    if (!this.#worker) return undefined;
    try {
      return await this.#ask<Item | undefined>({ task: "item", index });
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

  async #ask<T>(task: Task, limit?: number, progress?: (progress: Progress) => void): Promise<T> {
    if (!this.#worker) {
      const module = await compiled;
      if (!this.#worker) {
        this.#worker = new PolicyWorker();
        this.#worker.onmessage = (event: MessageEvent<Message>) => this.#hear(event.data);
        this.#worker.onerror = (event) => this.end(new Error(event.message));
        // An error of the start is ignored here: if the start fails, the task below fails too, and
        // a cancelled start is no failure.
        this.#send({ task: "start", module }).catch(() => undefined);
      }
    }
    const answer = this.#send<T>(task, progress);
    if (limit === undefined) return answer;
    const timer = setTimeout(() => {
      this.end(
        // policy-server uses these words for a request that takes too long.
        new Error("Policy execution interrupted because it exceeded the allowed execution time"),
      );
    }, limit);
    return answer.finally(() => clearTimeout(timer));
  }

  #send<T>(task: Task, progress?: (progress: Progress) => void): Promise<T> {
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
