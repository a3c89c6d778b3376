/** The plan: what a candidate does to each workload of a list. */

import type { Answer } from "./evaluate.ts";
import type { Incident } from "./incident.ts";
import { changesOf, isRepaired, rulesOf } from "./report.ts";
import { type End, ENDS } from "./start.ts";

/** `reported`: an audit rejects the object, and only its report says so. */
export type Outcome = "rejected" | "reported" | "changed" | "warned" | "allowed";

/** The outcomes, the most severe one first. */
export const OUTCOMES: Outcome[] = ["rejected", "reported", "changed", "warned", "allowed"];

/** What an answer says about an object. */
export type Judged = {
  outcome: Outcome;
  /** The rules with a finding or a change, in alphabetical order. */
  rules: string[];
  /** The message of a rejection, or the warnings, or else the changes. */
  reason: string;
};

/** What a candidate does to a workload. */
export type Result = Judged & {
  /** How its Pod starts in the incident without the candidate, and with it. */
  before: End;
  after: End;
  /** The incidents in which it starts so: of several, those that harm most. */
  worst: { before?: Incident; after?: Incident };
};

export type PlanRow = Result & {
  kind: string;
  namespace: string;
  name: string;
  /** How many Pods, or other objects, the row is about. */
  number: number;
  /** On how many nodes its images are known to be. */
  nodes: number;
};

export const COLUMNS = [
  "kind",
  "namespace",
  "name",
  "number",
  "outcome",
  "before",
  "after",
  "nodes",
  "rules",
  "reason",
] as const;
export type Column = (typeof COLUMNS)[number];

export function judge(answer: Answer): Judged {
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
  return { outcome, rules: rulesOf(answer), reason: reason.join("; ") };
}

/** The text of the cell in a row and a column. */
export function cell(row: PlanRow, column: Column): string {
  return column === "rules" ? row.rules.join(", ") : String(row[column]);
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
export function select<Row extends PlanRow>(rows: Row[], view: View): Row[] {
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = rows.filter(
    (row) =>
      (!view.outcome || row.outcome === view.outcome) &&
      (!view.rule || row.rules.includes(view.rule)) &&
      words.every((word) =>
        COLUMNS.some((column) => cell(row, column).toLowerCase().includes(word)),
      ),
  );
  const key = (row: Row): string | number => {
    const { sort } = view;
    if (sort === "outcome") return OUTCOMES.indexOf(row.outcome);
    if (sort === "before" || sort === "after") return ENDS.indexOf(row[sort]);
    return sort === "number" || sort === "nodes" ? row[sort] : cell(row, sort);
  };
  return shown.sort((one, other) => {
    const [a, b] = [key(one), key(other)];
    const order = a < b ? -1 : a > b ? 1 : 0;
    return view.descending ? -order : order;
  });
}

/** A table as CSV (RFC 4180). */
export function csv(table: (string | number)[][]): string {
  const quote = (value: string | number) => {
    const text = String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return table.map((cells) => `${cells.map(quote).join(",")}\r\n`).join("");
}

/** The rows as a table for `csv`, with these columns. */
export const tableOf = (rows: PlanRow[], columns: readonly Column[]) => [
  [...columns],
  ...rows.map((row) => columns.map((column) => cell(row, column))),
];

/** A list of rows as JSON. */
export function json(rows: object[]): string {
  return `${JSON.stringify(rows, null, 2)}\n`;
}
