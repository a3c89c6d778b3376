/**
 * A waPC host in the browser. It calls the module as policy-server does.
 *
 * The protocol is that of the crate wapc-guest 1.2.
 */

/** Answers a host call. If it throws an error, the guest gets the message of this error. */
export type HostCall = (namespace: string, payload: Uint8Array) => Uint8Array;

type Exports = {
  memory: WebAssembly.Memory;
  wapc_init?: () => void;
  __guest_call: (operationLength: number, payloadLength: number) => number;
};

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * An instance of the guest for several calls. A survey makes thousands of calls, and a fresh
 * instance takes longer than the rest of a call. This policy's module keeps nothing from one call
 * to the next: a test of the rows proves it.
 */
export class Guest {
  #exports: Exports | undefined;
  #operation = new Uint8Array();
  #payload = new Uint8Array();
  #hostCall: HostCall = () => new Uint8Array();
  #response: Uint8Array | undefined;
  #error: string | undefined;
  #hostResponse = new Uint8Array();
  #hostError = new Uint8Array();

  constructor(private readonly module: WebAssembly.Module) {}

  /** @throws an error with the guest's own message, if there is one. */
  call(operation: string, payload: Uint8Array, hostCall: HostCall): Uint8Array {
    this.#operation = encoder.encode(operation);
    this.#payload = new Uint8Array(payload);
    this.#hostCall = hostCall;
    this.#response = undefined;
    this.#error = undefined;
    let done: number;
    try {
      this.#exports ??= this.#start();
      done = this.#exports.__guest_call(this.#operation.length, this.#payload.length);
    } catch (thrown) {
      // After a trap, the instance can be in any state.
      this.#exports = undefined;
      throw thrown;
    }
    if (done !== 1) throw new Error(this.#error ?? "the guest failed without a word");
    if (!this.#response) throw new Error("the guest gave no answer");
    return this.#response;
  }

  #start(): Exports {
    const wapc = {
      __guest_request: (operation: number, payload: number) => {
        this.#write(operation, this.#operation);
        this.#write(payload, this.#payload);
      },
      __guest_response: (pointer: number, length: number) => {
        this.#response = this.#read(pointer, length);
      },
      __guest_error: (pointer: number, length: number) => {
        this.#error = this.#text(pointer, length);
      },
      __host_call: (
        _binding: number,
        _bindingLength: number,
        namespace: number,
        namespaceLength: number,
        _operation: number,
        _operationLength: number,
        pointer: number,
        length: number,
      ) => {
        this.#hostResponse = this.#hostError = new Uint8Array();
        try {
          const response = this.#hostCall(
            this.#text(namespace, namespaceLength),
            this.#read(pointer, length),
          );
          this.#hostResponse = new Uint8Array(response);
          return 1;
        } catch (thrown) {
          const message = thrown instanceof Error ? thrown.message : String(thrown);
          this.#hostError = encoder.encode(message);
          return 0;
        }
      },
      __host_response_len: () => this.#hostResponse.length,
      __host_response: (pointer: number) => this.#write(pointer, this.#hostResponse),
      __host_error_len: () => this.#hostError.length,
      __host_error: (pointer: number) => this.#write(pointer, this.#hostError),
      __console_log: (pointer: number, length: number) => console.log(this.#text(pointer, length)),
    };
    const exports = new WebAssembly.Instance(this.module, { wapc }).exports as unknown as Exports;
    this.#exports = exports;
    exports.wapc_init?.();
    return exports;
  }

  /** Growing the memory replaces its buffer, so the buffer is read at every access. */
  #memory(): ArrayBuffer {
    if (!this.#exports) throw new Error("the module called its host before it was started");
    return this.#exports.memory.buffer;
  }

  // Pointers are unsigned, but JavaScript gets signed numbers. `>>> 0` makes them unsigned.
  #read(pointer: number, length: number): Uint8Array {
    return new Uint8Array(this.#memory(), pointer >>> 0, length >>> 0).slice();
  }

  #write(pointer: number, bytes: Uint8Array) {
    new Uint8Array(this.#memory(), pointer >>> 0, bytes.length).set(bytes);
  }

  #text(pointer: number, length: number): string {
    return decoder.decode(this.#read(pointer, length));
  }
}
