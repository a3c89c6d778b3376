/** Small waPC guests with behaviour that the module of this policy must never have. */

const text = (value: string) => [...new TextEncoder().encode(value)];
const name = (value: string) => [text(value).length, ...text(value)];
const section = (id: number, content: number[]) => {
  if (content.length > 127) throw new Error("too long for one byte");
  return [id, content.length, ...content];
};
const I32 = 0x7f;

/**
 * A guest that gives `answer` to every operation. If the name of the operation has 8 bytes, as
 * `validate` has, the guest can also loop for ever, trap, or report `error`.
 */
export function guest(does: {
  answer: string;
  loop?: boolean;
  trap?: boolean;
  error?: string;
}): Uint8Array<ArrayBuffer> {
  const answer = text(does.answer);
  const error = text(does.error ?? "");
  const callHost = (index: number, offset: number, length: number) => [
    ...[0x41, offset, 0x41, length], // i32.const, twice
    ...[0x10, index], // call
  ];
  const onValidate = does.loop
    ? [0x03, 0x40, 0x0c, 0x00, 0x0b] // loop, br 0, end
    : does.trap
      ? [0x00] // unreachable
      : does.error === undefined
        ? []
        : [...callHost(1, 32, error.length), 0x41, 0, 0x0f]; // i32.const 0, return
  const body = [
    0, // no locals
    ...[0x20, 0, 0x41, 8, 0x46, 0x04, 0x40, ...onValidate, 0x0b], // if local 0 = 8 … end
    ...callHost(0, 0, answer.length),
    ...[0x41, 1, 0x0b], // i32.const 1, end
  ];
  return new Uint8Array([
    ...[0, ...text("asm"), 1, 0, 0, 0],
    ...section(1, [2, 0x60, 2, I32, I32, 0, 0x60, 2, I32, I32, 1, I32]),
    ...section(2, [
      2,
      ...[...name("wapc"), ...name("__guest_response"), 0, 0],
      ...[...name("wapc"), ...name("__guest_error"), 0, 0],
    ]),
    ...section(3, [1, 1]),
    ...section(5, [1, 0, 1]),
    ...section(7, [2, ...name("memory"), 2, 0, ...name("__guest_call"), 0, 2]),
    ...section(10, [1, body.length, ...body]),
    ...section(11, [
      2,
      0,
      0x41,
      0,
      0x0b,
      answer.length,
      ...answer,
      0,
      0x41,
      32,
      0x0b,
      error.length,
      ...error,
    ]),
  ]);
}
