/** The survey: the answer first, then the incident that a person chooses, and a line for each preset. */

import { byId, h, save } from "./dom.ts";
import { type Cell, Table } from "./table.ts";
import type { Ends, Incident, Line, Report, Row } from "./types.ts";

const WHATS: Record<Incident["what"], string> = {
  image: "one image is gone",
  registry: "one registry is down",
  registries: "all registries are down",
};
const MOMENTS: Record<Incident["moment"], string> = {
  empty: "new, on an empty node",
  meanwhile: "new, on a node with older copies",
  reboot: "from before, after a reboot of its node",
};
const HEADS = [
  ...["preset", "selects", "changes", "warns", "rejects"],
  ...["half of the work", "waits", "old image"],
];

const many = (count: number, one: string) =>
  `${count.toLocaleString("en")} ${count === 1 ? one : `${one}s`}`;

export type Actions = {
  ask: () => void;
  stop: () => void;
  goOn: () => void;
  /** A preset was chosen. */
  choose: (preset: string) => void;
  /** The text of the rows as CSV. */
  csv: () => Promise<string>;
};

export class SurveyView {
  readonly #what = byId<HTMLSelectElement>("incident-what");
  readonly #name = byId<HTMLSelectElement>("incident-name");
  readonly #moment = byId<HTMLSelectElement>("incident-moment");
  readonly #bar = byId<HTMLProgressElement>("survey-bar");
  readonly #table = new Table("files", HEADS);
  #report: Report | undefined;
  #rows: Row[] = [];

  constructor(private readonly actions: Actions) {
    const options = (select: HTMLSelectElement, texts: Record<string, string>) =>
      select.append(
        ...Object.entries(texts).map(([value, words]) => h("option", { value }, words)),
      );
    options(this.#what, WHATS);
    options(this.#moment, MOMENTS);
    byId("files-table").append(this.#table.element);
    this.#what.addEventListener("change", () => {
      this.#names();
      actions.ask();
    });
    for (const select of [this.#name, this.#moment]) select.addEventListener("change", actions.ask);
    byId("survey-stop").addEventListener("click", actions.stop);
    byId("survey-go").addEventListener("click", actions.goOn);
    const name = (ending: string) => {
      const incident = this.#report?.incidentWords ?? "survey";
      return `survey, ${incident}.${ending}`.replaceAll(/[/:]/g, "-");
    };
    byId("save-csv").addEventListener("click", async () =>
      save(name("csv"), "text/csv", await actions.csv()),
    );
    byId("save-json").addEventListener("click", () =>
      save(
        name("json"),
        "application/json",
        JSON.stringify({ ...this.#report, rows: this.#rows }, null, 2),
      ),
    );
  }

  get incident(): Incident {
    return {
      what: this.#what.value as Incident["what"],
      name: this.#what.value === "registries" ? "" : this.#name.value,
      moment: this.#moment.value as Incident["moment"],
    };
  }

  set incident({ what, name, moment }: Incident) {
    this.#what.value = what;
    this.#moment.value = moment;
    this.#names();
    if (name) {
      this.#name.append(h("option", { value: name }, name));
      this.#name.value = name;
    }
  }

  /** Begins with another input. */
  begin(words: string) {
    this.#report = undefined;
    this.#rows = [];
    this.#table.clear();
    byId("survey").hidden = false;
    byId("survey-answer").textContent = "";
    byId("survey-unsaved").textContent = "";
    byId("survey-rest").hidden = true;
    this.running(words);
  }

  /** Shows that it works. */
  running(words: string) {
    byId("survey-status").textContent = words;
    this.#bar.hidden = byId("survey-stop").hidden = false;
    byId("survey-go").hidden = true;
  }

  progress(part: number) {
    this.#bar.value = part;
  }

  /** Shows what is known so far. `isDone`: these are all rows. */
  show(report: Report, rows: Row[], chosen: string, isDone: boolean) {
    this.#report = report;
    this.#rows = rows;
    byId("survey-rest").hidden = false;
    const kinds = Object.entries(report.kinds).map(([kind, count]) => many(count, kind));
    const left = isDone ? "" : `; ${report.done} of ${many(report.workloads, "workload")} done`;
    byId("survey-status").textContent = `Read: ${kinds.join(", ")}${left}`;
    byId("survey-assumed").replaceChildren(...report.assumed.map((words) => h("li", {}, words)));
    this.#names();
    if (isDone) this.#answer(report);
    for (const line of report.presets) {
      this.#table.write(line.name, () => this.#head(line), cells(line), line.name === chosen);
    }
    // The order stays while rows come in.
    const { files } = report.answer;
    const rank = (line: Line) => (files.includes(line.name) ? 1e9 : line.selected + line.reported);
    const sorted = isDone
      ? [...report.presets].sort((one, other) => rank(other) - rank(one))
      : report.presets;
    this.#table.order(sorted.map(({ name }) => name));
  }

  /** Shows that it has ended, or was stopped and can go on. */
  ended(isDone: boolean) {
    this.#bar.hidden = byId("survey-stop").hidden = true;
    byId("survey-go").hidden = isDone;
  }

  #answer({ answer }: Report) {
    // A preset's name in the sentence is a button.
    const parts: (string | Node)[] = [];
    let rest = answer.sentence;
    for (const file of answer.files) {
      const at = rest.search(new RegExp(`(?<![\\w-])${file}(?![\\w-])`));
      if (at < 0) continue;
      parts.push(rest.slice(0, at), this.#link(file));
      rest = rest.slice(at + file.length);
    }
    parts.push(rest);
    byId("survey-answer").replaceChildren(...parts);
    byId("survey-unsaved").textContent = answer.unsaved;
  }

  #link(file: string) {
    const link = h("button", { type: "button", class: "link" }, file);
    link.addEventListener("click", () => this.actions.choose(file));
    return link;
  }

  #head({ name, purpose }: Line) {
    return [this.#link(name), h("span", { class: "purpose" }, purpose)];
  }

  /** Shows the registries or images of which one can be in the incident. */
  #names() {
    const { registries = [], images = [] } = this.#report ?? {};
    const what = this.#what.value;
    const names = what === "registry" ? registries.map(({ name }) => name) : images;
    const shown = [...this.#name.options].map(({ value }) => value);
    const wanted = ["", ...(what === "registries" ? [] : names)];
    this.#name.hidden = what === "registries";
    if (shown.join() === wanted.join()) return;
    const before = this.#name.value;
    this.#name.replaceChildren(
      ...wanted.map((value) => h("option", { value }, value || "whichever harms most")),
    );
    this.#name.value = wanted.includes(before) ? before : "";
  }
}

/** The cells of a preset's line. */
function cells(line: Line): Cell[] {
  const number = (label: string, count: number): Cell => ({
    text: count.toLocaleString("en"),
    style: count === 0 ? "number zero" : "number",
    label,
  });
  if (line.problem) return [{ text: line.problem, style: "words", isWide: true }];
  if (line.isAudit) {
    const text = `It selects nothing at admission. It reports ${many(line.reported, "workload")}.`;
    return [{ text, style: "words", isWide: true }];
  }
  const pair = (label: string, key: keyof Ends, isFault: boolean): Cell => {
    const [before, after] = [line.before[key], line.after[key]];
    const style = after < before ? " good" : after > before && isFault ? " bad" : "";
    const text = before === after ? String(after) : `${before} → ${after}`;
    return { text, style: `number${before + after === 0 ? " zero" : style}`, label };
  };
  // A check makes a Pod wait on purpose, where it would have done half of its work.
  const isFault = line.after.waits - line.before.waits > line.before.half - line.after.half;
  return [
    number("selects", line.selected),
    number("changes", line.changed),
    number("warns", line.warned),
    number("rejects", line.rejected),
    pair("half of the work", "half", true),
    pair("waits", "waits", isFault),
    pair("old image", "old", true),
  ];
}
