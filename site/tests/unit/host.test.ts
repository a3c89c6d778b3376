import { describe, expect, test } from "vitest";
import { answerOf } from "../../src/evaluate.ts";
import { call } from "../../src/host.ts";
import { metadataOf } from "../../src/takeaway.ts";
import { guest } from "../guest.ts";
import { policy } from "../policy.ts";

const noHost = () => {
  throw new Error("nobody is asked");
};
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const payload = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

describe("a guest", () => {
  const run = (does: Parameters<typeof guest>[0], operation = "validate") =>
    decode(call(new WebAssembly.Module(guest(does)), operation, payload({}), noHost));

  test("answers", () => {
    expect(run({ answer: "yes" })).toBe("yes");
  });

  test("that reports an error gets its message shown", () => {
    expect(() => run({ answer: "yes", error: "no: ä" })).toThrow(/^no: ä$/);
    expect(run({ answer: "yes", error: "no" }, "validate_settings")).toBe("yes");
  });

  test("that traps gives an error, and the next call gets a fresh instance", () => {
    expect(() => run({ answer: "yes", trap: true })).toThrow("unreachable");
    expect(run({ answer: "yes", trap: true }, "validate_settings")).toBe("yes");
  });

  test("may write null for a field that its answer doesn't have", () => {
    const module = new WebAssembly.Module(
      guest({ answer: '{"accepted":true,"mutated_object":null,"code":null}' }),
    );
    expect(answerOf(module, {}, {}, noHost)).toEqual({ accepted: true });
  });

  test("that fails gives a rejection with the words of policy-server", () => {
    const module = new WebAssembly.Module(guest({ answer: "", error: "oh no" }));
    expect(answerOf(module, {}, {}, noHost)).toEqual({
      accepted: false,
      code: 500,
      message: "internal server error: Guest call failure: oh no",
    });
  });
});

describe("the module of this policy", () => {
  test("has its metadata", () => {
    const { title, version, uri, rules } = metadataOf(policy);
    expect(title).toBe("consistent-pull-policy");
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
    expect(uri).toMatch(/^ghcr\.io\//);
    expect(rules[0]).toMatchObject({ resources: ["pods"], operations: ["CREATE"] });
  });
});
