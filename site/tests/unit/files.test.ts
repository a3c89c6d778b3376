import { expect, test } from "vitest";
import { textOf } from "../../src/files.ts";

const text = "kind: Pod # ä 🙂";
const utf16 = (big: boolean) => {
  const view = new DataView(new ArrayBuffer(2 * text.length + 2));
  view.setUint16(0, 0xfeff, !big);
  for (let index = 0; index < text.length; index++) {
    view.setUint16(2 * index + 2, text.charCodeAt(index), !big);
  }
  return view;
};

test.each([
  ["UTF-8", new TextEncoder().encode(text)],
  ["UTF-8 with a mark", new TextEncoder().encode(`\uFEFF${text}`)],
  ["UTF-16, little end first", utf16(false)],
  ["UTF-16, big end first", utf16(true)],
])("%s is read", async (_, bytes) => {
  expect(await textOf(new Blob([bytes]))).toBe(text);
});
