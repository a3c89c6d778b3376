/**
 * The survey's core (survey/page), which asks this policy's module. Everything that the page knows
 * about Kubernetes and about this policy comes from these two modules.
 */

import { Guest } from "./host.ts";

type Exports = {
  memory: WebAssembly.Memory;
  room(length: number): number;
  output(): number;
  piece(): void;
  call(): number;
  digest(): number;
};

type Result = { ok: unknown } | { error: string };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class Core {
  readonly #exports: Exports;
  readonly #policy: WebAssembly.Module;
  #guest: Guest;

  constructor(core: WebAssembly.Module, policy: WebAssembly.Module) {
    this.#policy = policy;
    this.#guest = new Guest(policy);
    const page = {
      validate: (pointer: number, length: number) =>
        this.#write(this.#validate(this.#read(pointer, length))),
    };
    this.#exports = new WebAssembly.Instance(core, { page }).exports as unknown as Exports;
  }

  /** Takes a fresh instance of this policy's module, because an instance frees nothing. */
  fresh() {
    this.#guest = new Guest(this.#policy);
  }

  /** Reads a piece of the input. */
  piece(bytes: Uint8Array) {
    this.#write(bytes);
    this.#exports.piece();
  }

  /** Makes one of the calls of survey/page. Throws the sentence with which the core refuses it. */
  call<T>(call: object): T {
    this.#write(encoder.encode(JSON.stringify(call)));
    return this.#result(this.#exports.call()) as T;
  }

  #result(length: number): unknown {
    const text = decoder.decode(this.#read(this.#exports.output(), length));
    const result = JSON.parse(text) as Result;
    if ("error" in result) throw new Error(result.error);
    return result.ok;
  }

  /** This policy's answer. A module that fails rejects, as in policy-server. */
  #validate(payload: Uint8Array): Uint8Array {
    try {
      return this.#guest.call("validate", payload, (namespace, image) =>
        namespace === "oci" ? this.#digest(image) : new Uint8Array(),
      );
    } catch (error) {
      this.fresh();
      const message = `internal server error: Guest call failure: ${error instanceof Error ? error.message : error}`;
      return encoder.encode(JSON.stringify({ accepted: false, message, code: 500 }));
    }
  }

  #digest(image: Uint8Array): Uint8Array {
    this.#write(encoder.encode(JSON.parse(decoder.decode(image)) as string));
    const digest = this.#result(this.#exports.digest());
    return encoder.encode(JSON.stringify({ digest }));
  }

  #write(bytes: Uint8Array) {
    const pointer = this.#exports.room(bytes.length);
    new Uint8Array(this.#exports.memory.buffer, pointer >>> 0, bytes.length).set(bytes);
  }

  #read(pointer: number, length: number): Uint8Array {
    return new Uint8Array(this.#exports.memory.buffer, pointer >>> 0, length).slice();
  }
}
