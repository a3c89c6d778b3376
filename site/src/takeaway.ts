/** The texts that a user copies: the resource that installs this policy, and a `kwctl` command. */

import { at, isObject, type Json, type JsonObject, textAt } from "./json.ts";
import type { Item } from "./objects.ts";
import { toYaml } from "./yaml.ts";

/** The parts of the module's metadata that the page needs. */
export type Metadata = { version: string; uri: string; title: string; rules: JsonObject[] };

/** Reads Kubewarden's section of the module, as `kwctl annotate` writes it. */
export function metadataOf(module: WebAssembly.Module): Metadata {
  const [section] = WebAssembly.Module.customSections(module, "io.kubewarden.metadata");
  const metadata: Json = section ? (JSON.parse(new TextDecoder().decode(section)) as Json) : null;
  const annotation = (key: string) =>
    textAt(metadata, "annotations", `io.kubewarden.policy.${key}`) ?? "";
  const rules = at(metadata, "rules");
  return {
    version: annotation("version"),
    uri: annotation("ociUrl"),
    title: annotation("title"),
    rules: Array.isArray(rules) ? rules.filter(isObject) : [],
  };
}

const moduleUri = (metadata: Metadata) => `registry://${metadata.uri}:v${metadata.version}`;

/** Whether this policy makes lookups with these settings. */
export function asksRegistries(settings: JsonObject): boolean {
  const lookup = textAt(settings["registry"], "lookup");
  return lookup !== undefined && lookup !== "Off";
}

/** The ClusterAdmissionPolicy for these settings, with the admission rules of the module. */
export function policyYaml(metadata: Metadata, settings: JsonObject): string {
  const mutating = (settings["mode"] ?? "Fix") === "Fix";
  const text = toYaml({
    apiVersion: "policies.kubewarden.io/v1",
    kind: "ClusterAdmissionPolicy",
    metadata: { name: metadata.title },
    spec: {
      module: moduleUri(metadata),
      // The time limits of the API server and of policy-server, for a request. A registry may need
      // more time than the default of policy-server, which is 2 seconds.
      ...(asksRegistries(settings) ? { timeoutSeconds: 15, timeoutEvalSeconds: 10 } : {}),
      mutating,
      namespaceSelector: {
        matchExpressions: [
          { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system"] },
        ],
      },
      rules: metadata.rules,
      settings,
    },
  });
  return text.replace("mutating: true\n", "mutating: true # mode Fix changes objects\n");
}

/** Quotes a word for a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The file name of a saved request. */
export function requestFile(item: Item): string {
  const name = item.name.replaceAll(/[^A-Za-z0-9.-]/g, "").replace(/[.-]+$/, "");
  return `${name || item.kind.toLowerCase().replaceAll("/", "-")}-request.json`;
}

/** The command with which a user evaluates the saved request on their own machine. */
export function kwctlLine(metadata: Metadata, item: Item, settings: JsonObject): string {
  return [
    "kwctl run",
    `--request-path ${quoted(requestFile(item))}`,
    `--settings-json ${quoted(JSON.stringify(settings))}`,
    moduleUri(metadata),
  ].join(" \\\n  ");
}
