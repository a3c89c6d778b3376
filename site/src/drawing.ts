/** Draws how a Pod starts, from the steps that the survey's core returns. */

import { h, svg } from "./dom.ts";
import type { Fate, Start, Step } from "./types.ts";

const WORDS: Record<Step["start"], string> = {
  current: "starts",
  copy: "starts with the node's copy",
  waits: "waits for its image",
  never: "doesn't start",
};

const ENDS: Record<Fate, [style: string, mark: string, sentence: string]> = {
  starts: ["good", "✓", "The Pod starts."],
  waits: ["notice", "!", "No app container starts: the Pod waits as a whole."],
  half: ["bad", "✗", "An app container runs, and another waits: half of the work is done."],
  rejected: ["notice", "!", "It is rejected: there is no Pod."],
};

const LISTS: Record<string, string> = { initContainers: "init ", volumes: "volume " };

/** The name of a step, with its kind. */
export const label = ({ list, name, isSidecar }: Step) =>
  (isSidecar ? "sidecar " : (LISTS[list] ?? "")) + name;

/** The largest number of drawn steps. The sentence below the drawing is about all steps. */
const ROWS = 24;
const [WIDTH, ROW, LEFT] = [420, 34, 150];

/** The drawing, with a sentence below it that says how the start ends. */
export function drawing(heading: string, { steps, end }: Start): HTMLElement {
  const shown = steps.slice(0, ROWS);
  const picture = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${shown.length * ROW + 4}`,
    role: "img",
    "aria-label": `${heading}: ${shown.map((step) => `${label(step)} (${step.pullPolicy}) ${WORDS[step.start]}`).join("; ")}`,
    class: "start",
  });
  for (const [index, step] of shown.entries()) {
    const y = index * ROW;
    const style = { current: "registry", copy: "node", waits: "waits", never: "never" }[step.start];
    picture.append(
      svg("text", { x: 0, y: y + 15, class: "name" }, shorten(label(step), 22)),
      svg(
        "text",
        { x: 0, y: y + 28, class: step.isGone ? "policy missing" : "policy" },
        step.pullPolicy + (step.isGone ? ", missing" : ""),
      ),
      svg("rect", {
        x: LEFT,
        y: y + 5,
        width: WIDTH - LEFT - 2,
        height: 20,
        rx: 4,
        class: `bar ${style}`,
      }),
      svg("text", { x: LEFT + 8, y: y + 19, class: `in ${style}` }, WORDS[step.start]),
    );
  }
  const [style, mark, sentence] = ENDS[end.fate];
  const old = end.isOld ? " A container may run an old image." : "";
  return h(
    "figure",
    { class: "drawing" },
    h("h3", {}, heading),
    picture,
    steps.length > ROWS && h("p", { class: "note" }, `and ${steps.length - ROWS} more`),
    h(
      "figcaption",
      { class: style },
      h("span", { "aria-hidden": "true", class: "mark" }, mark),
      sentence + old,
    ),
  );
}

export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - half)}…${text.slice(-half)}`;
}
