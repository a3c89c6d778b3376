import { describe, expect, test } from "vitest";
import {
  locate,
  placeAt,
  readSettings,
  type Schema,
  schemaAt,
  suggestions,
} from "../../src/settings.ts";

const schema: Schema = {
  type: "object",
  properties: {
    mode: {
      $ref: "#/$defs/Mode",
      description: "What happens\nto a `finding`.\n\nMore of it.",
      default: "Fix",
    },
    everyPod: { type: "boolean" },
    registry: { anyOf: [{ $ref: "#/$defs/Registry" }, { type: "null" }] },
  },
  $defs: {
    Mode: {
      oneOf: [
        { const: "Fix", description: "Repairs." },
        { const: "Reject", description: "Rejects." },
      ],
    },
    Registry: {
      type: "object",
      properties: {
        lookup: { enum: ["Off", "Verify", "Pin", null] },
        overrides: { type: "array", items: { $ref: "#/$defs/Override" } },
      },
    },
    Override: {
      type: "object",
      properties: { images: { type: "array" }, lookup: { enum: ["Off", "Pin"] } },
    },
  },
};

/** The labels of the suggestions at `|`. */
function offered(text: string): string[] {
  const offset = text.indexOf("|");
  const place = placeAt(text.replace("|", ""), offset);
  return place ? suggestions(schema, place).map(({ label }) => label) : [];
}

describe("completion", () => {
  test.each([
    ["|", ["mode", "everyPod", "registry"]],
    ["mo|", ["mode", "everyPod", "registry"]],
    ["mode: Fix\n|", ["everyPod", "registry"]],
    ["|\nmode: Fix", ["everyPod", "registry"]],
    ["mode: |", ["Fix", "Reject"]],
    ["mode: F|", ["Fix", "Reject"]],
    ["everyPod: |", ["true", "false"]],
    ["registry:\n  |", ["lookup", "overrides"]],
    ["registry:\n  lookup: |", ['"Off"', "Verify", "Pin"]],
    ["registry:\n  lookup: Pin\n\n  # a comment\n  |", ["overrides"]],
    ["registry:\n  overrides:\n    - |", ["images", "lookup"]],
    ["registry:\n  overrides:\n  - |", ["images", "lookup"]],
    ["registry:\n  overrides:\n    - images: [a]\n      |", ["lookup"]],
    ["registry:\n  overrides:\n    - images: [a]\n      lookup: |", ['"Off"', "Pin"]],
    ["registry:\n  overrides:\n    - images: [a]\n      lookup: Pin\n  |", ["lookup"]],
    ["registry:\n  lookup: Pin\n|", ["mode", "everyPod"]],
    ["registry: {|", []],
    ["mode: [|", []],
    ["mode: [\n  |", []],
    ["registry:\n  overrides: [\n    |\n  ]", []],
    ["registry:\n  overrides: [{\n    |", []],
    ["registry:\n  overrides:\n    - images: [\n        a,\n        |", []],
    ["registry:\n  overrides:\n    - images: [\n        a,\n      ]\n      |", ["lookup"]],
    ["registry:\n  overrides:\n    - images: [a, b]\n      |", ["lookup"]],
    ["registry:\n  overrides: [\nmo|", ["mode", "everyPod"]],
    ["# |", []],
    ['mode: "|', []],
    ["nothing:\n  |", []],
  ])("in %j offers %j", (text, labels) => {
    expect(offered(text)).toEqual(labels);
  });

  test("explains a key and a value in a paragraph", () => {
    const [mode] = suggestions(schema, { what: "key", path: [], taken: [] });
    expect(mode).toMatchObject({
      info: "What happens to a finding. Default: Fix.",
      detail: "Fix, Reject",
      insert: "mode: ",
    });
    const [fix] = suggestions(schema, { what: "value", path: ["mode"] });
    expect(fix?.info).toBe("Repairs.");
  });

  test("starts maps and lists in the next line", () => {
    const [, , registry] = suggestions(schema, { what: "key", path: [], taken: [] });
    expect(registry).toMatchObject({ insert: "registry:", below: "" });
    const overrides = suggestions(schema, { what: "key", path: ["registry"], taken: ["lookup"] });
    expect(overrides).toMatchObject([{ insert: "overrides:", below: "- ", info: "" }]);
  });

  test("has no suggestion for a path that doesn't exist", () => {
    expect(schemaAt(schema, ["registry", "toString"])).toBeUndefined();
  });
});

describe("a message about the settings", () => {
  /** The parts of the text that the sentences are about. */
  const places = (text: string, message: string) =>
    locate(message, readSettings(text).document).map(({ from, to }) => text.slice(from, to));

  test.each([
    ["mode: fix", "mode: unknown variant `fix`, expected one of `Fix`, `Reject`", ["mode: fix"]],
    ["mode: Fix\npullonce: 1", "pullonce: unknown field `pullonce`", ["pullonce: 1"]],
    ["images:\n  requireAlways: [a, b/]", "images.requireAlways[1]: b/ has nothing", ["b/"]],
    [
      "imageChecks:\n  template: {command: x}",
      "imageChecks.template: command: invalid type",
      ["template"],
    ],
    [
      "registry:\n  lookup: Pin\nimageChecks:\n  template: {name: x}",
      "imageChecks.template.name can't be set: every added check has its own; imageChecks.template.command is required; registry.images is required for lookups: a reason; name your registries, e.g. registry.example.com/*",
      ["registry", "template", "name: x"],
    ],
    ["mode: Fix", "the settings: invalid type", ["m"]],
  ])("in %j, the message %j is shown at %j", (text, message, expected) => {
    expect(places(text, message)).toEqual(expected);
  });
});

test.each([
  ["", {}],
  ["# nothing", {}],
  ["mode: Fix", { mode: "Fix" }],
  ["[]", undefined],
  ["Fix", undefined],
  ["a: 1\n---\nb: 2", undefined],
  ["a: [", undefined],
])("settings are an object or nothing: %j", (text, value) => {
  const settings = readSettings(text);
  expect(settings.value).toEqual(value);
  expect(settings.problems.length > 0).toBe(value === undefined);
});
