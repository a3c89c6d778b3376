/** The table in which a person sets the answers of registries. The page asks no registry. */

import { h } from "./dom.ts";
import {
  ANSWERS,
  type Answer,
  DEFAULT_ENTRY,
  digestOf,
  digestProblem,
  type Entry,
  madeUpDigest,
  type Table,
} from "./registry.ts";

/** The rows: one for each image that was looked up, or whose row a person has changed. */
export class RegistryView {
  table: Table = {};
  readonly #place: HTMLElement;
  readonly #changed: () => void;
  #shown = "";

  constructor(place: HTMLElement, changed: () => void) {
    this.#place = place;
    this.#changed = changed;
  }

  /** Shows a row for each image that was looked up. Rows that a person has changed stay. */
  show(asked: string[]) {
    const images = [...new Set([...asked, ...Object.keys(this.table)])].sort();
    // A person may be typing in a row, so the rows are replaced only if the images differ.
    if (images.join("\n") === this.#shown) return;
    this.#shown = images.join("\n");
    this.#place.replaceChildren(...images.map((image) => this.#row(image)));
  }

  /** Sets all answers at once. */
  replace(table: Table) {
    this.table = table;
    this.#shown = "";
  }

  get rows(): number {
    return this.#place.childElementCount;
  }

  #row(image: string): HTMLElement {
    const entry = (): Entry => this.table[image] ?? DEFAULT_ENTRY;
    // A registry answers for a digest with the same digest, so no other digest can be entered.
    const ownDigest = digestOf(image);
    const enable = ({ answer }: Entry) => {
      digest.disabled = answer !== "digest" || ownDigest !== undefined;
    };
    const change = (change: Partial<Entry>) => {
      const next = { ...entry(), ...change };
      if (JSON.stringify(next) === JSON.stringify(DEFAULT_ENTRY)) delete this.table[image];
      else this.table[image] = next;
      enable(next);
      this.#changed();
    };
    const answer = h(
      "select",
      {},
      ...Object.entries(ANSWERS).map(([value, words]) =>
        h("option", { value, selected: value === entry().answer }, words),
      ),
    );
    answer.addEventListener("change", () => change({ answer: answer.value as Answer }));
    const digest = h("input", {
      type: "text",
      value: entry().digest,
      placeholder: ownDigest ?? madeUpDigest(image),
      spellcheck: "false",
      autocomplete: "off",
    });
    digest.addEventListener("input", () => {
      const text = digest.value.trim();
      const problem = digestProblem(text);
      digest.setCustomValidity(problem ?? "");
      digest.reportValidity();
      if (!problem) change({ digest: text });
    });
    enable(entry());
    return h(
      "fieldset",
      {},
      h("legend", {}, image),
      h("label", {}, "answer ", answer),
      h("label", {}, "digest ", digest),
    );
  }
}
