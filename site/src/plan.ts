/**
 * The plan: the result of this policy for each object of a list.
 *
 * Its columns are kind, namespace, name, outcome, rules, reason.
 */

import type { Evaluation } from "./evaluate.ts";
import { changesOf, isRepaired, rulesOf } from "./report.ts";

export type Outcome = "rejected" | "changed" | "warned" | "allowed";

/** The outcomes, the most severe one first. */
export const OUTCOMES: Outcome[] = ["rejected", "changed", "warned", "allowed"];

export type PlanRow = {
  kind: string;
  namespace: string;
  name: string;
  outcome: Outcome;
  /** The rules with a finding or a change, in alphabetical order. */
  rules: string[];
  /** The message of a rejection, or the warnings, or else the changes. */
  reason: string;
};

export const COLUMNS = ["kind", "namespace", "name", "outcome", "rules", "reason"] as const;
export type Column = (typeof COLUMNS)[number];

/** The row for an object and the answer about it. */
export function planRow({ item, answer }: Pick<Evaluation, "item" | "answer">): PlanRow {
  const changes = changesOf(answer);
  const outcome: Outcome = !answer.accepted
    ? "rejected"
    : isRepaired(answer)
      ? "changed"
      : answer.warnings?.length
        ? "warned"
        : "allowed";
  const value = (json: unknown) => (typeof json === "string" ? json : JSON.stringify(json));
  const told = answer.accepted ? (answer.warnings ?? []) : [answer.message ?? ""];
  const reason =
    told.length > 0
      ? told
      : changes.map((change) => `${change.path}: ${value(change.from)} -> ${value(change.to)}`);
  return {
    kind: item.kind,
    namespace: item.namespace,
    name: item.name,
    outcome,
    rules: rulesOf(answer),
    reason: reason.join("; "),
  };
}

/** The text of the cell in a row and a column. */
export function cell(row: PlanRow, column: Column): string {
  return column === "rules" ? row.rules.join(", ") : row[column];
}

/** The number of rows for each outcome and each rule. The most frequent rule comes first. */
export function counts(rows: PlanRow[]) {
  const outcomes = new Map<Outcome, number>(OUTCOMES.map((outcome) => [outcome, 0]));
  const rules = new Map<string, number>();
  for (const row of rows) {
    outcomes.set(row.outcome, (outcomes.get(row.outcome) ?? 0) + 1);
    for (const rule of row.rules) rules.set(rule, (rules.get(rule) ?? 0) + 1);
  }
  return {
    outcomes,
    rules: [...rules].sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1)),
  };
}

export type View = {
  outcome: Outcome | undefined;
  rule: string | undefined;
  text: string;
  sort: Column;
  descending: boolean;
};

/** The rows that match the filters of `view`, sorted. Rows with equal keys keep their order. */
export function select(rows: PlanRow[], view: View): PlanRow[] {
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = rows.filter(
    (row) =>
      (!view.outcome || row.outcome === view.outcome) &&
      (!view.rule || row.rules.includes(view.rule)) &&
      words.every((word) =>
        COLUMNS.some((column) => cell(row, column).toLowerCase().includes(word)),
      ),
  );
  const key = (row: PlanRow): string | number =>
    view.sort === "outcome" ? OUTCOMES.indexOf(row.outcome) : cell(row, view.sort);
  return shown.sort((one, other) => {
    const [a, b] = [key(one), key(other)];
    const order = a < b ? -1 : a > b ? 1 : 0;
    return view.descending ? -order : order;
  });
}

/** A list of rows as CSV (RFC 4180). */
export function csv(rows: PlanRow[]): string {
  const quote = (text: string) =>
    /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const line = (cells: string[]) => `${cells.map(quote).join(",")}\r\n`;
  return [line([...COLUMNS]), ...rows.map((row) => line(COLUMNS.map((c) => cell(row, c))))].join(
    "",
  );
}

/** A list of rows as JSON. */
export function planJson(rows: PlanRow[]): string {
  return `${JSON.stringify(rows, null, 2)}\n`;
}
