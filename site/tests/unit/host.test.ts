import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { evaluate, validateSettings } from "../../src/evaluate.ts";
import { call } from "../../src/host.ts";
import { readValue } from "../../src/objects.ts";
import { metadataOf } from "../../src/takeaway.ts";
import { guest } from "../guest.ts";

const root = new URL("../../../", import.meta.url);
const policy = new WebAssembly.Module(
  readFileSync(process.env["POLICY_MODULE"] ?? new URL("annotated-policy.wasm", root)),
);
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

  test("that reports an error is quoted", () => {
    expect(() => run({ answer: "yes", error: "no: ä" })).toThrow(/^no: ä$/);
    expect(run({ answer: "yes", error: "no" }, "validate_settings")).toBe("yes");
  });

  test("that traps is an error, and the next call a new start", () => {
    expect(() => run({ answer: "yes", trap: true })).toThrow("unreachable");
    expect(run({ answer: "yes", trap: true }, "validate_settings")).toBe("yes");
  });

  test("may write null for what its answer doesn't have", () => {
    const module = new WebAssembly.Module(
      guest({ answer: '{"accepted":true,"mutated_object":null,"code":null}' }),
    );
    expect(evaluate(module, {}, {}, {}).answer).toEqual({ accepted: true });
  });

  test("that fails is a rejection in policy-server's words", () => {
    const module = new WebAssembly.Module(guest({ answer: "", error: "oh no" }));
    const { answer } = evaluate(module, {}, {}, {});
    expect(answer).toEqual({
      accepted: false,
      code: 500,
      message: "internal server error: Guest call failure: oh no",
    });
  });
});

describe("the policy's module", () => {
  test("imports nothing but waPC", () => {
    expect(WebAssembly.Module.imports(policy).filter((entry) => entry.module !== "wapc")).toEqual(
      [],
    );
  });

  test("says what it is", () => {
    const { title, version, uri, rules } = metadataOf(policy);
    expect(title).toBe("consistent-pull-policy");
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
    expect(uri).toMatch(/^ghcr\.io\//);
    expect(rules.length).toBeGreaterThan(3);
  });

  test("speaks the protocol, and has no other operation", () => {
    expect(decode(call(policy, "protocol_version", payload(null), noHost))).toBe('"v1"');
    expect(() => call(policy, "nope", payload(null), noHost)).toThrow(
      "No handler registered for function nope",
    );
  });

  test("judges settings", () => {
    expect(validateSettings(policy, { mode: "Warn" }).valid).toBe(true);
    expect(validateSettings(policy, { mode: "warn" })).toMatchObject({
      valid: false,
      message: expect.stringContaining('not "warn"'),
    });
  });

  test("remembers nothing, and may be asked for large objects", () => {
    const containers = Array.from({ length: 3000 }, (_, n) => ({
      name: `c${n}`,
      image: `a${n}:v1`,
    }));
    const big = { apiVersion: "v1", kind: "Pod", metadata: { name: "big" }, spec: { containers } };
    for (const value of [big, { ...big, spec: { containers: containers.slice(0, 1) } }, big]) {
      const [item] = readValue(value).items;
      expect(item && evaluate(policy, item.request, {}, {}).answer).toEqual({ accepted: true });
    }
  });
});
