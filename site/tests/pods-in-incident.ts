/**
 * What the page says about Pods in an incident, for e2e-tests/cluster/page-incidents.bats, which compares it with a node.
 * The first argument is a `Question`. The standard input is the answer of `kubectl get pods --output json`. For each Pod
 * NAME-with, the containers that start and that wait for an image are printed, and for NAME-without those of the same Pod
 * without any file.
 */

import { readdirSync, readFileSync } from "node:fs";
import { Core } from "../src/core.ts";
import type { Incident, Report, Request, Row, Start } from "../src/types.ts";
import { policy } from "./policy.ts";

type Question = {
  /** The example files in the cluster. Each Pod is selected by one of them. */
  files: string[];
  incident: Incident;
};
type Container = { name: string; volumeMounts?: { name: string }[] };

const { files, incident } = JSON.parse(process.argv.at(-1) ?? "") as Question;
const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");
const examples = readdirSync(new URL("examples/", root))
  .filter((name) => name.endsWith(".yaml") && name !== "pairs.yaml")
  .map((name) => [name.slice(0, -5), read(`examples/${name}`)]);
const survey = new WebAssembly.Module(readFileSync(new URL("site/generated/survey.wasm", root)));
const core = new Core(survey, policy);
core.call({ call: "begin", files: examples, pairs: read("examples/pairs.yaml") });
core.piece(readFileSync(0));
core.call({ call: "finish" });
core.call({ call: "ask", question: { incident } });
while (core.call({ call: "work" }));
const rows = core.call<Row[]>({ call: "rows", from: 0 });
const report = core.call<Report>({ call: "report" });

/** The containers, as a kubelet shows them: a container waits for the images of its volumes too. */
function shown({ steps }: Start, spec: Record<string, Container[]>) {
  const waits = new Set(steps.filter(({ start }) => start === "waits").map(({ name }) => name));
  const isStarted = new Set(
    steps
      .filter(({ list, start }) => list !== "volumes" && ["current", "copy"].includes(start))
      .map(({ name }) => name),
  );
  const isWaiting = ({ name, volumeMounts = [] }: Container) =>
    !isStarted.has(name) &&
    (waits.has(name) || volumeMounts.some((mount) => waits.has(mount.name)));
  const held = (spec["initContainers"] ?? []).find(({ name }) => !isStarted.has(name));
  const now = held ? [held] : (spec["containers"] ?? []);
  return {
    started: [...isStarted].sort(),
    waiting: now
      .filter(isWaiting)
      .map(({ name }) => name)
      .sort(),
  };
}

const answers: Record<string, unknown> = {};
for (const [index, { name, before, results }] of rows.entries()) {
  const chosen = report.examples.flatMap((line, number) =>
    results[number] && files.includes(line.name) ? [{ line, effect: results[number] }] : [],
  );
  const [one, ...more] = chosen;
  if (!one || more.length > 0) throw new Error(`${chosen.length} files select ${name}`);
  const { request, settings } = core.call<{ request: Request; settings: unknown }>({
    ...{ call: "detail", row: index, example: one.line.name },
  });
  for (const [side, of, end] of [
    ["without", null, before],
    ["with", settings, one.effect.after],
  ] as const) {
    const start = core.call<Start>({ call: "start", request, settings: of });
    // The table's cell and the drawing say the same.
    if (start.end.fate !== end.fate) throw new Error(`${name} ${side}: ${end.fate} in the table`);
    const answer = of
      ? core.call<{ mutated_object?: unknown }>({ call: "validate", request, settings: of })
      : {};
    const { spec } = (answer.mutated_object ?? request.object) as { spec: never };
    answers[name.replace(/-with$/, `-${side}`)] = {
      ...shown(start, spec),
      line: { incident, spec },
    };
  }
}
console.log(JSON.stringify(answers));
