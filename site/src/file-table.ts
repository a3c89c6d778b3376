/** The table of files: what each file does to the workloads of a cluster, in numbers. */

import type { Result } from "./plan.ts";
import type { ExampleFile } from "./selection.ts";
import type { End } from "./start.ts";

/** Of how many workloads a Pod ends in this way. */
type Ends = Record<End, number>;

export type FileRow = {
  /** Empty for the typed settings. */
  name: string;
  /** `admission`: the API server asks it. `audit`: it only reports. `other`: no policy of Kubewarden. */
  kind: "admission" | "audit" | "other";
  purpose: string;
  /** How many workloads it selects. An audit selects none at admission. */
  selects: number;
  changes: number;
  warns: number;
  rejects: number;
  /** How many an audit reports. */
  reports: number;
  /** How the selected workloads' Pods start in the incident, without the file and with it. */
  before: Ends;
  after: Ends;
};

/** The row of the typed settings, without a file, or of a file. */
export function fileRow(file: ExampleFile | undefined, results: Iterable<Result>): FileRow {
  const policies = file?.policies ?? [];
  const kind = !file
    ? "admission"
    : policies.length === 0
      ? "other"
      : policies.every(({ audits }) => audits)
        ? "audit"
        : "admission";
  const none = (): Ends => ({ starts: 0, rejected: 0, waits: 0, half: 0 });
  const row: FileRow = {
    name: file?.name ?? "",
    kind,
    purpose: file?.purpose ?? "the settings in the editor, for every object",
    ...{ selects: 0, changes: 0, warns: 0, rejects: 0, reports: 0 },
    before: none(),
    after: none(),
  };
  for (const { outcome, before, after } of results) {
    if (outcome === "reported") row.reports++;
    if (kind !== "admission") continue;
    row.selects++;
    if (outcome === "changed") row.changes++;
    if (outcome === "warned") row.warns++;
    if (outcome === "rejected") row.rejects++;
    row.before[before]++;
    row.after[after]++;
  }
  return row;
}

/** Whether a file does nothing here: it is for others. */
export const isForOthers = (row: FileRow) =>
  row.name !== "" && row.selects === 0 && row.kind !== "audit";

/** The typed settings first, then the files that help most, audits, and the files for others. */
export function inOrder(rows: FileRow[]): FileRow[] {
  const saved = ({ before, after }: FileRow) => after.starts - before.starts;
  const whole = ({ before, after }: FileRow) => before.half - after.half;
  const rank = (row: FileRow) =>
    row.name === ""
      ? 0
      : row.kind === "admission" && row.selects > 0
        ? 1
        : isForOthers(row)
          ? 3
          : 2;
  return [...rows].sort(
    (one, other) =>
      rank(one) - rank(other) ||
      saved(other) - saved(one) ||
      whole(other) - whole(one) ||
      other.changes - one.changes,
  );
}

const COLUMNS = ["selects", "changes", "warns", "rejects", "reports"] as const;

/** The table for a CSV file. */
export function fileTable(rows: FileRow[]): (string | number)[][] {
  return [
    [
      "file",
      ...COLUMNS,
      "waits before",
      "waits after",
      "half before",
      "half after",
      "rejected after",
    ],
    ...rows.map((row) => [
      row.name || "typed settings",
      ...COLUMNS.map((column) => row[column]),
      ...[row.before.waits, row.after.waits, row.before.half, row.after.half, row.after.rejected],
    ]),
  ];
}
