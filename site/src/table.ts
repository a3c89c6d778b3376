/** A table whose rows stay the same elements while their cells change, so that the focus stays. */

import { type Child, h } from "./dom.ts";

/** A cell. A wide one takes the place of all that follow. */
export type Cell = { text: string; style?: string; label?: string; isWide?: boolean };

export class Table {
  readonly #rows = new Map<string, { row: HTMLTableRowElement; cells: HTMLTableCellElement[] }>();
  readonly #body = h("tbody");
  readonly #columns: number;
  readonly element: HTMLTableElement;

  constructor(style: string, heads: string[]) {
    this.#columns = heads.length - 1;
    const head = h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)));
    this.element = h("table", { class: style }, h("thead", {}, head), this.#body);
  }

  /** Writes a row. Its head is made once, with the row. */
  write(key: string, head: () => Child[], cells: Cell[], isCurrent = false) {
    let known = this.#rows.get(key);
    if (!known) {
      const made = Array.from({ length: this.#columns }, () => h("td"));
      const row = h("tr", {}, h("th", { scope: "row" }, ...head()), ...made);
      known = { row, cells: made };
      this.#rows.set(key, known);
      this.#body.append(row);
    }
    if (isCurrent) known.row.setAttribute("aria-current", "true");
    else known.row.removeAttribute("aria-current");
    const wide = cells.findIndex(({ isWide }) => isWide);
    for (const [index, cell] of known.cells.entries()) {
      const { text = "", style = "", label = "", isWide = false } = cells[index] ?? {};
      cell.hidden = wide >= 0 && index > wide;
      cell.colSpan = isWide ? known.cells.length - index : 1;
      if (cell.textContent !== text) cell.textContent = text;
      if (cell.className !== style) cell.className = style;
      cell.dataset["label"] = label;
    }
  }

  /** Puts the rows in this order. The others are removed. The focused element keeps the focus. */
  order(keys: string[]) {
    const focused = document.activeElement;
    for (const [key, { row }] of this.#rows) {
      if (keys.includes(key)) continue;
      row.remove();
      this.#rows.delete(key);
    }
    for (const [index, key] of keys.entries()) {
      const row = this.#rows.get(key)?.row;
      const there = this.#body.children[index] ?? null;
      if (row && row !== there) this.#body.insertBefore(row, there);
    }
    if (focused instanceof HTMLElement && focused !== document.activeElement) focused.focus();
  }

  clear() {
    this.order([]);
  }
}
