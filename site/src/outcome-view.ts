/** Shows an answer: verdict, message, warnings, the table of places, and the annotations. */

import { h } from "./dom.ts";
import type { Evaluation } from "./evaluate.ts";
import { shortDigest } from "./image.ts";
import { ownAnnotations, RULES, type Row, rows, rulesOf, title, type Verdict } from "./report.ts";

const DOCS = "https://github.com/consistent-pull-policy/consistent-pull-policy/blob/main/docs";

/**
 * Shows the verdict, and the text `about` after the verdict. An unchanged verdict is not written
 * again, because a screen reader would read it out again.
 */
export function showVerdict(target: HTMLElement, { words, style }: Verdict, about: string) {
  if (target.textContent === `${words} ${about}`) return;
  target.replaceChildren(
    h(
      "p",
      { class: "verdict" },
      h("strong", { class: `badge ${style}` }, words),
      " ",
      h("span", {}, about),
    ),
  );
}

/** Shows the message and the warnings of this policy. */
export function showTold(target: HTMLElement, { answer }: Evaluation) {
  target.replaceChildren();
  if (answer.message) {
    target.append(h("h3", {}, "Message"), h("p", { class: "message" }, answer.message));
  }
  if (answer.warnings?.length) {
    target.append(
      h("h3", {}, "Warnings"),
      h("ul", { class: "told" }, ...answer.warnings.map((line) => h("li", {}, line))),
    );
  }
}

/** Shows a table like that of `make run`, and the rules that the answer names. */
export function showPlaces(target: HTMLElement, evaluation: Evaluation) {
  const { item, answer } = evaluation;
  const found = rows(evaluation);
  if (found.length === 0) {
    target.replaceChildren(h("p", { class: "note" }, "The object has no image."));
    return;
  }
  const heads = ["container", "image", "before", "after", "why"];
  target.replaceChildren(
    h(
      "div",
      {
        class: "scroll",
        tabindex: 0,
        role: "group",
        "aria-label": "Containers and their pull policies",
      },
      h(
        "table",
        { class: "places" },
        h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
        h("tbody", {}, ...found.map(placeRow)),
      ),
    ),
  );
  if (item.defaults.length > 0) {
    target.append(
      h(
        "p",
        { class: "note" },
        "* filled in by the API server, before any webhook sees the object",
      ),
    );
  }
  const rules = rulesOf(answer);
  if (rules.length > 0) {
    target.append(
      h(
        "ul",
        { class: "rules", "aria-label": "The rules" },
        ...rules.map((rule) =>
          h(
            "li",
            {},
            h("a", { href: `${DOCS}/rules.md#${rule}` }, rule),
            `: ${RULES.get(rule) ?? ""}`,
          ),
        ),
      ),
    );
  }
}

function placeRow(row: Row): HTMLElement {
  const changed = row.before !== row.after;
  return h(
    "tr",
    { class: row.state === "same" && row.why ? "found" : row.state },
    h(
      "th",
      { scope: "row" },
      row.label,
      row.state === "new" && h("span", { class: "tag" }, "new"),
      // Shown only on a narrow page, where the column of the image is hidden.
      h("span", { class: "below" }, ...image(row)),
    ),
    h("td", { title: row.image }, ...image(row)),
    h("td", { class: "policy" }, row.before ?? "–", row.defaulted && " *"),
    h(
      "td",
      { class: changed ? "policy" : "policy same" },
      changed ? h("strong", {}, row.after ?? "–") : (row.after ?? "–"),
    ),
    h("td", {}, row.why),
  );
}

function image({ image, imageBefore }: Row): (Node | string)[] {
  const before = imageBefore === undefined ? [] : [h("del", {}, shortDigest(imageBefore))];
  return [...before, shortDigest(image)];
}

/**
 * Shows the annotations that each answer writes, into the audit log and into the Pod, as indented
 * JSON. With two answers, the title of the object is above the annotations of each answer. Returns
 * whether there is any annotation.
 */
export function showAnnotations(
  target: HTMLElement,
  evaluations: (Evaluation | undefined)[],
): boolean {
  const found = evaluations.filter((one) => one !== undefined);
  target.replaceChildren();
  for (const { item, answer } of found) {
    const annotations = [
      ...Object.entries(answer.audit_annotations ?? {}),
      ...ownAnnotations(answer),
    ];
    if (annotations.length === 0) continue;
    if (found.length > 1) target.append(h("h3", {}, title(item)));
    target.append(...annotations.map(([key, json]) => annotation(key, json)));
  }
  return target.childElementCount > 0;
}

function annotation(key: string, json: string): HTMLElement {
  let count = 1;
  let text = json;
  try {
    const value: unknown = JSON.parse(json);
    count = Array.isArray(value) ? value.length : 1;
    text = JSON.stringify(value, null, 2);
  } catch {
    // A text that is no JSON is shown unchanged.
  }
  return h(
    "details",
    {},
    h("summary", {}, h("code", {}, key), ` (${count})`),
    h("pre", { tabindex: 0, role: "group", "aria-label": key }, text),
  );
}
