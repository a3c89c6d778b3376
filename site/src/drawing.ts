/** Draws how a Pod starts. */

import { h, svg } from "./dom.ts";
import { type Ending, ending, type Fate, type Scenario, type Step } from "./start.ts";

const WORDS: Record<Fate, string> = {
  registry: "asks the registry",
  node: "node's copy",
  waits: "waits",
  never: "never starts",
};

const KINDS = { init: "init ", sidecar: "sidecar ", app: "", volume: "volume " };

/** The largest number of drawn steps. The sentence below the drawing is about all steps. */
const ROWS = 24;
const [WIDTH, ROW, LEFT, TOP] = [360, 34, 120, 2];
/** The width of the longest of `WORDS`. The text of a wider bar is inside the bar. */
const WORDS_WIDTH = 96;

/** The drawing, with a sentence below it that says how the start ends. */
export function drawing(heading: string, steps: Step[], scenario: Scenario): HTMLElement {
  const end = ending(steps, scenario);
  const shown = steps.slice(0, ROWS);
  const slots = Math.max(...shown.map((step) => step.slot), 0) + 1;
  const height = TOP + shown.length * ROW + 4;
  const wide = Math.min(44, (WIDTH - LEFT - WORDS_WIDTH - 12) / Math.max(slots - 1, 1));
  const x = (slot: number) => LEFT + slot * wide;

  const picture = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${height}`,
    role: "img",
    "aria-label": `${heading}: ${describe(shown)}`,
    class: "start",
  });
  for (const [index, step] of shown.entries()) {
    const y = TOP + index * ROW;
    const last = step.kind === "app" || (step.kind === "volume" && !step.early);
    const from = x(step.slot);
    // App containers, sidecars and steps that wait don't end during the start. Their bars, and the
    // bars of volumes that only app containers mount, reach the right border.
    const to =
      last || step.kind === "sidecar" || step.fate === "waits" ? WIDTH - 2 : from + wide - 4;
    picture.append(
      svg("text", { x: 0, y: y + 13, class: "name" }, shorten(KINDS[step.kind] + step.name, 18)),
      svg(
        "text",
        { x: 0, y: y + 26, class: step.missing ? "policy missing" : "policy" },
        (step.policy || "(not set)") + (step.missing ? ", missing" : ""),
      ),
      svg("rect", {
        x: from,
        y: y + 5,
        width: Math.max(to - from, 8),
        height: 20,
        rx: 4,
        class: `bar ${step.fate}`,
      }),
    );
    const inside = to - from > WORDS_WIDTH;
    const words = inside || to + WORDS_WIDTH <= WIDTH ? WORDS[step.fate] : "";
    picture.append(
      svg(
        "text",
        { x: inside ? from + 8 : to + 6, y: y + 19, class: inside ? `in ${step.fate}` : "out" },
        words,
      ),
    );
  }
  const hidden = steps.length - shown.length;
  return h(
    "figure",
    { class: "drawing" },
    h("h3", {}, heading),
    picture,
    hidden > 0 && h("p", { class: "note" }, `and ${hidden} more`),
    h("figcaption", { class: end.style }, mark(end), end.sentence),
  );
}

/** The sign of an ending, so that endings differ not only in their colours. */
function mark(end: Ending): HTMLElement {
  const marks = { good: "✓", notice: "!", bad: "✗" };
  return h("span", { "aria-hidden": "true", class: "mark" }, marks[end.style]);
}

/** The drawing in words, for screen readers. */
function describe(steps: Step[]): string {
  return steps
    .map(
      (step) =>
        `${KINDS[step.kind]}${step.name} (${step.policy || "no policy"}${step.missing ? ", image missing" : ""}) ${WORDS[step.fate]}`,
    )
    .join("; ");
}

function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - half)}…${text.slice(-half)}`;
}
