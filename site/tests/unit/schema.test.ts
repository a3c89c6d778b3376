import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { placeAt, type Schema, suggestions } from "../../src/settings.ts";

// `make site-build` writes this schema with the crate of this policy.
const schema = JSON.parse(
  readFileSync(new URL("../../generated/settings.schema.json", import.meta.url), "utf8"),
) as Schema;

test.each([
  ["", ["mode", "imageChecks", "images", "registry", "templates"]],
  ["mode: ", ["Fix", "Reject", "Warn"]],
  ["templates: ", ['"Off"', "Warn", "Enforce"]],
  ["imageChecks:\n  ", ["as", "coverage", "everyPod", "template"]],
  ["imageChecks:\n  as: ", ["InitContainer", "ImageVolume"]],
  ["imageChecks:\n  everyPod: ", ["true", "false"]],
  ["images:\n  ", ["forbidAlways", "forbidNever", "requireAlways"]],
  ["defaults:\n  imagePullPolicy: ", ["Always", "AlwaysUnlessDigest", "IfNotPresent", "Never"]],
  ["registry:\n  ", ["lookup", "maxLookups", "overrides", "platform"]],
  ["registry:\n  platform: ", ['"Off"', "Warn", "Reject"]],
  ["registry:\n  onDenied: ", ["Reject", "KeepTag", "UseCached"]],
  ["registry:\n  overrides:\n    - ", ["images", "lookup", "onNotFound"]],
  ["registry:\n  overrides:\n    - images: [a]\n      lookup: ", ['"Off"', "Verify", "Pin"]],
  ["registry:\n  overrides:\n    - images: [a]\n      onDenied: ", ["Reject", "UseCached"]],
  ["exempt:\n  ", ["containers", "images"]],
])("after %j the settings of the policy are offered", (text, expected) => {
  const place = placeAt(text, text.length);
  const offered = place ? suggestions(schema, place).map(({ label }) => label) : [];
  expect(offered).toEqual(expect.arrayContaining(expected));
});
