import { describe, expect, test } from "vitest";
import { Guest } from "../../src/host.ts";
import { guest } from "../guest.ts";

const noHost = () => {
  throw new Error("nobody is asked");
};
const run = (does: Parameters<typeof guest>[0], operation = "validate") =>
  new TextDecoder().decode(
    new Guest(new WebAssembly.Module(guest(does))).call(operation, new Uint8Array(), noHost),
  );

describe("a guest", () => {
  test("answers", () => {
    expect(run({ answer: "yes" })).toBe("yes");
  });

  test("that reports an error gets its message shown", () => {
    expect(() => run({ answer: "yes", error: "no: ä" })).toThrow(/^no: ä$/);
    expect(run({ answer: "yes", error: "no" }, "validate_settings")).toBe("yes");
  });

  test("that traps gives an error, and the next call gets a fresh instance", () => {
    const trapping = new Guest(new WebAssembly.Module(guest({ answer: "yes", trap: true })));
    expect(() => trapping.call("validate", new Uint8Array(), noHost)).toThrow("unreachable");
    const answer = trapping.call("validate_settings", new Uint8Array(), noHost);
    expect(new TextDecoder().decode(answer)).toBe("yes");
  });
});
