import { expect, test } from "vitest";
import { parse } from "yaml";
import { validateSettings } from "../../src/evaluate.ts";
import { OBJECTS, SETTINGS, settingsIn } from "../../src/examples.ts";
import { readSettings } from "../../src/settings.ts";
import { policy } from "../policy.ts";

test("the settings of each policy in a manifest are as they are written there", () => {
  const manifest = `# For whom.
kind: ClusterAdmissionPolicy
metadata: {name: consistent-pull-policy-one}
spec:
  settings:
    mode: Reject # no repair
    imageChecks:
      coverage: "Off"
    # pullOnce: "Off"
---
kind: PolicyServer
spec: {settings: {}}
---
kind: ClusterAdmissionPolicy
metadata: {name: consistent-pull-policy-two}
spec: {settings: {mode: Warn}}
`;
  expect(settingsIn(manifest)).toEqual([
    {
      label: "one",
      text: 'mode: Reject # no repair\nimageChecks:\n  coverage: "Off"\n# pullOnce: "Off"\n',
    },
    { label: "two", text: "{mode: Warn}\n" },
  ]);
});

test("the settings of every example are valid, and those of the objects are among them", () => {
  const texts = SETTINGS.flatMap(({ examples }) => examples.map(({ text }) => text));
  expect(texts.length).toBeGreaterThan(10);
  for (const text of texts) {
    const { value } = readSettings(text);
    expect(value, text).toEqual(parse(text) ?? {});
    expect(validateSettings(policy, value ?? {}), text).toMatchObject({ valid: true });
  }
  const chosen = OBJECTS.flatMap(({ examples }) => examples.map(({ settings }) => settings));
  const named = chosen.filter((settings) => settings !== undefined);
  expect(named.length).toBeGreaterThan(3);
  for (const settings of named) expect(texts.slice(1)).toContain(settings);
});
