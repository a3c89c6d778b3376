/** The plan for one preset: what it needs, what a person chooses, the command, and its workloads. */

import { byId, copy, h } from "./dom.ts";
import { Table } from "./table.ts";
import type { Choice, End, Namespaces, Report, Row } from "./types.ts";

/** How many workloads to show first, and to add for *Show more*. */
const PAGE = 100;

const FATES: Record<End["fate"], string> = {
  starts: "starts",
  rejected: "rejected",
  waits: "waits",
  half: "half of the work",
};
const words = ({ fate, isOld }: End) => FATES[fate] + (isOld ? ", perhaps an old image" : "");

export class PlanView {
  readonly #where = byId<HTMLSelectElement>("plan-where");
  readonly #namespaces = byId<HTMLSelectElement>("plan-namespaces");
  readonly #monitor = byId<HTMLInputElement>("plan-monitor");
  readonly #filter = byId<HTMLInputElement>("plan-filter");
  readonly #table = new Table("plan", ["workload", "objects", "answer", "without", "with", "why"]);
  readonly #registries = new Set<string>();
  #limit = PAGE;
  #rows: Row[] = [];
  #report: Report | undefined;
  #preset = "";

  constructor(private readonly actions: { ask: () => void; choose: (row: number) => void }) {
    byId("plan-table").append(this.#table.element);
    this.#where.addEventListener("change", () => {
      this.#namespaces.hidden = this.#where.value === "all";
      actions.ask();
    });
    for (const input of [this.#namespaces, this.#monitor]) {
      input.addEventListener("change", actions.ask);
    }
    this.#filter.addEventListener("input", () => {
      this.#limit = PAGE;
      this.#list();
    });
    byId("plan-more").addEventListener("click", () => {
      this.#limit += PAGE;
      this.#list();
    });
    byId("copy-command").addEventListener("click", async () => {
      const done = await copy(byId("plan-command").textContent ?? "");
      byId("copy-command").textContent = done ? "Copied" : "Copy it by hand";
    });
  }

  get choice(): Choice {
    const names = [...this.#namespaces.selectedOptions].map(({ value }) => value);
    const where: Record<string, Namespaces> = {
      only: { only: names },
      exclude: { exclude: names },
    };
    return {
      registries: [...this.#registries].sort(),
      namespaces: where[this.#where.value] ?? null,
      isMonitor: this.#monitor.checked,
    };
  }

  /** Begins with another input: nothing is chosen. */
  begin() {
    this.#registries.clear();
    this.#where.value = "all";
    this.#namespaces.replaceChildren();
    this.#namespaces.hidden = true;
    byId("plan-registries").replaceChildren();
    this.#report = undefined;
    this.#limit = PAGE;
    this.#table.clear();
  }

  /** Shows the plan for a preset; for an empty name, the workloads as they are. */
  show(preset: string, report: Report, rows: Row[]) {
    if (preset !== this.#preset) this.#table.clear();
    this.#preset = preset;
    this.#rows = rows;
    this.#report = report;
    byId("plan").hidden = rows.length === 0 || (preset === "" && report.workloads === 1);
    const line = report.presets.find(({ name }) => name === preset);
    byId("plan-title").textContent = line ? `The preset ${preset}` : "Your workloads";
    byId("plan-about").hidden = !line;
    byId("plan-purpose").textContent = line?.purpose ?? "";
    byId("plan-needs").textContent = line?.needs ?? "";
    byId("plan-problem").textContent = line?.problem ?? "";
    this.#options(report);
    this.#list();
  }

  /** Shows the command that installs it, or why there is none. */
  command(text: string, isCommand: boolean) {
    byId("plan-command").textContent = text;
    byId("copy-command").hidden = !isCommand;
    byId("copy-command").textContent = "Copy";
  }

  #options({ namespaces, registries }: Report) {
    const shown = [...this.#namespaces.options].map(({ value }) => value);
    // While an incident is asked again, fewer namespaces are known. The chosen ones stay.
    if (namespaces.some((name) => !shown.includes(name))) {
      const chosen = new Set([...this.#namespaces.selectedOptions].map(({ value }) => value));
      const all = [...new Set([...shown, ...namespaces])].sort();
      this.#namespaces.replaceChildren(
        ...all.map((value) => h("option", { value, selected: chosen.has(value) }, value)),
      );
    }
    // A box stays the same element while its number changes, so that it keeps the focus.
    const place = byId("plan-registries");
    for (const { name, pods, doubt } of registries) {
      let box = place.querySelector<HTMLInputElement>(`[value="${CSS.escape(name)}"]`);
      if (!box) {
        box = h("input", { type: "checkbox", value: name });
        box.addEventListener("change", () => {
          if (!this.#registries.delete(name)) this.#registries.add(name);
          this.actions.ask();
        });
        place.append(h("label", doubt ? { class: "doubt" } : {}, box, h("span")));
      }
      const why = doubt ? `; ${doubt}: whoever creates a Pod names it` : "";
      if (box.nextSibling) box.nextSibling.textContent = ` ${name} (${pods} Pods${why})`;
    }
  }

  #list() {
    const index = this.#report?.presets.findIndex(({ name }) => name === this.#preset) ?? -1;
    const text = this.#filter.value.trim().toLowerCase();
    const isShown = ({ row, effect }: { row: Row; effect: Row["results"][number] | undefined }) =>
      (index < 0 || effect) &&
      `${row.kind} ${row.namespace}/${row.name} ${row.images.join(" ")}`
        .toLowerCase()
        .includes(text);
    const found = this.#rows
      .map((row, number) => ({ row, number, effect: row.results[index] }))
      .filter(isShown);
    const shown = found.slice(0, this.#limit);
    for (const { row, number, effect } of shown) {
      const head = () => {
        const link = h("button", { type: "button", class: "link" }, `${row.namespace}/${row.name}`);
        link.addEventListener("click", () => this.actions.choose(number));
        return [link, h("span", { class: "purpose" }, row.kind)];
      };
      this.#table.write(String(number), head, [
        { text: row.number.toLocaleString("en"), style: "number", label: "objects" },
        { text: effect?.outcome ?? "–", label: "answer" },
        { text: words(row.before), label: "without" },
        { text: effect ? words(effect.after) : "–", label: "with" },
        { text: effect ? effect.reasons.slice(0, 3).join("; ") : "", style: "words" },
      ]);
    }
    this.#table.order(shown.map(({ number }) => String(number)));
    byId("plan-count").textContent = `${shown.length} of ${found.length} shown`;
    byId("plan-more").hidden = shown.length === found.length;
  }
}
