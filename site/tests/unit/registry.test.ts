import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import {
  digestProblem,
  type Exchange,
  errorText,
  madeUpDigest,
  registriesOf,
  registryHost,
  type Table,
} from "../../src/registry.ts";

const ask = (table: Table, operation: string, image: string, asked?: Exchange[]) => {
  const payload = new TextEncoder().encode(JSON.stringify(image));
  const answer = registryHost(registriesOf(table), asked)("kubewarden", "oci", operation, payload);
  return JSON.parse(new TextDecoder().decode(answer));
};
const image = "registry.example.com/team/app:v1.2.3";
const entry = { answer: "digest" as const, digest: "" };

describe("errors have the recorded texts of a host", () => {
  test.each([
    ["denied", "denied"],
    ["not-found", "notFound"],
    ["rate-limited", "rateLimited"],
    ["unreachable", "unreachable"],
  ] as const)("%s", (session, answer) => {
    const file = new URL(`../../../test_data/sessions/${session}.yml`, import.meta.url);
    const [exchange] = parse(readFileSync(file, "utf8"));
    const asked = /image: (\S+)/.exec(exchange.request)?.[1] ?? "";
    expect(errorText(asked, answer)).toBe(exchange.response.message);
    expect(() => ask({ [asked]: { ...entry, answer } }, "v1/manifest_digest", asked)).toThrow(
      `Callback evaluation failure: ${exchange.response.message}`,
    );
  });
});

test("an image that is not in the table gets an invented digest, which is always the same", () => {
  expect(madeUpDigest(image)).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(madeUpDigest(image)).toBe(madeUpDigest(image));
  expect(madeUpDigest(image)).not.toBe(madeUpDigest(`${image}0`));
  const asked: Exchange[] = [];
  expect(ask({}, "v1/manifest_digest", image, asked)).toEqual({ digest: madeUpDigest(image) });
  expect(ask({}, "v1/manifest_digest", "toString:1", asked)).toEqual({
    digest: madeUpDigest("toString:1"),
  });
  expect(asked.map((exchange) => exchange.image)).toEqual([image, "toString:1"]);
});

test("a typed digest is the answer", () => {
  const digest = `sha256:${"ab".repeat(32)}`;
  const table: Table = { [image]: { ...entry, digest } };
  expect(ask(table, "v1/manifest_digest", image)).toEqual({ digest });
});

test("a reference with a digest has a row of its own", () => {
  const digest = `sha256:${"ab".repeat(32)}`;
  const pinned = `registry.example.com/team/app@${digest}`;
  expect(ask({}, "v1/manifest_digest", pinned)).toEqual({ digest });
  const other = `sha256:${"cd".repeat(32)}`;
  expect(ask({ [pinned]: { ...entry, digest: other } }, "v1/manifest_digest", pinned)).toEqual({
    digest,
  });
  for (const answer of ["notFound", "denied"] as const) {
    const table: Table = { [pinned]: { ...entry, answer } };
    expect(() => ask(table, "v1/manifest_digest", pinned)).toThrow(errorText(pinned, answer));
  }
});

test("other host calls are refused", () => {
  const call =
    (...target: [string, string, string]) =>
    () =>
      registryHost(registriesOf({}))(...target, new Uint8Array());
  expect(call("other", "oci", "x")).toThrow("unknown binding: other");
  expect(call("kubewarden", "net", "x")).toThrow("unknown namespace: net");
  expect(() => ask({}, "v1/nope", image)).toThrow("unknown operation: v1/nope");
  expect(call("kubewarden", "tracing", "log")()).toHaveLength(0);
});

test("digests are checked", () => {
  expect(digestProblem("")).toBeUndefined();
  expect(digestProblem(`sha256:${"0".repeat(64)}`)).toBeUndefined();
  expect(digestProblem("sha256:abc")).toBeTruthy();
});
