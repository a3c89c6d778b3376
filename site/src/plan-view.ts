/** The table of a plan, with counts, filters, sorting and downloads. */

import { h, save } from "./dom.ts";
import {
  COLUMNS,
  type Column,
  cell,
  counts,
  csv,
  json,
  OUTCOMES,
  type Outcome,
  type PlanRow,
  select,
  tableOf,
  type View,
} from "./plan.ts";
import type { End } from "./start.ts";

/** How many rows to show first, and to add for `Show more`. Thousands would block the browser. */
const PAGE = 100;

const STYLES: Record<Outcome, string> = {
  rejected: "bad",
  reported: "bad",
  changed: "notice",
  warned: "notice",
  allowed: "good",
};

/** The words for how a Pod starts in the incident. */
const ENDS: Record<End, string> = {
  starts: "starts",
  rejected: "rejected",
  waits: "waits",
  half: "half of it runs",
};

const HEADS: Partial<Record<Column, string>> = {
  number: "objects",
  nodes: "nodes with its images",
};

/** A row, with its index among all workloads, and the nodes that have its images. */
export type Planned = PlanRow & { index: number; nodesWith: string[] };

export class PlanView {
  #rows: Planned[] = [];
  /** How many nodes there are. Without nodes, their column is left out. */
  #nodes = 0;
  #view: View = {
    outcome: undefined,
    rule: undefined,
    text: "",
    sort: "outcome",
    descending: false,
  };
  #limit = PAGE;
  #chosen: number | undefined;

  readonly #title = h("h2", { id: "plan-title" });
  readonly #chips = h("div", { class: "chips", role: "group", "aria-label": "Show only" });
  readonly #head = h("tr");
  readonly #body = h("tbody");
  readonly #more = h("button", { type: "button" }, `Show ${PAGE} more`);
  readonly #filter = h("input", {
    type: "search",
    placeholder: "Filter",
    "aria-label": "Filter the rows",
  });
  readonly #saving: HTMLButtonElement[];

  constructor(
    readonly section: HTMLElement,
    private readonly actions: {
      choose: (index: number) => void;
      /** Draws the start of a workload's Pod in the incident. */
      draw: (index: number, side: "before" | "after") => void;
    },
  ) {
    const saving = (label: string, act: () => void) => {
      const button = h("button", { type: "button" }, label);
      button.addEventListener("click", act);
      return button;
    };
    // The saved file has only the rows that pass the filters, in the order of the table.
    this.#saving = [
      saving("Save CSV", () =>
        save("plan.csv", "text/csv", csv(tableOf(select(this.#rows, this.#view), COLUMNS))),
      ),
      saving("Save JSON", () =>
        save(
          "plan.json",
          "application/json",
          json(select(this.#rows, this.#view).map(({ index: _, ...row }) => row)),
        ),
      ),
    ];
    this.#more.addEventListener("click", () => {
      this.#limit += PAGE;
      this.#showRows();
    });
    this.#filter.addEventListener("input", () => {
      this.#view.text = this.#filter.value;
      this.#limit = PAGE;
      this.#showRows();
    });
    section.replaceChildren(
      this.#title,
      this.#chips,
      h("div", { class: "buttons" }, this.#filter, ...this.#saving),
      h(
        "div",
        { class: "scroll tall", tabindex: 0, role: "group", "aria-labelledby": "plan-title" },
        h("table", { class: "plan" }, h("thead", {}, this.#head), this.#body),
      ),
      this.#more,
    );
    for (const column of COLUMNS) {
      const button = h("button", { type: "button" }, HEADS[column] ?? column);
      button.addEventListener("click", () => this.#sortBy(column));
      this.#head.append(h("th", { scope: "col", "data-column": column }, button));
    }
  }

  /** Shows the rows of a file, or of the typed settings. */
  show(title: string, rows: Planned[], nodes: number) {
    if (this.#title.textContent !== title) {
      this.#title.textContent = title;
      this.#view = { ...this.#view, outcome: undefined, rule: undefined };
      this.#chosen = undefined;
      this.#limit = PAGE;
    }
    this.#rows = rows;
    this.#nodes = nodes;
    this.section.hidden = false;
    this.#show();
  }

  /** The index of the workload that is shown below the plan. */
  set chosen(index: number | undefined) {
    this.#chosen = index;
    this.#showRows();
  }

  get chosen(): number | undefined {
    return this.#chosen;
  }

  /** The index of the workload that is shown first. */
  get first(): number | undefined {
    return select(this.#rows, this.#view)[0]?.index;
  }

  #sortBy(column: Column) {
    const { sort, descending } = this.#view;
    this.#view = { ...this.#view, sort: column, descending: sort === column && !descending };
    this.#showRows();
  }

  #show() {
    const { outcomes, rules } = counts(this.#rows);
    const chip = (label: string, count: number, style: string, on: boolean, act: () => void) => {
      const button = h(
        "button",
        { type: "button", class: `chip ${style}`, "aria-pressed": String(on) },
        h("strong", {}, count.toLocaleString("en")),
        ` ${label}`,
      );
      button.addEventListener("click", () => {
        act();
        this.#limit = PAGE;
        this.#show();
        // `#show` replaced the buttons, so the new button with this label gets the focus.
        this.#chips.querySelector<HTMLElement>(`[data-label="${label}"]`)?.focus();
      });
      button.dataset["label"] = label;
      return button;
    };
    this.#chips.replaceChildren(
      ...OUTCOMES.filter((outcome) => outcome !== "reported" || outcomes.get(outcome)).map(
        (outcome) =>
          chip(
            outcome,
            outcomes.get(outcome) ?? 0,
            STYLES[outcome],
            this.#view.outcome === outcome,
            () => {
              this.#view.outcome = this.#view.outcome === outcome ? undefined : outcome;
            },
          ),
      ),
      ...rules.map(([rule, count]) =>
        chip(rule, count, "rule", this.#view.rule === rule, () => {
          this.#view.rule = this.#view.rule === rule ? undefined : rule;
        }),
      ),
    );
    this.#showRows();
  }

  #showRows() {
    for (const th of this.#head.children as Iterable<HTMLElement>) {
      const sorted = th.dataset["column"] === this.#view.sort;
      const order = this.#view.descending ? "descending" : "ascending";
      if (sorted) th.setAttribute("aria-sort", order);
      else th.removeAttribute("aria-sort");
      th.hidden = th.dataset["column"] === "nodes" && this.#nodes === 0;
    }
    const shown = select(this.#rows, this.#view);
    this.#more.hidden = shown.length <= this.#limit;
    this.#body.replaceChildren(...shown.slice(0, this.#limit).map((row) => this.#row(row)));
  }

  #row(row: Planned): HTMLElement {
    const { index } = row;
    const link = (words: string, act: () => void) => {
      const button = h("button", { type: "button", class: "link" }, words);
      button.addEventListener("click", act);
      return button;
    };
    const attributes = ({ nodesWith }: Planned) => ({
      class: "number",
      title: nodesWith.join(", "),
      hidden: this.#nodes === 0,
    });
    const drawn = (side: "before" | "after") =>
      h(
        "td",
        { class: row[side] },
        link(ENDS[row[side]], () => this.actions.draw(index, side)),
      );
    const cells: Partial<Record<Column, () => HTMLElement>> = {
      name: () =>
        h(
          "th",
          { scope: "row" },
          link(row.name, () => this.actions.choose(index)),
        ),
      outcome: () => h("td", {}, h("span", { class: `badge ${STYLES[row.outcome]}` }, row.outcome)),
      number: () => h("td", { class: "number" }, row.number.toLocaleString("en")),
      before: () => drawn("before"),
      after: () => drawn("after"),
      nodes: () => h("td", attributes(row), `${row.nodes} of ${this.#nodes}`),
    };
    return h(
      "tr",
      { "aria-current": index === this.#chosen ? "true" : undefined },
      ...COLUMNS.map((column) => {
        const made = cells[column]?.() ?? h("td", {}, cell(row, column));
        // On a narrow page, the label is in the cell.
        made.dataset["label"] = HEADS[column] ?? column;
        return made;
      }),
    );
  }
}
