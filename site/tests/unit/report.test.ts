import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ownAnnotations, RULES, verdict } from "../../src/report.ts";

const text = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

test("the page has the sentence about each rule from docs/rules.md", () => {
  const [list = ""] = /enum Rule \{[^}]*\}/.exec(text("src/examination/rule.rs")) ?? [];
  const ids = [...list.matchAll(/^ {4}([A-Z]\w+),$/gm)].map(([, name = ""]) =>
    name.replace(/(?<=.)[A-Z]/g, "-$&").toLowerCase(),
  );
  expect(ids.length).toBeGreaterThan(5);
  expect([...RULES.keys()].sort()).toEqual(ids.sort());
  for (const sentence of RULES.values()) expect(sentence).toMatch(/^[A-Z][^`[\]]+$/);
});

test("the Pod's annotations of this policy are found, and warnings alone are no repair", () => {
  const changes = '[{"path":"spec.containers[0].imagePullPolicy","rule":"pull-once"}]';
  const own = { "consistent-pull-policy/warnings": '["a is missing"]' };
  const annotations = { team: "a", ...own };
  const warned = {
    accepted: true,
    warnings: ["a is missing"],
    mutated_object: { metadata: { annotations } },
  };
  expect(ownAnnotations(warned)).toEqual(Object.entries(own));
  expect(verdict(warned).words).toBe("allowed, with warnings");
  const repaired = { ...warned, audit_annotations: { changes } };
  expect(verdict(repaired).words).toBe("allowed, repaired");
  expect(ownAnnotations({ accepted: true })).toEqual([]);
});
