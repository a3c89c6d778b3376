/** The record: the annotation in which a repaired Pod lists what this policy changed. */

import { at, isObject, type Json, type JsonObject, listAt, textAt } from "./json.ts";

const RECORD = "consistent-pull-policy/changes";

/** The Pod without the changes that its record lists, and without this policy's annotations. */
export function withoutRepairs(pod: JsonObject): JsonObject {
  const annotations = at(pod, "metadata", "annotations");
  if (!isObject(annotations) || !Object.hasOwn(annotations, RECORD)) return pod;
  const undone = structuredClone(pod);
  const spec = at(undone, "spec");
  if (isObject(spec)) for (const change of changesIn(annotations[RECORD])) undo(spec, change);
  const kept = Object.entries(annotations).filter(
    ([key]) => !key.startsWith("consistent-pull-policy/"),
  );
  return {
    ...undone,
    metadata: { ...(undone["metadata"] as JsonObject), annotations: Object.fromEntries(kept) },
  };
}

/** The entries of a record, the last one first. */
function changesIn(record: Json | undefined): Json[] {
  try {
    const changes: unknown = JSON.parse(typeof record === "string" ? record : "[]");
    return Array.isArray(changes) ? (changes as Json[]).reverse() : [];
  } catch {
    return [];
  }
}

/**
 * Undoes a change. Other webhooks may have moved the entry, so its name finds it. A value that
 * somebody has changed since then stays.
 */
function undo(spec: JsonObject, change: Json) {
  const [, list = "", , field] =
    /^spec\.(\w+)\[(\d+)\](?:\.(.+))?$/.exec(textAt(change, "path") ?? "") ?? [];
  const name = textAt(change, "container");
  const entries = spec[list];
  if (!name || !Array.isArray(entries)) return;
  if (!field) {
    spec[list] = entries.filter((entry) => textAt(entry, "name") !== name);
    if (list === "volumes") removeMounts(spec, name);
    return;
  }
  const entry = entries.find((entry) => textAt(entry, "name") === name);
  const holder = list === "volumes" ? at(entry, "image") : entry;
  const key = field.replace(/^image\./, "");
  if (!isObject(holder) || holder[key] !== at(change, "to")) return;
  const from = at(change, "from");
  if (from === null || from === undefined) delete holder[key];
  else holder[key] = from;
}

function removeMounts(spec: JsonObject, volume: string) {
  for (const container of ["initContainers", "containers"].flatMap((list) => listAt(spec, list))) {
    if (!isObject(container) || !Array.isArray(container["volumeMounts"])) continue;
    container["volumeMounts"] = container["volumeMounts"].filter(
      (mount) => textAt(mount, "name") !== volume,
    );
  }
}
