import { expect, test } from "vitest";
import { asksRegistries, policyYaml } from "../../src/takeaway.ts";

const metadata = { version: "1.2.3", uri: "example.com/policy", title: "policy", rules: [] };

test.each([
  [{}, false],
  [{ registry: { lookup: "Off" } }, false],
  [{ registry: { lookup: "Pin" } }, true],
  [{ registry: { overrides: [{ images: ["a"], lookup: "Verify" }] } }, true],
  [{ mode: "Reject", validatingCopy: true, registry: { lookup: "Pin" } }, false],
  [{ mode: "Reject", validatingCopy: false, registry: { lookup: "Pin" } }, true],
])("%j needs time for lookups: %s", (settings, asks) => {
  expect(asksRegistries(settings)).toBe(asks);
  expect(policyYaml(metadata, settings).includes("timeoutEvalSeconds")).toBe(asks);
});
