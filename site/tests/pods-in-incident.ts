/**
 * What the page says about Pods in an incident, for e2e-tests/cluster/page-incidents.bats, which compares it with a node.
 * The first argument is a `Question`. The standard input is the answer of `kubectl get pods --output json`. For each Pod
 * NAME-with, the containers that start and that wait for an image are printed, and for NAME-without those of the same Pod
 * without any file.
 */

import { readFileSync } from "node:fs";
import { evaluate } from "../src/evaluate.ts";
import { FILES } from "../src/examples.ts";
import { copiesOf, type Incident, outOfReach } from "../src/incident.ts";
import type { Json, JsonObject } from "../src/json.ts";
import { members, podSpec } from "../src/objects.ts";
import { endOf, hasStarted, simulate, type Step } from "../src/start.ts";
import { candidateOf, Survey } from "../src/survey.ts";
import { group } from "../src/workloads.ts";
import { policy } from "./policy.ts";

type Question = {
  /** The example files in the cluster. Each Pod is selected by one of them. None of them looks up images. */
  files: string[];
  incident: Incident;
  /** An image of which the node has no copy, or "". */
  removed: string;
};

const { files, incident, removed } = JSON.parse(process.argv.at(-1) ?? "") as Question;
const candidates = FILES.filter(({ name }) => files.includes(name)).map((file) =>
  candidateOf(file, FILES),
);
const values = [...members(JSON.parse(readFileSync(0, "utf8")) as Json)];
const survey = new Survey(
  policy,
  group(
    values,
    candidates.flatMap(({ policies }) => policies),
  ),
);
survey.prepare(candidates);

/** The steps of the start of a Pod, as the page draws them. */
function steps(spec: JsonObject): Step[] {
  const copies = incident.moment === "empty" ? new Set<string>() : copiesOf(spec);
  if (removed) copies.delete(removed);
  const away = outOfReach(incident, [spec], survey.nameOf);
  return simulate(spec, { registry: "up", copies, missing: new Set(), away, invalid: new Set() });
}

/** The containers, as a kubelet shows them: a container waits for the images of its volumes too. */
function shown(steps: Step[]) {
  const containers = steps.filter(({ kind }) => kind !== "volume");
  const waiting = new Set<string>();
  let isHeld = false;
  for (const { kind, name, fate } of steps) {
    isHeld ||= fate === "waits";
    if (kind === "volume") continue;
    if (isHeld) waiting.add(name);
    isHeld = false;
  }
  return {
    started: containers
      .filter(hasStarted)
      .map(({ name }) => name)
      .sort(),
    waiting: [...waiting].sort(),
  };
}

const answers: Record<string, unknown> = {};
for (const [index, { name }] of survey.cluster.workloads.entries()) {
  const rows = candidates.flatMap((candidate) => {
    const result = survey.result(index, candidate, incident);
    return result ? [{ candidate, result }] : [];
  });
  const [row, ...more] = rows;
  const item = row && survey.details(index, row.candidate);
  if (!item || more.length > 0) throw new Error(`${rows.length} files select ${name}`);
  const settings = row.candidate.policies[0]?.settings ?? {};
  const { item: stored, answer } = evaluate(policy, item, settings, {});
  const before = podSpec(stored.request["object"]) ?? {};
  const after = podSpec(answer.mutated_object) ?? before;
  for (const [side, spec] of [
    ["before", before],
    ["after", after],
  ] as const) {
    const drawn = steps(spec);
    // The table's cell and the drawing say the same.
    if (!removed && endOf(drawn) !== row.result[side]) {
      throw new Error(`${name} ${side}: ${row.result[side]} in the table, ${endOf(drawn)} drawn`);
    }
    const pod = side === "after" ? name : name.replace(/-with$/, "-without");
    answers[pod] = { ...shown(drawn), line: { incident, removed, spec } };
  }
}
console.log(JSON.stringify(answers));
