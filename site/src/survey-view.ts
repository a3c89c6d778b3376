/** The table of files, with the incident that a person chooses, and the progress of the survey. */

import { copy, h, save } from "./dom.ts";
import { type FileRow, fileTable, inOrder, isForOthers } from "./file-table.ts";
import { type Chosen, FIRST_INCIDENT, MOMENTS, type Moment } from "./incident.ts";
import { csv, json } from "./plan.ts";
import type { Summary } from "./survey.ts";

/** The objects that a survey can use. */
export const COMMAND =
  "kubectl get pods,jobs,cronjobs,namespaces,nodes --all-namespaces --output json > cluster.json";

const WHATS: Record<Chosen["what"], string> = {
  any: "one of its images is gone",
  registries: "all registries are away",
  registry: "one registry is away:",
  image: "one image is gone:",
};

const COLUMNS = ["selects", "changes", "warns", "rejects"] as const;

const many = (count: number, one: string) =>
  `${count.toLocaleString("en")} ${count === 1 ? one : `${one}s`}`;

export class SurveyView {
  #rows: FileRow[] = [];
  #chosen = "";
  #ticked = new Set<string>();
  #incident = FIRST_INCIDENT;
  #summary: Summary | undefined;
  #isDone = false;

  readonly #status = h("p", { class: "note", role: "status" });
  readonly #bar = h("progress", { max: 1, "aria-label": "Progress" });
  readonly #stop = h("button", { type: "button" }, "Stop");
  readonly #close = h("button", { type: "button", id: "close-plan" }, "Close");
  readonly #problems = h("ul", { class: "problems" });
  readonly #assumed = h("ul", { class: "assumed" });
  readonly #what = h("select", { "aria-label": "Incident" });
  readonly #name = h("select", { "aria-label": "Registry or image" });
  readonly #moment = h("select", { "aria-label": "The Pod was" });
  readonly #without = h("p", { class: "without" });
  readonly #table = h("table", { class: "files" });
  readonly #saving: HTMLButtonElement[];

  constructor(
    readonly section: HTMLElement,
    private readonly actions: {
      stop: () => void;
      close: () => void;
      /** Another incident was chosen. */
      incident: () => void;
      /** A file was chosen; empty for the typed settings. */
      choose: (file: string) => void;
      /** A file was ticked, or no longer. */
      tick: () => void;
      /** The chosen files beside which this one must not stand, in words. */
      conflict: (file: string) => string | undefined;
    },
  ) {
    const button = (label: string, act: () => void) => {
      const made = h("button", { type: "button" }, label);
      made.addEventListener("click", act);
      return made;
    };
    this.#saving = [
      button("Save CSV", () => save("files.csv", "text/csv", csv(fileTable(inOrder(this.#rows))))),
      button("Save JSON", () => save("files.json", "application/json", json(inOrder(this.#rows)))),
    ];
    this.#stop.addEventListener("click", () => this.actions.stop());
    this.#close.addEventListener("click", () => this.actions.close());
    const options = (select: HTMLSelectElement, texts: Record<string, string>) =>
      select.append(
        ...Object.entries(texts).map(([value, words]) => h("option", { value }, words)),
      );
    options(this.#what, WHATS);
    options(this.#moment, MOMENTS);
    this.#what.addEventListener("change", () => {
      this.#showNames();
      this.#choose();
    });
    for (const select of [this.#name, this.#moment]) {
      select.addEventListener("change", () => this.#choose());
    }
    const command = button("Copy", () => void copy(COMMAND));
    section.replaceChildren(
      h(
        "div",
        { class: "title" },
        h("h2", { id: "survey-title" }, "Which file is for this cluster"),
        this.#stop,
        this.#close,
      ),
      this.#status,
      this.#bar,
      this.#problems,
      h(
        "div",
        { class: "incident", role: "group", "aria-label": "What happens" },
        h("span", {}, "While"),
        this.#what,
        this.#name,
        h("span", {}, "a Pod that was"),
        this.#moment,
      ),
      this.#without,
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "group", "aria-labelledby": "survey-title" },
        this.#table,
      ),
      h(
        "p",
        { class: "note" },
        "The numbers are workloads. A Pod ",
        h("b", {}, "waits"),
        " if none of its app containers starts. It does ",
        h("b", {}, "half"),
        " of its work if one has started and another waits for its image. ",
        h("b", {}, "Before → after"),
        ": without the file, and with it.",
      ),
      h("div", { class: "buttons" }, ...this.#saving),
      h(
        "details",
        {},
        h("summary", {}, "What this table assumes"),
        this.#assumed,
        h("div", { class: "code" }, h("pre", { tabindex: 0 }, COMMAND), command),
      ),
    );
  }

  get incident(): Chosen {
    return this.#incident;
  }

  get chosen(): string {
    return this.#chosen;
  }

  set chosen(file: string) {
    this.#chosen = file;
    this.#show();
  }

  get ticked(): ReadonlySet<string> {
    return this.#ticked;
  }

  /** Starts to read objects. The view is `closable` unless the objects are in the editor. */
  begin(name: string, closable: boolean) {
    this.#summary = undefined;
    this.#rows = [];
    this.#ticked.clear();
    this.#problems.replaceChildren();
    this.#without.textContent = "";
    this.#status.textContent = `Reading ${name}…`;
    this.#close.hidden = !closable;
    this.section.hidden = false;
    this.run();
    this.#show();
  }

  /** Shows what was read. */
  read(summary: Summary) {
    this.#summary = summary;
    this.#problems.replaceChildren(...summary.problems.map((problem) => h("li", {}, problem)));
    this.#assumed.replaceChildren(...assumptions(summary).map((words) => h("li", {}, words)));
    this.#showNames();
  }

  /** Shows that a survey runs. */
  run() {
    this.#isDone = false;
    this.#bar.removeAttribute("value");
    this.#bar.hidden = this.#stop.hidden = false;
    for (const button of this.#saving) button.disabled = true;
  }

  /** Shows the rows. `part` of them is done. */
  progress(rows: FileRow[], part: number) {
    this.#rows = rows;
    this.#bar.value = part;
    if (!this.#isDone) this.#status.textContent = this.#words();
    this.#show();
  }

  /** Shows that the survey has ended. `how` can also be the message of an error. */
  end(how: "done" | "stopped" | string) {
    this.#isDone = true;
    this.#bar.hidden = this.#stop.hidden = true;
    for (const button of this.#saving) button.disabled = false;
    const words =
      how === "done" ? "" : how === "stopped" ? ". Stopped: this is not all" : `. ${how}`;
    this.#status.textContent = this.#words() + words;
    for (const select of [this.#what, this.#name, this.#moment]) select.disabled = how !== "done";
    this.#show();
  }

  #words(): string {
    if (!this.#summary) return "";
    const { workloads, others } = this.#summary;
    const number = workloads.reduce((sum, workload) => sum + workload.number, 0);
    const asked =
      others > 0 ? `, and ${many(others, "object")} that the policy is not asked about` : "";
    return `${many(number, "object")} of ${many(workloads.length, "workload")}${asked}`;
  }

  /** Shows the registries or images of which one can be in the incident. */
  #showNames() {
    const what = this.#what.value as Chosen["what"];
    const { registries = [], images = [] } = this.#summary ?? {};
    const names = what === "registry" ? registries : what === "image" ? images : [];
    const before = this.#name.value;
    this.#name.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
    if (names.includes(before)) this.#name.value = before;
    this.#name.hidden = what !== "registry" && what !== "image";
    this.#incident = this.#typed();
  }

  #typed(): Chosen {
    return {
      what: this.#what.value as Chosen["what"],
      name: this.#name.value,
      moment: this.#moment.value as Moment,
    };
  }

  #choose() {
    this.#incident = this.#typed();
    this.actions.incident();
  }

  #show() {
    const rows = this.#isDone ? inOrder(this.#rows) : this.#rows;
    const isOther = (row: FileRow) => this.#isDone && isForOthers(row);
    const others = rows.filter(isOther);
    const head = ["file", ...COLUMNS, "waits", "half"].map((name) =>
      h("th", { scope: "col" }, name),
    );
    this.#table.replaceChildren(
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "install"), ...head)),
      h("tbody", {}, ...rows.filter((row) => !isOther(row)).map((row) => this.#row(row))),
    );
    if (others.length > 0) {
      const words = "For others: they select none of these workloads";
      this.#table.append(
        h(
          "tbody",
          { class: "others" },
          h("tr", {}, h("th", { scope: "rowgroup", colspan: 8 }, words)),
          ...others.map((row) => this.#row(row)),
        ),
      );
    }
    const [typed] = this.#rows;
    this.#without.textContent =
      typed && this.#isDone ? `Without any file, ${this.#sentence(typed)}` : "";
  }

  #sentence({ before, selects }: FileRow): string {
    return `of ${many(selects, "workload")} ${before.half} would do half of the work and ${before.waits} would wait.`;
  }

  #row(row: FileRow): HTMLElement {
    const { name, kind, purpose, before, after } = row;
    const link = h("button", { type: "button", class: "link" }, name || "your settings");
    link.addEventListener("click", () => this.actions.choose(name));
    const tick = h("input", { type: "checkbox", "aria-label": `Install ${name}` });
    tick.checked = this.#ticked.has(name);
    const conflict = tick.checked ? undefined : this.actions.conflict(name);
    tick.disabled = conflict !== undefined;
    tick.addEventListener("change", () => {
      if (!this.#ticked.delete(name)) this.#ticked.add(name);
      this.actions.tick();
      this.#show();
      this.section.querySelector<HTMLElement>(`[aria-label="Install ${name}"]`)?.focus();
    });
    const isOther = this.#isDone && isForOthers(row);
    const cells = (): HTMLElement[] => {
      if (kind === "other") {
        const words = "The API server runs it, without this policy: it can't be evaluated here.";
        return [h("td", { colspan: 6, class: "words" }, words)];
      }
      if (isOther) return [h("td", { colspan: 6 })];
      if (kind === "audit") {
        const words = `It selects nothing at admission. It reports ${many(row.reports, "workload")}.`;
        return [h("td", { colspan: 6, class: "words" }, words)];
      }
      const numbers = COLUMNS.map((column) => number(column, row[column]));
      return [
        ...numbers,
        pair("waits", before.waits, after.waits, after.rejected - before.rejected),
        pair("half", before.half, after.half),
      ];
    };
    return h(
      "tr",
      { "aria-current": name === this.#chosen ? "true" : undefined },
      h("td", { class: "tick" }, name !== "" && kind !== "other" && tick),
      h(
        "th",
        { scope: "row" },
        kind === "other" ? name : link,
        h("span", { class: "purpose" }, conflict ? `Not beside ${conflict}` : purpose),
      ),
      ...cells(),
    );
  }
}

/** The cell of a number. On a narrow page, the label is in the cell. */
const number = (label: string, count: number) =>
  h(
    "td",
    { class: count === 0 ? "number zero" : "number", "data-label": label },
    count.toLocaleString("en"),
  );

/** The cell of a number before and after. */
function pair(label: string, before: number, after: number, rejected = 0): HTMLElement {
  const style = after === before ? "" : after < before ? " good" : " bad";
  const isSame = after === before && rejected === 0;
  return h(
    "td",
    { class: `number${isSame && after === 0 ? " zero" : style}`, "data-label": label },
    after === before ? String(after) : `${before} → ${after}`,
    rejected > 0 && h("span", { class: "rejected" }, ` ${rejected} rejected`),
  );
}

/** What the table assumes, because it isn't in the objects. */
function assumptions({ nodes, hasNamespaces, hasJobs }: Summary): string[] {
  return [
    "A node with copies has the images that earlier Pods pulled. With a file that pins digests, it has them under their digests alone.",
    "A file's registries and private images are only examples. Here it gets the registries of your images in their place.",
    "Repairs that a Pod's record names are undone first. Pods that differ only in what this policy doesn't read count as one.",
    "A Job with a time at the end of its name is a CronJob's, and a ReplicaSet is a Deployment's, unless the objects say something else.",
    hasNamespaces
      ? "The labels of your Namespaces are known."
      : "There are no Namespaces: each namespace has only the label with its name.",
    hasJobs
      ? "Your Jobs and CronJobs are known."
      : "There are no Jobs and CronJobs: a file for Jobs selects nothing, and a CronJob counts only while one of its Pods is there.",
    nodes > 0
      ? `Of your ${many(nodes, "Node")} the images are known that they list (50 at most) and those of Pods that run there. Others may be there all the same.`
      : "There are no Nodes: which node has which image is not known.",
  ];
}
