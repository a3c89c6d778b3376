/** The page's side of the worker. */

import type { Input, Message, Progress, Task } from "./worker.ts";
import PolicyWorker from "./worker.ts?worker&inline";

type Waiting = {
  resolve: (result: never) => void;
  reject: (error: Error) => void;
  progress: ((progress: Progress) => void) | undefined;
};

const FILES = import.meta.glob<string>("../../examples/*.yaml", {
  query: "?raw",
  import: "default",
  eager: true,
});
const nameOf = (path: string) => path.replace(/^.*\/|\.yaml$/g, "");
/** The presets, and what can't be combined, by the names of their files. */
const PRESETS = Object.entries(FILES).map(([path, text]): [string, string] => [nameOf(path), text]);
/** The names of the presets. */
export const NAMES = PRESETS.map(([name]) => name).filter((name) => name !== "pairs");

export class Client {
  readonly #worker = new PolicyWorker();
  readonly #waiting = new Map<number, Waiting>();
  #ids = 0;

  constructor(modules: Promise<{ core: WebAssembly.Module; policy: WebAssembly.Module }>) {
    this.#worker.onmessage = ({ data }: MessageEvent<Message>) => {
      const waiting = this.#waiting.get(data.id);
      if ("progress" in data) return waiting?.progress?.(data.progress);
      this.#waiting.delete(data.id);
      if ("error" in data) waiting?.reject(new Error(data.error));
      else waiting?.resolve(data.result as never);
    };
    this.started = modules.then((modules) => this.#send({ task: "start", ...modules }));
  }

  readonly started: Promise<void>;

  /** One of the calls of the survey's core. */
  call<T>(call: object): Promise<T> {
    return this.#send({ task: "call", call });
  }

  /** Reads objects: the number of workloads, or `undefined` if another input came meanwhile. */
  open(inputs: Input[], progress: (progress: Progress) => void): Promise<number | undefined> {
    return this.#send({ task: "open", inputs, files: PRESETS }, progress);
  }

  /** Works out the rows that are left. True if these are all. */
  run(progress: (progress: Progress) => void): Promise<boolean> {
    return this.#send({ task: "run" }, progress);
  }

  stop(): Promise<void> {
    return this.#send({ task: "stop" });
  }

  validateSettings(settings: unknown): Promise<{ valid: boolean; message?: string }> {
    return this.#send({ task: "settings", settings });
  }

  #send<T>(task: Task, progress?: (progress: Progress) => void): Promise<T> {
    const id = ++this.#ids;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, progress });
      this.#worker.postMessage({ id, task });
    });
  }
}
