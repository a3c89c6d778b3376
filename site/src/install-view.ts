/** The values of the chart and the commands for the ticked files. */

import { type Choice, helmCommand, valuesOf } from "./chart.ts";
import { copy, h } from "./dom.ts";
import type { ExampleFile } from "./selection.ts";

export class InstallView {
  #files: { file: ExampleFile; registries: string[] }[] = [];
  #namespaces: string[] = [];
  #pressed = new Set<string>();

  readonly #mode = h(
    "select",
    {},
    h("option", { value: "monitor" }, "preview: it changes nothing"),
    h("option", { value: "protect" }, "turn it on"),
  );
  readonly #where = h(
    "select",
    {},
    h("option", { value: "exclude" }, "in all namespaces but"),
    h("option", { value: "only" }, "only in"),
  );
  readonly #chips = h("div", { class: "chips", role: "group", "aria-label": "Namespaces" });
  readonly #command = h("pre", { tabindex: 0, role: "group", "aria-label": "helm commands" });
  readonly #note = h("span", { class: "note", role: "status" });

  constructor(
    readonly section: HTMLElement,
    /** How the commands name the chart. */
    private readonly chart: string,
    /** Other namespaces were chosen. */
    private readonly changed: () => void,
  ) {
    const button = h("button", { type: "button" }, "Copy the commands");
    button.addEventListener("click", async () => {
      const isCopied = await copy(this.#command.textContent ?? "");
      this.#note.textContent = isCopied ? "Copied" : "Select the text to copy it";
    });
    this.#mode.addEventListener("change", () => this.#show());
    this.#where.addEventListener("change", () => {
      this.#show();
      this.changed();
    });
    section.replaceChildren(
      h("h2", { id: "install-title" }, "Install them"),
      h(
        "div",
        { class: "incident" },
        h("label", { class: "pick" }, "mode ", this.#mode),
        h("label", { class: "pick" }, "where ", this.#where),
      ),
      this.#chips,
      this.#command,
      h("div", { class: "buttons" }, button, this.#note),
      h(
        "p",
        { class: "hint" },
        "Each file is a release of its own. Take images that everybody may use out of ",
        h("code", {}, "requireAlways"),
        ", and registries that shall not be asked out of ",
        h("code", {}, "registry.images"),
        ".",
      ),
    );
  }

  /** Whether the files are for this namespace. */
  readonly includes = (namespace: string): boolean => {
    if (this.#pressed.size === 0 || this.#files.length === 0) return true;
    return this.#pressed.has(namespace) === (this.#where.value === "only");
  };

  /** Shows the commands for these files. Without files, hides the section. */
  show(files: { file: ExampleFile; registries: string[] }[], namespaces: string[]) {
    this.#files = files;
    if (namespaces.join("\n") !== this.#namespaces.join("\n")) {
      this.#namespaces = namespaces;
      this.#pressed.clear();
      this.#chips.replaceChildren(...namespaces.map((name) => this.#chip(name)));
    }
    this.section.hidden = files.length === 0;
    this.#show();
  }

  #chip(name: string): HTMLElement {
    const button = h("button", { type: "button", class: "chip", "aria-pressed": "false" }, name);
    button.addEventListener("click", () => {
      if (!this.#pressed.delete(name)) this.#pressed.add(name);
      button.setAttribute("aria-pressed", String(this.#pressed.has(name)));
      this.#show();
      this.changed();
    });
    return button;
  }

  #show() {
    const names = [...this.#pressed].sort();
    const choice: Choice = {
      mode: this.#mode.value as Choice["mode"],
      namespaces: this.#where.value === "only" ? { only: names } : { exclude: names },
    };
    this.#note.textContent = "";
    this.#command.textContent = this.#files
      .map(({ file, registries }) =>
        helmCommand(file, valuesOf(file, registries, choice), this.chart),
      )
      .join("\n");
  }
}
