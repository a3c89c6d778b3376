/** The readable form of an answer: a verdict and a table, like those of `make run`. */

import rulesPage from "../../docs/rules.md?raw";
import type { Answer, Evaluation } from "./evaluate.ts";
import { at, isObject, type Json, listAt, textAt } from "./json.ts";
import { type Item, podSpec } from "./objects.ts";

/** A container or an image volume. */
export type Place = {
  list: "volumes" | "initContainers" | "containers" | "ephemeralContainers";
  name: string;
  image: string;
  policy: string | undefined;
};

const LISTS = ["volumes", "initContainers", "containers", "ephemeralContainers"] as const;

/** The image volumes, then the containers, of a Pod or a pod template, in the order of `LISTS`. */
export function places(object: Json | undefined): Place[] {
  const spec = podSpec(object);
  const found: Place[] = [];
  for (const list of LISTS) {
    for (const element of listAt(spec, list)) {
      const volume = list === "volumes";
      const holder = volume ? at(element, "image") : element;
      if (!isObject(holder)) continue;
      found.push({
        list,
        name: textAt(element, "name") ?? "",
        image: textAt(holder, volume ? "reference" : "image") ?? "",
        policy: textAt(holder, volume ? "pullPolicy" : "imagePullPolicy"),
      });
    }
  }
  return found;
}

/** An element of the audit annotation `changes`. */
export type Change = {
  path: string;
  container?: string;
  from: Json;
  to: Json;
  rule: string;
};

/** An element of the audit annotation `findings`. */
export type Finding = {
  rule: string;
  path: string;
  container?: string;
  image?: string;
  found?: Json;
  expected?: Json;
};

function annotation<T>(answer: Answer, key: string): T[] {
  try {
    const list: unknown = JSON.parse(answer.audit_annotations?.[key] ?? "[]");
    return Array.isArray(list) ? (list as T[]) : [];
  } catch {
    return [];
  }
}

/** This policy's annotations of the object that comes out: the record, and the warnings. */
export function ownAnnotations(answer: Answer): [string, string][] {
  const annotations = at(answer.mutated_object, "metadata", "annotations");
  return Object.entries(isObject(annotations) ? annotations : {}).filter(
    (entry): entry is [string, string] =>
      entry[0].startsWith("consistent-pull-policy/") && typeof entry[1] === "string",
  );
}

export const changesOf = (answer: Answer) => annotation<Change>(answer, "changes");
export const findingsOf = (answer: Answer) => annotation<Finding>(answer, "findings");

/** The sentence at the start of each rule's section in docs/rules.md, without marks and links. */
export const RULES = new Map(
  [...rulesPage.matchAll(/^## ([a-z-]+)\n\n\*(.+?)\*(?=[ ,.:]|$)/gm)].map(([, rule, sentence]) => [
    rule,
    sentence?.replace(/`|\[|\]\([^)]*\)/g, ""),
  ]),
);

/**
 * Whether this policy repaired the object. An annotation with warnings is no repair: with no other
 * change, the Pod starts as it came in.
 */
export const isRepaired = (answer: Answer) =>
  answer.mutated_object !== undefined && changesOf(answer).length > 0;

/** The rules with a finding or a change, in alphabetical order. */
export function rulesOf(answer: Answer): string[] {
  const entries = [...changesOf(answer), ...findingsOf(answer)];
  return [...new Set(entries.map((entry) => entry.rule))].sort();
}

export type Verdict = { words: string; style: "good" | "notice" | "bad" };

/** The verdict in the words of `make run`. */
export function verdict(answer: Answer): Verdict {
  if (!answer.accepted) {
    return { words: `rejected${answer.code ? ` (${answer.code})` : ""}`, style: "bad" };
  }
  if (isRepaired(answer)) return { words: "allowed, repaired", style: "notice" };
  if (answer.warnings?.length) return { words: "allowed, with warnings", style: "notice" };
  return { words: "allowed, unchanged", style: "good" };
}

/** A row of the table. */
export type Row = {
  label: string;
  image: string;
  /** The image in the request, if this policy changed it. */
  imageBefore: string | undefined;
  before: string | undefined;
  after: string | undefined;
  /** Whether the page filled in the pull policy, as the API server fills in the server default. */
  defaulted: boolean;
  state: "same" | "changed" | "new";
  why: string;
};

const PREFIX = {
  volumes: "volume ",
  initContainers: "init ",
  containers: "",
  ephemeralContainers: "ephemeral ",
};

/** The list in a path such as `spec.initContainers[2].image`. */
const listOf = (path: string) => LISTS.find((list) => path.includes(`.${list}[`));

/** The rows, in the order of `LISTS`. */
export function rows({ item, answer }: Evaluation): Row[] {
  const object = item.request["object"];
  const before = places(object);
  const after = answer.mutated_object === undefined ? before : places(answer.mutated_object);
  const same = (one: Place, other: Place) => one.list === other.list && one.name === other.name;
  const changes = changesOf(answer);
  const findings = findingsOf(answer);

  const concerns = (entry: Change | Finding, place: Place) => {
    const list = listOf(entry.path);
    if (list !== undefined && list !== place.list) return false;
    const added = "to" in entry ? textAt(entry.to, "name") : undefined;
    const name = entry.container ?? added;
    if (name !== undefined) return name === place.name;
    // If the entry has no name, the index in its path names the place in the changed list.
    const index = Number(/\[(\d+)\]/.exec(entry.path)?.[1] ?? Number.NaN);
    return (
      listAt(podSpec(answer.mutated_object ?? object), place.list)
        .map((element) => textAt(element, "name"))
        .at(index) === place.name
    );
  };
  const reasons = (place: Place, imageChanged: boolean) => {
    const words = new Set<string>();
    if (imageChanged) words.add("image");
    const changed = changes.filter((change) => concerns(change, place));
    for (const change of changed) words.add(change.rule);
    for (const finding of findings) {
      if (!concerns(finding, place)) continue;
      // A finding is not shown if its rule also changed this place, because the change is shown.
      if (changed.some((change) => change.rule === finding.rule)) continue;
      // The table has room only for an expected pull policy, not for an expected image.
      const expected = String(finding.expected);
      words.add(
        /^(?:Always|IfNotPresent|Never)$/.test(expected)
          ? `${finding.rule}: should be ${expected}`
          : finding.rule,
      );
    }
    return [...words].join(", ");
  };

  return after.map((place) => {
    const old = before.find((other) => same(other, place));
    const imageBefore = old && old.image !== place.image ? old.image : undefined;
    const state = !old
      ? "new"
      : imageBefore !== undefined || old.policy !== place.policy
        ? "changed"
        : "same";
    return {
      label: PREFIX[place.list] + place.name,
      image: place.image,
      imageBefore,
      before: old?.policy,
      after: place.policy,
      defaulted: item.defaults.some(
        (filled) => filled.list === place.list && filled.name === place.name,
      ),
      state,
      why: reasons(place, imageBefore !== undefined),
    };
  });
}

/** The title of a request, such as `Pod web, CREATE`. */
export function title(item: Item): string {
  return `${item.kind} ${item.name}, ${item.operation}`;
}
