/** The section that draws how a Pod starts. A person chooses the state of registry and node. */

import { byId, h } from "./dom.ts";
import { drawing } from "./drawing.ts";
import { shortDigest } from "./image.ts";
import type { JsonObject } from "./json.ts";
import { imageName } from "./image.ts";
import { registryOf } from "./registry.ts";
import { namesOf, type Registry, type Scenario, simulate } from "./start.ts";

/** A person's choices for the registry, the node and the images. A link contains these as JSON. */
export type Choices = {
  /** The state of all registries, or the one registry that is away. */
  registry: Registry | (string & {});
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
  /** The normalised names of the images. */
  names: Record<string, string>;
  /** The images of which a node has copies after the change, if they are not those of `after`. */
  copies: ReadonlySet<string> | undefined;
};

/** The texts for the registries' states. */
const STATES: Record<Registry, string> = {
  up: "answers",
  lost: "goes away after the init containers",
  away: "is away",
};

export class StartView {
  readonly #registry = byId<HTMLSelectElement>("scenario");
  readonly #copies = byId<HTMLInputElement>("copies");
  #choices = DEFAULT_CHOICES;
  #missing = new Set<string>();
  #drawn: Drawn | undefined;
  /** The names of the images that have a button. New buttons are made only if they change. */
  #buttons = "";

  constructor() {
    const choose = () => {
      const [registry, copies] = [this.#registry.value, this.#copies.checked];
      this.choices = { ...this.choices, registry, copies };
    };
    this.#registry.addEventListener("change", choose);
    this.#copies.addEventListener("change", choose);
  }

  get choices(): Choices {
    return { ...this.#choices, missing: [...this.#missing].sort() };
  }

  set choices(choices: Choices) {
    this.#choices = choices;
    this.#missing = new Set(choices.missing);
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
    const { before, after, rejected, names, copies } = this.#drawn;
    const invalid = new Set(this.#drawn.invalid);
    this.#showImages(namesOf([before, after], invalid));
    this.#showRegistries(Object.values(names).map(registryOf));
    const { registry } = this.#choices;
    const isState = Object.hasOwn(STATES, registry);
    const isAway = ([, name]: [string, string]) => registryOf(name) === registry;
    const scenario: Scenario = {
      registry: isState ? (registry as Registry) : "up",
      copies: this.#choices.copies,
      missing: this.#missing,
      away: new Set(
        Object.entries(names)
          .filter(isAway)
          .map(([image]) => imageName(image)),
      ),
      invalid,
    };
    const draw = (heading: string, spec: JsonObject, on = scenario) =>
      drawing(heading, simulate(spec, on), on);
    const drawings = byId("drawings");
    drawings.replaceChildren(draw(after ? "Before" : "As it is", before));
    const has = this.#choices.copies && copies ? { ...scenario, copies } : scenario;
    if (after) drawings.append(draw("After", after, has));
    else if (rejected) {
      drawings.append(h("p", { class: "note" }, "It is rejected: it never gets to a node."));
    }
  }

  /** Shows the states of all registries, and for several registries that one of them is away. */
  #showRegistries(registries: string[]) {
    const several = [...new Set(registries)].sort();
    const options = [
      ...Object.entries(STATES),
      ...(several.length > 1 ? several : []).map((name) => [name, `${name} is away`] as const),
    ];
    this.#registry.replaceChildren(
      ...options.map(([value, words]) => h("option", { value }, words)),
    );
    const { registry, copies } = this.#choices;
    this.#registry.value = options.some(([value]) => value === registry) ? registry : "up";
    this.#copies.checked = copies;
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
