import { expect, test } from "vitest";
import { parse } from "yaml";
import {
  chartAt,
  type Choice,
  conflicts,
  helmCommand,
  readPairs,
  valuesOf,
} from "../../src/chart.ts";
import type { ExampleFile } from "../../src/selection.ts";

const file = (settings: object): ExampleFile => ({
  name: "one",
  purpose: "",
  policies: [{ spec: {}, settings: settings as never, conditions: [], audits: false }],
  after: undefined,
});
const choice: Choice = { mode: "monitor", namespaces: { exclude: [] } };

test("pairs that must not stand together are found in both orders", () => {
  const pairs = readPairs("- {a: one, b: two, why: both write Always}\n- {a: two, b: three}\n");
  const found = [{ other: "two", why: "both write Always" }];
  expect(conflicts("one", ["two", "three"], pairs)).toEqual(found);
  expect(conflicts("three", ["two"], pairs)).toEqual([{ other: "two", why: "" }]);
  expect(conflicts("one", ["three"], pairs)).toEqual([]);
  expect(readPairs("")).toEqual([]);
});

test("the values have only what differs from the file", () => {
  const settings = {
    mode: "Fix",
    images: { requireAlways: ["registry.example.com/private/*"], forbidNever: ["*"] },
    registry: {
      lookup: "Pin",
      images: ["registry.example.com/*", "docker.io/*"],
      skipImages: ["auto"],
    },
  };
  expect(valuesOf(file(settings), ["docker.io", "reg:5000"], choice)).toEqual({
    example: "one",
    mode: "monitor",
    settings: {
      images: { requireAlways: ["docker.io/*", "reg:5000/*"] },
      registry: { images: ["docker.io/*", "reg:5000/*"] },
    },
  });
  expect(valuesOf(file({ mode: "Fix" }), ["docker.io"], choice)).toEqual({
    example: "one",
    mode: "monitor",
  });
  const only: Choice = { mode: "protect", namespaces: { only: ["a"] } };
  expect(valuesOf(file({}), [], only)).toEqual({
    example: "one",
    mode: "protect",
    namespaces: { only: ["a"] },
  });
});

test("an audit keeps its own mode", () => {
  const audit = file({});
  for (const policy of audit.policies) policy.audits = true;
  expect(valuesOf(audit, [], choice)).toEqual({ example: "one" });
});

test("the chart is beside the published page, or in a clone", () => {
  expect(chartAt(new URL("https://example.github.io/project/?a#b"), "1.2.3")).toBe(
    "consistent-pull-policy --version 1.2.3 --repo https://example.github.io/project/charts",
  );
  expect(chartAt(new URL("http://localhost:4173/"), "1.2.3")).toBe(
    "consistent-pull-policy-1.2.3.tgz",
  );
});

test("the command carries the values", () => {
  const values = valuesOf(file({}), [], {
    mode: "monitor",
    namespaces: { exclude: ["kube-system"] },
  });
  const command = helmCommand(file({}), values, "the-chart");
  expect(command).toContain("helm upgrade --install consistent-pull-policy-one");
  const [, text = ""] = /<<'VALUES'\n([\s\S]*)VALUES\n$/.exec(command) ?? [];
  expect(parse(text)).toEqual(values);
});
