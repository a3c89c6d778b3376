/** From chosen example files to the values of the chart, and to the commands that install them. */

import { at, isEqual, isObject, type Json, type JsonObject, textAt } from "./json.ts";
import type { ExampleFile } from "./selection.ts";
import { fitted } from "./survey.ts";
import { parseDocuments, toYaml } from "./yaml.ts";

/**
 * How the commands name the chart. Its repository is published with the page. A page on one's own
 * machine comes from a clone, where `make chart` packs the chart.
 */
export function chartAt(page: URL, version: string): string {
  const isLocal = /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(page.hostname);
  return isLocal
    ? `consistent-pull-policy-${version}.tgz`
    : `consistent-pull-policy --version ${version} --repo ${new URL("charts", page).href}`;
}

/** Two files that must not stand together. */
export type Pair = { a: string; b: string; why: string };

/** Reads examples/pairs.yaml: a list of `{a, b, why}`. */
export function readPairs(text: string): Pair[] {
  const list = parseDocuments(text).documents[0]?.value;
  return (Array.isArray(list) ? list : []).map((pair) => ({
    a: textAt(pair, "a") ?? "",
    b: textAt(pair, "b") ?? "",
    why: textAt(pair, "why") ?? "",
  }));
}

/** The chosen files that must not stand beside this one, with the reasons. */
export function conflicts(file: string, chosen: Iterable<string>, pairs: Pair[]) {
  return [...chosen].flatMap((other) => {
    const pair = pairs.find(
      ({ a, b }) => (a === file && b === other) || (a === other && b === file),
    );
    return pair ? [{ other, why: pair.why }] : [];
  });
}

/** What a person chooses for a release of the chart. */
export type Choice = {
  mode: "monitor" | "protect";
  /** The namespaces that are left out, or the only ones. */
  namespaces: { exclude: string[] } | { only: string[] };
};

/** The values of the release of a file. */
export function valuesOf(file: ExampleFile, registries: string[], choice: Choice): JsonObject {
  const [policy] = file.policies;
  const isAudit = file.policies.every(({ audits }) => audits);
  const settings = policy ? differences(policy.settings, fitted(policy.settings, registries)) : {};
  const [[key, names] = ["", []]] = Object.entries(choice.namespaces);
  return {
    example: file.name,
    // An audit changes nothing in any mode, so it keeps its own.
    ...(isAudit ? {} : { mode: choice.mode }),
    ...(names.length > 0 ? { namespaces: { [key]: names } } : {}),
    ...(Object.keys(settings).length > 0 ? { settings } : {}),
  };
}

/** What of the settings differs: the chart lays it over those of the file. */
function differences(before: JsonObject, after: JsonObject): JsonObject {
  const changed: [string, Json][] = Object.entries(after).flatMap(([key, value]) => {
    if (isEqual(at(before, key), value)) return [];
    const old = before[key];
    return [[key, isObject(old) && isObject(value) ? differences(old, value) : value]];
  });
  return Object.fromEntries(changed);
}

/** The command that installs the release of a file, for a POSIX shell. */
export function helmCommand(file: ExampleFile, values: JsonObject, chart: string): string {
  return `helm upgrade --install consistent-pull-policy-${file.name} \\
  ${chart} \\
  --namespace kubewarden --values - <<'VALUES'
${toYaml(values)}VALUES
`;
}
