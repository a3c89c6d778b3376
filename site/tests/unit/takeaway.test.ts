import { expect, test } from "vitest";
import { asksRegistries, policyYaml } from "../../src/takeaway.ts";

const metadata = { version: "1.2.3", uri: "example.com/policy", title: "policy", rules: [] };

test.each([
  [{}, false],
  [{ registry: { lookup: "Off" } }, false],
  [{ registry: { lookup: "Pin" } }, true],
  // As YAML reads a bare Off.
  [{ registry: { lookup: false } }, false],
])("%j needs time for lookups: %s", (settings, asks) => {
  expect(asksRegistries(settings)).toBe(asks);
  expect(policyYaml(metadata, settings).includes("timeoutEvalSeconds")).toBe(asks);
});
