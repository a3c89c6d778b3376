/**
 * A waPC host in the browser. It calls the module as policy-server does.
 *
 * The module is compiled once, and every call gets a fresh instance, as in policy-server. So no
 * state is left from one request to the next. The protocol is that of the crate wapc-guest 1.2.
 */

/** Answers a host call. If it throws an error, the guest gets the message of this error. */
export type HostCall = (
  binding: string,
  namespace: string,
  operation: string,
  payload: Uint8Array,
) => Uint8Array;

/** The guest has reported an error, has trapped, or has given no answer. */
export class GuestError extends Error {
  override name = "GuestError";
}

type Exports = {
  memory: WebAssembly.Memory;
  wapc_init?: () => void;
  __guest_call: (operationLength: number, payloadLength: number) => number;
};

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Calls an operation of the guest.
 *
 * @throws {GuestError} with the guest's own message, if there is one.
 */
export function call(
  module: WebAssembly.Module,
  operation: string,
  payload: Uint8Array,
  hostCall: HostCall,
): Uint8Array {
  const name = encoder.encode(operation);
  let response: Uint8Array | undefined;
  let error: string | undefined;
  let hostResponse = new Uint8Array();
  let hostError = new Uint8Array();
  let exports: Exports | undefined;

  // Growing the memory replaces its buffer, so the buffer is read at every access.
  const memory = () => {
    if (!exports) throw new GuestError("the module called its host before it was started");
    return exports.memory.buffer;
  };
  // Pointers are unsigned, but JavaScript gets signed numbers. `>>> 0` makes them unsigned.
  const read = (pointer: number, length: number) =>
    new Uint8Array(memory(), pointer >>> 0, length >>> 0).slice();
  const text = (pointer: number, length: number) => decoder.decode(read(pointer, length));
  const write = (pointer: number, bytes: Uint8Array) =>
    new Uint8Array(memory(), pointer >>> 0, bytes.length).set(bytes);

  const wapc = {
    __guest_request(operationPointer: number, payloadPointer: number) {
      write(operationPointer, name);
      write(payloadPointer, payload);
    },
    __guest_response(pointer: number, length: number) {
      response = read(pointer, length);
    },
    __guest_error(pointer: number, length: number) {
      error = text(pointer, length);
    },
    __host_call(
      binding: number,
      bindingLength: number,
      namespace: number,
      namespaceLength: number,
      operationPointer: number,
      operationLength: number,
      pointer: number,
      length: number,
    ) {
      try {
        hostResponse = new Uint8Array(
          hostCall(
            text(binding, bindingLength),
            text(namespace, namespaceLength),
            text(operationPointer, operationLength),
            read(pointer, length),
          ),
        );
        hostError = new Uint8Array();
        return 1;
      } catch (thrown) {
        hostError = encoder.encode(thrown instanceof Error ? thrown.message : String(thrown));
        hostResponse = new Uint8Array();
        return 0;
      }
    },
    __host_response_len: () => hostResponse.length,
    __host_response: (pointer: number) => write(pointer, hostResponse),
    __host_error_len: () => hostError.length,
    __host_error: (pointer: number) => write(pointer, hostError),
    __console_log: (pointer: number, length: number) => console.log(text(pointer, length)),
  };

  let done: number;
  try {
    exports = new WebAssembly.Instance(module, { wapc }).exports as unknown as Exports;
    exports.wapc_init?.();
    done = exports.__guest_call(name.length, payload.length);
  } catch (thrown) {
    throw new GuestError(thrown instanceof Error ? thrown.message : String(thrown), {
      cause: thrown,
    });
  }
  if (done !== 1) throw new GuestError(error ?? "the guest failed without a word");
  if (!response) throw new GuestError("the guest gave no answer");
  return response;
}
