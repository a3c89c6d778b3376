import { expect, test } from "vitest";
import { evaluate } from "../../src/evaluate.ts";
import type { JsonObject } from "../../src/json.ts";
import { readValue } from "../../src/objects.ts";
import { withoutRepairs } from "../../src/record.ts";
import { testData } from "../cluster.ts";
import { policy } from "../policy.ts";

test("a repaired Pod without its repairs is the Pod that came in", () => {
  let repaired = 0;
  for (const as of ["InitContainer", "ImageVolume"]) {
    const settings = {
      imageChecks: { coverage: "Fix", everyPod: true, as, template: { command: ["/check/true"] } },
      registry: { lookup: "Pin", images: ["*"] },
    };
    for (const item of testData().flatMap((object) => readValue(object).items)) {
      if (item.kind !== "Pod") continue;
      const evaluation = evaluate(policy, item, settings, {});
      const { mutated_object } = evaluation.answer;
      if (mutated_object === undefined) continue;
      repaired++;
      const undone = withoutRepairs(mutated_object as JsonObject);
      expect(withoutEmpty(undone), item.name).toEqual(
        withoutEmpty(evaluation.item.request["object"] as JsonObject),
      );
    }
  }
  expect(repaired).toBeGreaterThan(40);
});

/** Without empty lists and maps: nothing tells whether they were there before. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, withoutEmpty(inner)] as const);
  const isFull = ([, inner]: readonly [string, unknown]) =>
    typeof inner !== "object" || inner === null || Object.keys(inner).length > 0;
  return Object.fromEntries(entries.filter(isFull));
}

const recorded = (changes: object[] | string, spec: JsonObject) => ({
  metadata: {
    annotations: {
      other: "stays",
      "consistent-pull-policy/changes":
        typeof changes === "string" ? changes : JSON.stringify(changes),
      "consistent-pull-policy/warnings": "[]",
    },
  },
  spec,
});

test("a value that somebody has changed since the repair stays", () => {
  const change = {
    path: "spec.containers[7].imagePullPolicy",
    container: "app",
    from: "Always",
    to: "IfNotPresent",
  };
  const pod = (imagePullPolicy: string) =>
    recorded([change], { containers: [{ name: "istio-proxy" }, { name: "app", imagePullPolicy }] });
  const policyOf = (pod: JsonObject) => JSON.stringify(withoutRepairs(pod)["spec"]);
  expect(policyOf(pod("IfNotPresent"))).toContain('"Always"');
  expect(policyOf(pod("Never"))).toContain('"Never"');
  expect(withoutRepairs(pod("Never"))["metadata"]).toEqual({ annotations: { other: "stays" } });
});

test("a record that can't be read changes nothing", () => {
  const spec = { containers: [{ name: "app", imagePullPolicy: "Always" }] };
  for (const changes of ["", "{", "{}", '[{"more":12}]', '["x"]']) {
    expect(withoutRepairs(recorded(changes, spec))["spec"], changes).toEqual(spec);
  }
  const plain = { metadata: {}, spec };
  expect(withoutRepairs(plain)).toBe(plain);
});
