import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { RULES } from "../../src/report.ts";

const text = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

test("every rule has a line in the page and a section in the docs", () => {
  const ids = [...text("src/findings/reason.rs").matchAll(/Self::\w+ => "([a-z-]+)"/g)].map(
    ([, id]) => id,
  );
  expect(ids.length).toBeGreaterThan(5);
  expect(Object.keys(RULES).sort()).toEqual(ids.sort());
  const docs = text("docs/rules.md");
  for (const id of ids) expect(docs).toContain(`\n## ${id}\n`);
});
