import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { RULES } from "../../src/report.ts";

const text = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

test("the page has the sentence about each rule from docs/rules.md", () => {
  const [list = ""] = /enum Rule \{[^}]*\}/.exec(text("src/examination/finding.rs")) ?? [];
  const ids = [...list.matchAll(/^ {4}([A-Z]\w+),$/gm)].map(([, name = ""]) =>
    name.replace(/(?<=.)[A-Z]/g, "-$&").toLowerCase(),
  );
  expect(ids.length).toBeGreaterThan(5);
  expect([...RULES.keys()].sort()).toEqual(ids.sort());
  for (const sentence of RULES.values()) expect(sentence).toMatch(/^[A-Z][^`[\]]+$/);
});
