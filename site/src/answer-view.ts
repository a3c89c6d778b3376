/** Shows this policy's answer to one request: verdict, sentences, the table of places, the changes. */

import { byId, h } from "./dom.ts";
import { drawing, label, shorten } from "./drawing.ts";
import { changedView } from "./editor.ts";
import type { Answer, Request, Start, Step } from "./types.ts";

const DOCS = "https://github.com/consistent-pull-policy/consistent-pull-policy/blob/main/docs";

/** What is shown of one request. */
export type Shown = {
  request: Request;
  answer: Answer;
  /** How the Pod starts, as it came in and as it is returned. `undefined` for another object. */
  before: Start | undefined;
  after: Start | undefined;
  /** The object before and after, as YAML. Equal if it isn't changed. */
  texts: [string, string];
};

type Entry = { rule: string; container?: string; path: string; to?: unknown };

function entries({ audit_annotations }: Answer, key: string): Entry[] {
  try {
    return JSON.parse(audit_annotations?.[key] ?? "[]") as Entry[];
  } catch {
    return [];
  }
}

/** The verdict in the words of `make run`, and its style. */
export function verdict(answer: Answer): [words: string, style: string] {
  if (!answer.accepted) return [`rejected (${answer.code ?? "no code"})`, "bad"];
  if (entries(answer, "changes").length > 0 && answer.mutated_object) {
    return ["allowed, repaired", "notice"];
  }
  return answer.warnings?.length
    ? ["allowed, with warnings", "notice"]
    : ["allowed, unchanged", "good"];
}

/** The title of a request, such as `Pod web, CREATE`. */
export function title({ object, ...request }: Request): string {
  const kind = (request["kind"] as { kind?: string } | undefined)?.kind ?? "object";
  const { name, generateName } =
    (object as { metadata?: { name?: string; generateName?: string } } | undefined)?.metadata ?? {};
  return `${kind} ${name ?? (generateName ? `${generateName}*` : "")}, ${request["operation"]}`;
}

/** Writes the answer into the section `id`. */
export function showAnswer(id: "answer" | "pod", shown: Shown) {
  const { request, answer, before, after } = shown;
  const [words, style] = verdict(answer);
  byId(`${id}-verdict`).replaceChildren(
    h("strong", { class: `badge ${style}` }, words),
    ` ${title(request)}`,
  );
  const told = byId(`${id}-told`);
  told.replaceChildren();
  if (answer.message) {
    told.append(h("h3", {}, "Message"), h("p", { class: "message" }, answer.message));
  }
  if (answer.warnings?.length) {
    const lines = answer.warnings.map((line) => h("li", {}, line));
    told.append(h("h3", {}, "Warnings"), h("ul", { class: "told" }, ...lines));
  }
  const steps = after && answer.accepted ? after.steps : (before?.steps ?? []);
  byId(`${id}-places`).replaceChildren(
    ...(steps.length > 0 ? [places(answer, before?.steps ?? [], steps)] : []),
  );
  byId(`${id}-rules`).replaceChildren(...rules(answer));
  const [from, to] = shown.texts;
  byId(`${id}-diff`).hidden = from === to;
  if (from !== to) changedView(byId(`${id}-diff`), "The object, with what changed", from, to);
}

function rules(answer: Answer): Node[] {
  const found = ["changes", "findings"].flatMap((key) => entries(answer, key));
  return [...new Set(found.map(({ rule }) => rule))].map((rule) =>
    h("li", {}, h("a", { href: `${DOCS}/rules.md#${rule}` }, rule)),
  );
}

/** The table of containers and image volumes, before and after. */
function places(answer: Answer, before: Step[], after: Step[]): HTMLElement {
  const found = ["changes", "findings"].flatMap((key) => entries(answer, key));
  const heads = ["container", "image", "before", "after", "why"];
  const body = after.map((step) => {
    const old = before.find(({ list, name }) => list === step.list && name === step.name);
    const isChanged = old?.image !== step.image || old.pullPolicy !== step.pullPolicy;
    const isOwn = (entry: Entry) =>
      (entry.container ?? (entry.to as { name?: string } | null | undefined)?.name) === step.name &&
      entry.path.includes(`.${step.list}[`);
    const why = [...new Set(found.filter(isOwn).map(({ rule }) => rule))].join(", ");
    return h(
      "tr",
      { class: !old ? "new" : isChanged ? "changed" : why ? "found" : "same" },
      h("th", { scope: "row" }, label(step), !old && h("span", { class: "tag" }, "new")),
      h(
        "td",
        { title: step.image },
        old && old.image !== step.image && h("del", {}, shorten(old.image, 40)),
        shorten(step.image, 60),
      ),
      h("td", { class: "policy" }, old?.pullPolicy ?? "–"),
      h(
        "td",
        { class: "policy" },
        old?.pullPolicy === step.pullPolicy
          ? step.pullPolicy
          : h("strong", {}, step.pullPolicy || "–"),
      ),
      h("td", {}, why),
    );
  });
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": "Containers and pull policies" },
    h(
      "table",
      { class: "places" },
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, ...body),
    ),
  );
}

/** Draws the start of a Pod in the incident, before and after. */
export function showStart(shown: Shown | undefined) {
  byId("start").hidden = !shown?.before;
  if (!shown?.before) return;
  const { before, after, answer } = shown;
  byId("start-incident").textContent = before.incident;
  const isSame = shown.texts[0] === shown.texts[1] && answer.accepted;
  byId("drawings").replaceChildren(
    drawing(isSame ? "As it is" : "Before", before),
    ...(isSame || !after ? [] : [drawing("After", after)]),
  );
}
