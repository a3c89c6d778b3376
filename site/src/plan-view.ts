/** The table of a plan, with counts, filters, sorting and downloads. */

import { h, save } from "./dom.ts";
import {
  COLUMNS,
  type Column,
  cell,
  counts,
  csv,
  OUTCOMES,
  type Outcome,
  type PlanRow,
  planJson,
  select,
  type View,
} from "./plan.ts";
import type { Progress } from "./worker.ts";

/** How many rows to show first, and to add for `Show more`. Thousands would block the browser. */
const PAGE = 100;

const STYLES: Record<Outcome, string> = {
  rejected: "bad",
  changed: "notice",
  warned: "notice",
  allowed: "good",
};

export class PlanView {
  #rows: PlanRow[] = [];
  #numbers = new Map<PlanRow, number>();
  #view: View = {
    outcome: undefined,
    rule: undefined,
    text: "",
    sort: "outcome",
    descending: false,
  };
  #limit = PAGE;
  #others = 0;
  #chosen: number | undefined;

  readonly #status = h("p", { class: "note", role: "status" });
  readonly #bar = h("progress", { max: 1, value: 0, "aria-label": "Progress of the plan" });
  readonly #cancel = h("button", { type: "button" }, "Cancel");
  readonly #chips = h("div", { class: "chips", role: "group", "aria-label": "Show only" });
  readonly #head = h("tr");
  readonly #body = h("tbody");
  readonly #more = h("button", { type: "button" }, `Show ${PAGE} more`);
  readonly #problems = h("ul", { class: "problems" });
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
      cancel: () => void;
      close: () => void;
    },
  ) {
    const saving = (label: string, act: () => void) => {
      const button = h("button", { type: "button" }, label);
      button.addEventListener("click", act);
      return button;
    };
    // The saved file has only the rows that pass the filters, in the order of the table.
    this.#saving = [
      saving("Save CSV", () => save("plan.csv", "text/csv", csv(select(this.#rows, this.#view)))),
      saving("Save JSON", () =>
        save("plan.json", "application/json", planJson(select(this.#rows, this.#view))),
      ),
    ];
    const close = h("button", { type: "button", id: "close-plan" }, "Close");
    close.addEventListener("click", () => this.actions.close());
    this.#cancel.addEventListener("click", () => this.actions.cancel());
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
      h("div", { class: "title" }, h("h2", { id: "plan-title" }, "The plan"), this.#cancel, close),
      this.#status,
      this.#bar,
      this.#problems,
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
      const button = h("button", { type: "button" }, column);
      button.addEventListener("click", () => this.#sortBy(column));
      this.#head.append(h("th", { scope: "col", "data-column": column }, button));
    }
  }

  /** Starts a new plan. A plan is `closable` unless its list of objects is in the editor. */
  begin(name: string, closable: boolean) {
    this.#rows = [];
    this.#numbers.clear();
    this.#others = 0;
    this.#chosen = undefined;
    this.#limit = PAGE;
    this.#view = { ...this.#view, outcome: undefined, rule: undefined };
    this.#problems.replaceChildren();
    this.#status.textContent = `Reading ${name}…`;
    this.#bar.removeAttribute("value");
    this.#bar.hidden = this.#cancel.hidden = false;
    this.section.querySelector<HTMLElement>("#close-plan")?.toggleAttribute("hidden", !closable);
    for (const button of this.#saving) button.disabled = true;
    this.section.hidden = false;
    this.#show();
  }

  /** Adds new results to the plan, and shows the plan. */
  progress({ rows, others, problems, part }: Progress) {
    for (const row of rows) {
      this.#numbers.set(row, this.#rows.length);
      this.#rows.push(row);
    }
    this.#others += others;
    this.#problems.append(...problems.map((problem) => h("li", {}, problem)));
    this.#bar.value = part;
    this.#status.textContent = this.#summary();
    this.#show();
  }

  /** Shows that the plan has ended. `how` can also be the message of an error. */
  end(how: "done" | "cancelled" | string) {
    this.#bar.hidden = this.#cancel.hidden = true;
    for (const button of this.#saving) button.disabled = false;
    const words =
      how === "done" ? "" : how === "cancelled" ? ". Cancelled: this is not all" : `. ${how}`;
    this.#status.textContent = this.#summary() + words;
  }

  /** The index in the whole plan of the row whose object is shown below the plan. */
  set chosen(index: number | undefined) {
    this.#chosen = index;
    this.#showRows();
  }

  /** The index in the whole plan of the row that is shown first. */
  get first(): number | undefined {
    const [row] = select(this.#rows, this.#view);
    return row && this.#numbers.get(row);
  }

  #summary(): string {
    const objects = (count: number) =>
      `${count.toLocaleString("en")} ${count === 1 ? "object" : "objects"}`;
    const others =
      this.#others > 0 ? `, and ${objects(this.#others)} that the policy is not asked about` : "";
    return objects(this.#rows.length) + others;
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
      ...OUTCOMES.map((outcome) =>
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
    for (const th of this.#head.children) {
      const sorted = (th as HTMLElement).dataset["column"] === this.#view.sort;
      const order = this.#view.descending ? "descending" : "ascending";
      if (sorted) th.setAttribute("aria-sort", order);
      else th.removeAttribute("aria-sort");
    }
    const shown = select(this.#rows, this.#view);
    this.#more.hidden = shown.length <= this.#limit;
    this.#body.replaceChildren(...shown.slice(0, this.#limit).map((row) => this.#row(row)));
  }

  #row(row: PlanRow): HTMLElement {
    const index = this.#numbers.get(row) ?? 0;
    const button = h("button", { type: "button", class: "link" }, row.name);
    button.addEventListener("click", () => this.actions.choose(index));
    const element = h(
      "tr",
      { "aria-current": index === this.#chosen ? "true" : undefined },
      ...COLUMNS.map((column) =>
        column === "name"
          ? h("th", { scope: "row" }, button)
          : column === "outcome"
            ? h("td", {}, h("span", { class: `badge ${STYLES[row.outcome]}` }, row.outcome))
            : h("td", {}, cell(row, column)),
      ),
    );
    return element;
  }
}
