/** The survey's core as the page runs it, beside the stored rows of the command (e2e-tests/survey.bats). */

import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Core } from "../../src/core.ts";
import type { Report, Row } from "../../src/types.ts";
import { policy } from "../policy.ts";

const root = new URL("../../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");
const list = (folder: string, ending: string) =>
  readdirSync(new URL(folder, root))
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => [name.slice(0, -ending.length), read(folder + name)] as const);

const survey = new WebAssembly.Module(readFileSync(new URL("site/generated/survey.wasm", root)));
const PRESETS = list("examples/", ".yaml");

type Review = { request: { operation: string; userInfo?: { username?: string }; object: object } };

/** The same objects as in e2e-tests/survey.bats. */
function corpus(): string {
  const pods = list("test_data/pods/", ".yaml").map(([, text]) => `---\n${text}\n`);
  const reviews = list("test_data/reviews/", ".json")
    .map(([, text]) => (JSON.parse(text) as Review).request)
    .filter(({ operation, userInfo }) => operation === "CREATE" && userInfo?.username)
    .map(({ object }) => object);
  const others = [
    {
      ...{ apiVersion: "v1", kind: "Node", metadata: { name: "node-1" } },
      status: { nodeInfo: { kubeletVersion: "v1.35.2" } },
    },
    {
      ...{ apiVersion: "v1", kind: "Namespace" },
      metadata: { name: "ci", labels: { "consistent-pull-policy/ignore": "" } },
    },
  ];
  return [...pods, ...[...reviews, ...others].map((one) => `---\n${JSON.stringify(one)}\n`)].join(
    "",
  );
}

function begin(text: string): Core {
  const core = new Core(survey, policy);
  core.call({ call: "begin", files: PRESETS });
  const bytes = new TextEncoder().encode(text);
  // Pieces end in the middle of characters and objects.
  for (let from = 0; from < bytes.length; from += 9973) {
    core.piece(bytes.subarray(from, from + 9973));
  }
  return core;
}

describe("the rows of the corpus are those of the command", () => {
  const core = begin(corpus());
  core.call({ call: "finish" });
  test.each([
    ["image", "empty"],
    ["registry", "meanwhile"],
    ["registries", "reboot"],
  ])("%s, %s", (what, moment) => {
    const question = { incident: { what, name: "", moment }, choice: {} };
    core.call({ call: "ask", question });
    do core.fresh();
    while (core.call({ call: "work" }));
    const { presets } = core.call<Report>({ call: "report" });
    const rows = core.call<Row[]>({ call: "rows", from: 0 });
    const shown = rows.map(({ kind, namespace, name, number, nodes, images, before, results }) => {
      const effects = results.flatMap((effect, index) =>
        effect
          ? [
              [
                presets[index]?.name,
                [effect.outcome, effect.after.fate, effect.after.isOld, effect.rules],
              ],
            ]
          : [],
      );
      return [
        ...[kind, namespace, name, number, nodes, images, before],
        effects.length > 0 ? Object.fromEntries(effects) : null,
      ];
    });
    const stored = read(`test_data/survey/${what}-${moment}.jsonl`).trimEnd().split("\n");
    expect(stored.length).toBeGreaterThan(30);
    expect(shown).toEqual(stored.map((line) => JSON.parse(line)));
  });
});

describe("the core", () => {
  test("refuses what is no output of kubectl, in the reader's words", () => {
    const cut = begin('{"kind": "List", "items": [{"kind": "Pod"}, {');
    expect(() => cut.call({ call: "finish" })).toThrow("cut off");
    const table = begin("NAMESPACE   NAME   READY\nci          job-1  1/1\n");
    expect(() => table.call({ call: "finish" })).toThrow("a table for people");
  });

  test("reads settings and a preset's settings", () => {
    const core = begin("");
    expect(core.call({ call: "settings", text: "" })).toEqual({});
    expect(core.call({ call: "settings", text: "mode: Warn\n" })).toEqual({ mode: "Warn" });
    expect(() => core.call({ call: "settings", text: "a: [" })).toThrow("line");
    expect(core.call({ call: "settingsOf", preset: "jobs" })).toContain("lookup: PinAlways");
    expect(core.call({ call: "settingsOf", preset: "nothing set" })).toBe("");
  });

  test("takes a request out of its AdmissionReview as a host does, without null fields", () => {
    const core = begin("");
    const request = { uid: "1", options: null, dryRun: null, object: {} };
    const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };
    const text = JSON.stringify(review);
    expect(core.call({ call: "requests", text })).toEqual([{ uid: "1", object: {} }]);
  });

  const container = (name: string) => ({ name, image: `${name}:v1`, imagePullPolicy: "Always" });
  const pod = {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "report", namespace: "team" } },
    spec: { restartPolicy: "Never", containers: [container("app"), container("side")] },
  };
  const settings = {
    imageChecks: { onMissing: "Add", podsWithoutChecks: true, type: "ImageVolume" },
    registry: { lookup: "Verify", images: ["*"] },
  };
  const started = (what: string, more: object = {}) => {
    const core = begin(JSON.stringify(pod));
    core.call({ call: "finish" });
    core.call({ call: "ask", question: { incident: { what, name: "", moment: "empty" } } });
    const [request] = core.call<object[]>({ call: "requests", text: JSON.stringify(pod) });
    const fate = (settings: object | null) =>
      core.call<{ end: { fate: string } }>({ call: "start", request, settings }).end.fate;
    const own = { ...settings, registry: { ...settings.registry, ...more } };
    return [fate(null), fate(own)];
  };

  test("starts a Pod in the worst incident, and asks for its answer in this incident", () => {
    expect(started("image", { onNotFound: "Allow" })).toEqual(["half", "waits"]);
    expect(started("image")).toEqual(["half", "rejected"]);
    expect(started("registries", { onUnavailable: "Reject" })).toEqual(["waits", "rejected"]);
  });
});
