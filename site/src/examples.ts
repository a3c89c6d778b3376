/** The repository's examples, from which a person can choose in the playground. */

import { isNode } from "yaml";
import { readPairs } from "./chart.ts";
import { at, isObject, type Json, textAt } from "./json.ts";
import { readFiles } from "./selection.ts";
import type { Choices } from "./start-view.ts";
import { parseDocuments, toYaml } from "./yaml.ts";

export type Example = {
  label: string;
  text: string;
  /** With these choices, the drawing *How the Pod starts* shows the problem of the example. */
  choices?: Partial<Choices>;
  /** The settings that solve the problem of the example. */
  settings?: string;
};
export type Group = { label: string; examples: Example[] };

const { "../examples/nightly-report.yaml": nightlyReport = "", ...manifests } =
  import.meta.glob<string>("../examples/*.yaml", {
    query: "?raw",
    import: "default",
    eager: true,
  });
const policyFiles = import.meta.glob<string>(
  ["../../examples/*.yaml", "!../../examples/{pairs,pre-pull,descheduler-values}.yaml"],
  { query: "?raw", import: "default", eager: true },
);
const pairs = import.meta.glob<string>("../../examples/pairs.yaml", {
  query: "?raw",
  import: "default",
  eager: true,
});
const requests = import.meta.glob<string>("../../examples/requests/*.json", {
  query: "?raw",
  import: "default",
  eager: true,
});
const reviews = import.meta.glob<string>(
  ["../../test_data/reviews/*.json", "!../../test_data/reviews/agent-stack-0.47-*"],
  { query: "?raw", import: "default", eager: true },
);
const agentStackReviews = import.meta.glob<string>(
  "../../test_data/reviews/agent-stack-0.47-real-{weak-checks,step-image,podspecpatch-image}-*.json",
  { query: "?raw", import: "default", eager: true },
);

const nameOf = (path: string) => path.replace(/^.*\/|\.\w+$/g, "");

function group(
  label: string,
  files: Record<string, string>,
  text: (text: string) => string,
): Group {
  const examples = Object.entries(files)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, content]) => ({ label: nameOf(path), text: text(content) }));
  return { label, examples };
}

/** A request as YAML, without `managedFields`: they are long, and this policy ignores them. */
function readable(json: string): string {
  const value = JSON.parse(json) as Json;
  const request = isObject(value) && isObject(value["request"]) ? value["request"] : value;
  for (const key of ["object", "oldObject"]) {
    const object = isObject(request) ? request[key] : undefined;
    if (isObject(object) && isObject(object["metadata"]))
      delete object["metadata"]["managedFields"];
  }
  return toYaml(value);
}

/** The settings of the policies in a manifest, as they are written there, with their comments. */
export function settingsIn(manifest: string): Example[] {
  return parseDocuments(manifest).documents.flatMap(({ value, document }) => {
    const settings = document?.getIn(["spec", "settings"], true);
    if (at(value, "kind") !== "ClusterAdmissionPolicy" || !isNode(settings) || !settings.range) {
      return [];
    }
    const [from, , to] = settings.range;
    const column = from - manifest.lastIndexOf("\n", from) - 1;
    const text = manifest.slice(from, to).replaceAll(`\n${" ".repeat(column)}`, "\n");
    const name = textAt(value, "metadata", "name") ?? "";
    return [{ label: name.replace("consistent-pull-policy-", ""), text: `${text.trimEnd()}\n` }];
  });
}

const POLICIES = Object.values(policyFiles).flatMap(settingsIn);

/** The settings of a policy in the examples. */
const settingsFor = (name: string) => POLICIES.find(({ label }) => label === name)?.text ?? "";

/** The example of README.md, on a node that has none of the images. */
const NIGHTLY_REPORT = {
  label: "nightly-report",
  text: nightlyReport,
  choices: { missing: ["registry.example.com/team/upload:v2"], copies: false },
  settings: settingsFor("jobs"),
} satisfies Example;

/** Problems of agent-stack-k8s 0.47. With a problem's `choices`, the drawing shows the problem. */
const AGENT_STACK: { name: string; choices: Partial<Choices> }[] = [
  // The check has IfNotPresent: an old copy on the node is enough for it. The container has Always.
  { name: "weak-checks", choices: { missing: ["my-app:v1.2.3"] } },
  // The image of the step's key `image:` has no check at all.
  { name: "step-image", choices: { missing: ["node:22-alpine"], copies: false } },
  // podSpecPatch changed a container's image after the check of the old image was made.
  {
    name: "podspecpatch-image",
    choices: { missing: ["my-app:v1.2.4-fix"], copies: false },
  },
];

function agentStack(): Group {
  const examples = AGENT_STACK.flatMap(({ name, choices }) =>
    ["Pod", "Job"].flatMap((kind) => {
      const file = `agent-stack-0.47-real-${name}-${kind.toLowerCase()}-create.json`;
      const json = agentStackReviews[`../../test_data/reviews/${file}`];
      if (!json) return [];
      const settings = settingsFor("agent-stack-k8s");
      return [{ label: `${name}: ${kind}`, text: objectOf(json), choices, settings }];
    }),
  );
  return { label: "agent-stack-k8s 0.47", examples };
}

/** The object of a review as YAML. The object is shorter than the review, with the same result. */
function objectOf(json: string): string {
  const object = at(JSON.parse(json) as Json, "request", "object");
  if (isObject(object) && isObject(object["metadata"])) delete object["metadata"]["managedFields"];
  return toYaml(object ?? null);
}

/** The page starts with this example and its settings. */
export const FIRST = NIGHTLY_REPORT;

/** The example files, and the pairs of them that must not stand together. */
export const FILES = readFiles(
  Object.fromEntries(Object.entries(policyFiles).map(([path, text]) => [nameOf(path), text])),
);
export const PAIRS = Object.values(pairs).flatMap(readPairs);

/** Objects and requests. */
export const OBJECTS: Group[] = [
  { label: "A Pod that begins its work and hangs", examples: [FIRST] },
  agentStack(),
  group("Manifests", manifests, (text) => text),
  group("Requests", requests, readable),
  group("Reviews captured from an API server", reviews, readable),
];

/** Examples of settings. The first example is empty. */
export const SETTINGS: Group[] = [
  { label: "Nothing set", examples: [{ label: "empty", text: "" }] },
  { label: "For a purpose", examples: POLICIES },
];
