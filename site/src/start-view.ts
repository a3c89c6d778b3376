/** The section that draws how a Pod starts. A person chooses the state of registry and node. */

import { byId, h } from "./dom.ts";
import { drawing } from "./drawing.ts";
import { shortDigest } from "./image.ts";
import type { JsonObject } from "./json.ts";
import { namesOf, type Registry, type Scenario, simulate } from "./start.ts";

/** A person's choices for the registry, the node and the images. A link contains these as JSON. */
export type Choices = {
  registry: Registry;
  copies: boolean;
  /** The names (see `imageName`) of the images that are missing from their registries. */
  missing: string[];
};

export const DEFAULT_CHOICES: Choices = { registry: "up", copies: true, missing: [] };

/** The Pod spec in the request, and in the answer. */
export type Drawn = {
  before: JsonObject;
  /** `undefined` if this policy doesn't change the object. */
  after: JsonObject | undefined;
  rejected: boolean;
  /** The images that can't be parsed. */
  invalid: string[];
};

export class StartView {
  readonly #registry = byId<HTMLSelectElement>("scenario");
  readonly #copies = byId<HTMLInputElement>("copies");
  #missing = new Set<string>();
  #drawn: Drawn | undefined;
  /** The names of the images that have a button. New buttons are made only if they change. */
  #buttons = "";

  constructor() {
    this.#registry.addEventListener("change", () => this.#draw());
    this.#copies.addEventListener("change", () => this.#draw());
    this.choices = DEFAULT_CHOICES;
  }

  get choices(): Choices {
    return {
      registry: this.#registry.value as Registry,
      copies: this.#copies.checked,
      missing: [...this.#missing].sort(),
    };
  }

  set choices({ registry, copies, missing }: Choices) {
    this.#registry.value = registry;
    this.#copies.checked = copies;
    this.#missing = new Set(missing);
    this.#draw();
  }

  /** Draws a Pod. Without a Pod, hides the section. */
  show(drawn: Drawn | undefined) {
    this.#drawn = drawn;
    byId("start").hidden = !drawn;
    this.#draw();
  }

  #draw() {
    if (!this.#drawn) return;
    const { before, after, rejected } = this.#drawn;
    const invalid = new Set(this.#drawn.invalid);
    this.#showImages(namesOf([before, after], invalid));
    const scenario: Scenario = { ...this.choices, missing: this.#missing, invalid };
    const draw = (heading: string, spec: JsonObject) =>
      drawing(heading, simulate(spec, scenario), scenario);
    const drawings = byId("drawings");
    drawings.replaceChildren(draw(after ? "Before" : "As it is", before));
    if (after) drawings.append(draw("After", after));
    else if (rejected) {
      drawings.append(h("p", { class: "note" }, "It is rejected: it never gets to a node."));
    }
  }

  /** Shows a button for each image. A pressed button means that its image is missing. */
  #showImages(names: string[]) {
    const place = byId("missing-images");
    if (names.join("\n") !== this.#buttons) {
      this.#buttons = names.join("\n");
      place.replaceChildren(...names.map((name) => this.#button(name)));
    }
    for (const button of place.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(this.#missing.has(button.dataset["image"] ?? "")));
    }
  }

  #button(name: string): HTMLButtonElement {
    const button = h(
      "button",
      { type: "button", class: "chip", "data-image": name, title: name },
      shortDigest(name),
    );
    button.addEventListener("click", () => {
      if (!this.#missing.delete(name)) this.#missing.add(name);
      this.#draw();
    });
    return button;
  }
}
