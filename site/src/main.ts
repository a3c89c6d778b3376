/** The page: it sends the typed texts to this policy, and shows the answer. */

import schema from "virtual:settings-schema";
import { chartAt, conflicts } from "./chart.ts";
import { podRequest, type WorkloadPod } from "./controller.ts";
import { byId, copy, h, save } from "./dom.ts";
import { changedView, editor } from "./editor.ts";
import { answerOf, type Evaluation, evaluate, validateSettings } from "./evaluate.ts";
import { type Example, FILES, FIRST, type Group, OBJECTS, PAIRS, SETTINGS } from "./examples.ts";
import { fileRow } from "./file-table.ts";
import { textOf } from "./files.ts";
import type { HostCall } from "./host.ts";
import { imageName } from "./image.ts";
import { copiesOf, type Incident, registriesDuring } from "./incident.ts";
import { InstallView } from "./install-view.ts";
import { inOrderOf, type JsonObject } from "./json.ts";
import { fromFragment, toFragment } from "./link.ts";
import {
  type AdmissionRequest,
  type Item,
  passedOn,
  podSpec,
  type Read,
  readValue,
} from "./objects.ts";
import { showAnnotations, showPlaces, showTold, showVerdict } from "./outcome-view.ts";
import type { Result } from "./plan.ts";
import { PlanView } from "./plan-view.ts";
import { bytes, compiled, Ended, Runner, TimedOut } from "./policy.ts";
import { DEFAULT_ENTRY, type Table } from "./registry.ts";
import { isRepaired, title, type Verdict, verdict } from "./report.ts";
import { RegistryView } from "./registry-view.ts";
import { locate, readSettings } from "./settings.ts";
import { type Choices, DEFAULT_CHOICES, StartView } from "./start-view.ts";
import { type Candidate, candidateOf, fitted, type Summary, typedCandidate } from "./survey.ts";
import { SurveyView } from "./survey-view.ts";
import { asksRegistries, kwctlLine, metadataOf, policyYaml, requestFile } from "./takeaway.ts";
import type { Input } from "./worker.ts";
import { lineOf, type Problem, parseAny, toYaml } from "./yaml.ts";

/** The page evaluates after a pause of this length in typing, in milliseconds. */
const PAUSE = 150;
/**
 * The longest file (in bytes) or pasted text (in characters) for the editor. A longer one is shown
 * as a survey.
 */
const LONG = 500_000;

const runner = new Runner(() =>
  nothing(
    { words: "interrupted", style: "notice" },
    "the module took longer than 2 seconds in this browser: the page tries once more",
  ),
);
const planner = new Runner();

/** The answer that is shown. */
let shown: Evaluation | undefined;
/** If it is about a workload: the answer for the Pod that the workload's controller makes. */
let shownPod: Evaluation | undefined;
/** The objects of the survey, if they come from files or a long pasted text, not from the editor. */
let list: { name: string; inputs: Input[] } | undefined;
let settings: JsonObject | undefined = {};
/** What the planner's worker has read, and what it has worked out for each candidate. */
let surveyed:
  { source: unknown; summary: Summary; results: Map<string, (Result | undefined)[]> } | undefined;
/** Counts the surveys, so that a late report of an earlier survey is ignored. */
let surveys = 0;
/** The cell of the shown workload whose incident is drawn, if one is. */
let drawnSide: "before" | "after" | undefined;
/** The settings of the chosen file, as the page wrote them into the editor. */
let settingsOfFile: string | undefined;
/** Counts the evaluations, so that a late result of an earlier evaluation is ignored. */
let round = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

const later = () => {
  clearTimeout(timer);
  timer = setTimeout(() => void update(), PAUSE);
};

const registry = new RegistryView(byId("registry-images"), later);

const start = new StartView();

const objectEditor = editor(byId("object"), {
  label: "Your object, in YAML or JSON",
  text: FIRST.text,
  hint: "Paste a Pod here, or choose an example",
  changed: () => {
    list = undefined;
    byId<HTMLSelectElement>("object-example").value = "";
    later();
  },
  takesOver: (text) => {
    if (text.length <= LONG) return false;
    open([{ name: "what was pasted", content: text }]);
    return true;
  },
});

const settingsEditor = editor(byId("settings"), {
  label: "Settings, in YAML",
  text: FIRST.settings,
  hint: "Nothing is set: mode is Fix",
  schema,
  changed: () => {
    byId<HTMLSelectElement>("settings-example").value = "";
    if (settingsEditor.text() !== settingsOfFile) surveyView.chosen = "";
    later();
  },
});

const installView = new InstallView(
  byId("install"),
  chartAt(new URL(location.href), metadataOf(await compiled).version),
  () => showSurvey(),
);

const surveyView: SurveyView = new SurveyView(byId("survey"), {
  stop: () => planner.end(),
  close: () => {
    list = undefined;
    void update();
  },
  incident: () => void survey(round),
  choose: chooseFile,
  tick: showInstall,
  conflict: (file) => {
    const found = conflicts(file, surveyView.ticked, PAIRS);
    return found.length > 0
      ? found.map(({ other, why }) => (why ? `${other}: ${why}` : other)).join("; ")
      : undefined;
  },
});

const planView = new PlanView(byId("plan"), {
  choose: (index) => void choose(index),
  draw: (index, side) =>
    void draw(index, side).then(() => byId("start").scrollIntoView({ block: "start" })),
});

/** The candidates for the files, with the patterns of the files as they are written. */
const WRITTEN = FILES.map((file) => candidateOf(file, FILES));

/** Marks problems in the editor. Lists ten of them below it, for people who can't see the marks. */
function showProblems(id: "object" | "settings", target: typeof objectEditor, problems: Problem[]) {
  target.show(problems);
  const text = target.text();
  byId(`${id}-problems`).replaceChildren(
    ...problems.slice(0, 10).map((problem) => {
      const go = h(
        "button",
        { type: "button", class: "link" },
        `line ${lineOf(text, problem.from)}`,
      );
      go.addEventListener("click", () => target.goTo(problem.from));
      return h("li", {}, go, ` ${problem.message}`);
    }),
  );
}

/** Reads the typed texts and shows the result. */
async function update() {
  const mine = ++round;
  const typed = readSettings(settingsEditor.text());
  let problems = typed.problems;
  settings = typed.value;
  if (settings) {
    try {
      const judged = await runner.settings(settings);
      if (mine !== round) return;
      if (!judged.valid) {
        problems = locate(judged.message ?? "", typed.document);
        settings = undefined;
      }
    } catch (error) {
      if (mine !== round) return;
      if (error instanceof TimedOut) return interrupted();
      problems = [{ message: (error as Error).message, from: 0, to: 1 }];
      settings = undefined;
    }
  }
  showProblems("settings", settingsEditor, problems);

  const text = objectEditor.text();
  // The editor's text is read at each update. But if there is a `list`, it is shown until the user
  // closes the plan or changes the text.
  const { documents, problems: broken } = list ? { documents: [], problems: [] } : parseAny(text);
  const read: Read = { items: [], others: [], problems: [] };
  for (const { value } of documents) readValue(value, read);
  showProblems("object", objectEditor, [
    ...broken,
    ...read.problems.map((message) => ({ message, from: 0, to: Math.max(text.length, 1) })),
  ]);
  byId("object-note").textContent = note(read.others);

  if (!settings) {
    hideSurvey();
    nothing(
      { words: "settings refused", style: "bad" },
      "the problems are listed below the settings",
    );
    return;
  }
  if (list) return plan(mine, list, list.name, list.inputs);
  if (read.items.length > 1) {
    return plan(mine, text, "your objects", [{ name: "your objects", content: text }]);
  }
  planner.end();
  surveyed = undefined;
  hideSurvey();
  const [item] = read.items;
  if (item) return show(mine, item);
  if (broken.length > 0 || read.problems.length > 0) {
    nothing({ words: "not read", style: "bad" }, "the problems are listed below the object");
  } else if (read.others.length > 0) {
    nothing(
      { words: "allowed", style: "good" },
      "no rule of this policy names it, so this policy is not asked",
    );
  } else {
    nothing({ words: "nothing", style: "good" }, "paste an object, or choose an example");
  }
}

/** The note on the typed objects that this policy never gets. */
function note(others: string[]): string {
  if (others.length === 0) return "";
  const more = others.length > 3 ? ` and ${others.length - 3} more` : "";
  return `This policy is not asked about ${others.slice(0, 3).join(", ")}${more}.`;
}

/** Shows these words in place of the answer to a request. */
function nothing(words: Verdict, about: string) {
  shown = undefined;
  shownPod = undefined;
  showVerdict(byId("verdict"), words, about);
  byId("told").replaceChildren();
  byId("places").replaceChildren();
  start.show(undefined);
  for (const id of ["pod", "diff-section", "pod-diff-section", "annotations-section", "away"]) {
    byId(id).hidden = true;
  }
}

/** Says that the module took too long, in both tries. The object and the settings may be right. */
function interrupted() {
  hideSurvey();
  nothing(
    { words: "interrupted", style: "bad" },
    "the module took longer than 2 seconds in this browser, twice. The settings are not the reason. Change the object to try again",
  );
}

/** Evaluates a request. A failure of the module counts as an answer, as in policy-server. */
async function evaluated(
  item: Item,
  settings: JsonObject,
  table = registry.table,
): Promise<Evaluation> {
  try {
    return await runner.evaluate(item, settings, table);
  } catch (error) {
    if (error instanceof Ended || error instanceof TimedOut) throw error;
    const answer = { accepted: false, code: 500, message: (error as Error).message };
    return { item, answer, asked: [], invalid: [], names: {} };
  }
}

/** Evaluates an object, and the Pod of a workload, and shows the answers. */
async function show(mine: number, item: Item) {
  if (!settings) return;
  let object: Evaluation;
  let pod: Evaluation | undefined;
  let made: ReturnType<typeof podRequest>;
  let copies: ReadonlySet<string> | undefined;
  try {
    object = await evaluated(item, settings);
    made = podRequest(object);
    pod = made && (await evaluated(made.item, settings));
    if (asksRegistries(settings) && Object.keys(registry.table).length > 0) {
      // A node has what earlier Pods pulled, and lookups succeeded for these.
      const { item: earlier, answer } = await evaluated(made?.item ?? item, settings, {});
      copies = copiesOf(podSpec(answer.mutated_object ?? earlier.request["object"]));
    }
  } catch (error) {
    if (error instanceof Ended || mine !== round) return;
    if (error instanceof TimedOut) return interrupted();
    throw error;
  }
  if (mine !== round) return;
  shown = object;
  shownPod = pod;
  showVerdict(byId("verdict"), verdict(object.answer), title(item));
  showTold(byId("told"), object);
  showPlaces(byId("places"), object);
  showPod(made?.made);
  const asked = [...object.asked, ...(pod?.asked ?? [])];
  const looked = asked.filter(({ operation }) => operation === "v1/manifest_digest");
  registry.show(looked.map(({ image }) => image));
  byId("registry").hidden = registry.rows === 0 || !asksRegistries(settings);
  showStart(copies);
  showChanged("diff", "The object that comes out, with what changed", shown);
  showChanged("pod-diff", "The Pod that comes out, with what changed", shownPod);
  byId("annotations-section").hidden = !showAnnotations(byId("annotations"), [shown, shownPod]);
  await showAway();
}

/** Shows the answer to the request for a workload's Pod. */
function showPod(made: WorkloadPod | undefined) {
  byId("pod").hidden = !shownPod || !made;
  if (!shownPod || !made) return;
  const { item, answer } = shownPod;
  const between = made.between
    ? ` The Pod belongs to ${made.between}, which this policy accepts untouched because it has a controller.`
    : "";
  byId("pod-note").textContent =
    `The ${made.controller} makes this Pod from the pod template.${between} Uids and random ends of names are made up here.`;
  showVerdict(byId("pod-verdict"), verdict(answer), title(item));
  showTold(byId("pod-told"), shownPod);
  showPlaces(byId("pod-places"), shownPod);
}

function showStart(copies: ReadonlySet<string> | undefined) {
  const drawn = shownPod ?? shown;
  const before = drawn && podSpec(drawn.item.request["object"]);
  // The start of an existing Pod is not drawn, because this Pod has already started.
  const starts = drawn?.item.operation === "CREATE" || !/^Pod(?:\/|$)/.test(drawn?.item.kind ?? "");
  if (!drawn || !before || !starts) return start.show(undefined);
  const { answer, invalid, names } = drawn;
  const isChanged = isRepaired(answer) || copies !== undefined;
  const returned = podSpec(answer.mutated_object) ?? before;
  const after = answer.accepted && isChanged ? returned : undefined;
  start.show({ before, after, rejected: !answer.accepted, invalid, names, copies });
}

/** The changed object as YAML, with its keys in the order of the request's object. */
function changedObject(one: Evaluation | undefined): string | undefined {
  const mutated = one?.answer.mutated_object;
  return mutated === undefined
    ? undefined
    : toYaml(inOrderOf(mutated, one?.item.request["object"]));
}

function showChanged(id: "diff" | "pod-diff", label: string, one: Evaluation | undefined) {
  const after = changedObject(one);
  byId(`${id}-section`).hidden = after === undefined;
  if (!one || after === undefined) return;
  changedView(byId(id), label, toYaml(one.item.request["object"] ?? null), after);
}

async function showAway() {
  const metadata = metadataOf(await compiled);
  byId("away").hidden = !shown;
  if (!shown || !settings) return;
  byId("kwctl").textContent = kwctlLine(metadata, shown.item, settings);
  byId("policy").textContent = policyYaml(metadata, settings);
}

function hideSurvey() {
  for (const id of ["survey", "install", "plan"]) byId(id).hidden = true;
  document.body.classList.remove("many");
}

/** Shows the files and the plan for many objects. `source` tells whether they were read before. */
async function plan(mine: number, source: unknown, name: string, inputs: Input[]) {
  document.body.classList.add("many");
  if (surveyed?.source !== source) {
    planner.end();
    surveyed = undefined;
    surveyView.begin(name, list !== undefined);
    byId("plan").hidden = byId("install").hidden = true;
    nothing({ words: "a list", style: "good" }, "choose a row of the plan to see it here");
    try {
      const summary = await planner.read(inputs, WRITTEN);
      if (mine !== round) return;
      surveyed = { source, summary, results: new Map() };
      surveyView.read(summary);
    } catch (error) {
      if (mine === round) endSurvey(error);
      return;
    }
  }
  byId("survey").hidden = false;
  await survey(mine);
}

/** The candidate for a file, with your registries; the one for the typed settings without a name. */
function candidate(name: string): Candidate {
  const found = WRITTEN.find((written) => written.name === name);
  if (!found || !surveyed) return typedCandidate(settings ?? {});
  const registries = surveyed.summary.registriesOf[name] ?? [];
  const fit = (policy: (typeof found.policies)[number]) => ({
    ...policy,
    settings: fitted(policy.settings, registries),
  });
  return { ...found, policies: found.policies.map(fit) };
}

/** Works out what all candidates do in the chosen incident, and shows it. */
async function survey(mine: number) {
  if (!surveyed || !settings) return;
  const latest = ++surveys;
  const isLatest = () => mine === round && latest === surveys;
  const { results } = surveyed;
  surveyView.run();
  const candidates = [candidate(""), ...FILES.map(({ name }) => candidate(name))];
  try {
    await planner.survey(candidates, surveyView.incident, (progress) => {
      if (!isLatest()) return;
      for (const { index, candidate, result } of progress.results) {
        const known = results.get(candidate) ?? [];
        known[index] = result;
        results.set(candidate, known);
      }
      showSurvey(progress.part);
    });
    if (!isLatest()) return;
    surveyView.end("done");
    showInstall();
    const shownFirst = planView.chosen ?? planView.first;
    if (shownFirst === undefined) return;
    if (drawnSide) await draw(shownFirst, drawnSide);
    else await choose(shownFirst);
  } catch (error) {
    if (isLatest()) endSurvey(error);
  }
}

/** Says why a survey has ended too early. Its worker is gone, so it is read again next time. */
function endSurvey(error: unknown) {
  if (surveyed) surveyed.source = undefined;
  surveyView.end(error instanceof Ended ? "stopped" : (error as Error).message);
}

/** Shows what is known of the survey: the files, and the plan of the chosen one. */
function showSurvey(part = 1) {
  if (!surveyed) return;
  const { summary, results } = surveyed;
  const known = (name: string) =>
    summary.workloads.flatMap((workload, index) => {
      const result = results.get(name)?.[index];
      return result && installView.includes(workload.namespace)
        ? [{ ...workload, ...result, index, nodes: workload.nodesWith.length }]
        : [];
    });
  const rows = [undefined, ...FILES].map((file) => fileRow(file, known(file?.name ?? "")));
  surveyView.progress(rows, part);
  const { chosen } = surveyView;
  planView.show(`The plan: ${chosen || "your settings"}`, known(chosen), summary.nodes);
}

function showInstall() {
  const { summary } = surveyed ?? {};
  const ticked = FILES.filter(({ name }) => surveyView.ticked.has(name));
  const namespaces = summary?.workloads.map(({ namespace }) => namespace) ?? [];
  installView.show(
    ticked.map((file) => ({ file, registries: summary?.registriesOf[file.name] ?? [] })),
    [...new Set(namespaces)].sort(),
  );
}

/** Shows the plan of a file, and writes its settings into the editor. */
function chooseFile(name: string) {
  surveyView.chosen = name;
  const { policies } = candidate(name);
  const policy = name === "" ? undefined : policies.at(-1);
  if (policy) {
    settingsOfFile = toYaml(policy.settings);
    settingsEditor.replace(settingsOfFile);
  }
  showSurvey();
  byId("plan").scrollIntoView({ block: "nearest" });
}

/** Shows a workload of the plan. */
async function choose(index: number) {
  const mine = round;
  const item = await planner.details(index, candidate(surveyView.chosen));
  if (!item || mine !== round) return;
  planView.chosen = index;
  drawnSide = undefined;
  registry.replace({});
  await show(mine, item);
}

/** Draws the incident of a cell of the plan, with the lookups that fail then. */
async function draw(index: number, side: "before" | "after") {
  const mine = round;
  const item = await planner.details(index, candidate(surveyView.chosen));
  if (!item || !settings || mine !== round) return;
  planView.chosen = index;
  drawnSide = side;
  const incident = surveyed?.results.get(surveyView.chosen)?.[index]?.worst[side];
  let healthy = await evaluated(item, settings, {});
  const made = podRequest(healthy);
  if (made) healthy = await evaluated(made.item, settings, {});
  if (mine !== round || !incident) return;
  registry.replace(
    incident.moment === "reboot"
      ? {}
      : failing(
          incident,
          healthy.asked.map(({ image }) => image),
        ),
  );
  start.choices = choicesFor(incident, healthy.names);
  await show(mine, item);
}

/** The answers of registries in an incident, for the images of which it changes the answer. */
function failing(incident: Incident, images: string[]): Table {
  const during = registriesDuring(incident);
  const entries = images.map((image) => [image, during(image)] as const);
  return Object.fromEntries(entries.filter(([, { answer }]) => answer !== DEFAULT_ENTRY.answer));
}

/** The choices with which the drawing shows an incident. */
function choicesFor({ what, name, moment }: Incident, names: Record<string, string>): Choices {
  const gone = Object.entries(names).filter(([, normalised]) => normalised === name);
  return {
    registry: what === "registries" ? "away" : what === "registry" ? name : "up",
    copies: moment !== "empty",
    missing: what === "image" ? gone.map(([image]) => imageName(image)) : [],
  };
}

/** Shows files or a long pasted text as a survey. A single small file goes into the editor. */
function open(inputs: Input[]) {
  if (inputs.length === 0) return;
  const [only] = inputs;
  if (
    inputs.length === 1 &&
    only &&
    typeof only.content !== "string" &&
    only.content.size <= LONG
  ) {
    void textOf(only.content).then((text) => objectEditor.replace(text));
    return;
  }
  const name = inputs.length === 1 && only ? only.name : `${inputs.length} files`;
  list = { name, inputs };
  void update();
}

/** The files that can contain objects. */
function manifests(files: Iterable<File>): Input[] {
  return [...files]
    .filter((file) => /\.(?:ya?ml|json)$/i.test(file.name))
    .map((file) => ({ name: file.webkitRelativePath || file.name, content: file }));
}

/** Fills a list of examples. Returns a function that selects the example with a text. */
function fill(
  select: HTMLSelectElement,
  groups: Group[],
  first: string,
  chosen: (example: Example) => void,
) {
  const examples: Example[] = [];
  select.append(h("option", { value: "" }, "Choose…"));
  for (const { label, examples: members } of groups) {
    const group = h("optgroup", { label });
    for (const example of members) {
      group.append(h("option", { value: String(examples.length) }, example.label));
      examples.push(example);
    }
    select.append(group);
  }
  select.addEventListener("change", () => {
    const { value } = select;
    const example = value === "" ? undefined : examples[Number(value)];
    if (!example) return;
    chosen(example);
    // Changing the editor's text has reset this selection, so the selection is set again.
    select.value = value;
  });
  const choose = (text: string) => {
    const index = examples.findIndex((example) => example.text === text);
    select.value = index < 0 ? "" : String(index);
  };
  choose(first);
  return choose;
}

/** The request of an item as an admission review, for the editor and for links. */
function review({ request }: Item): string {
  return toYaml({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
}

function listen() {
  const chooseSettings = fill(byId("settings-example"), SETTINGS, FIRST.settings, ({ text }) =>
    settingsEditor.replace(text),
  );
  let settingsOfObject = FIRST.settings;
  fill(byId("object-example"), OBJECTS, FIRST.text, (example) => {
    start.choices = { ...DEFAULT_CHOICES, ...example.choices };
    objectEditor.replace(example.text);
    // Other settings were chosen or typed by the person, so they stay.
    if (example.settings !== undefined && settingsEditor.text() === settingsOfObject) {
      settingsOfObject = example.settings;
      settingsEditor.replace(example.settings);
      chooseSettings(example.settings);
    }
  });
  start.choices = { ...DEFAULT_CHOICES, ...FIRST.choices };
  byId("clear").addEventListener("click", () => {
    objectEditor.replace("");
    objectEditor.goTo(0);
  });
  for (const [button, input] of [
    ["open-files", "files"],
    ["open-folder", "folder"],
  ] as const) {
    const files = byId<HTMLInputElement>(input);
    byId(button).addEventListener("click", () => files.click());
    files.addEventListener("change", () => {
      open(manifests(files.files ?? []));
      files.value = "";
    });
  }
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    const files = manifests(event.dataTransfer?.files ?? []);
    if (files.length === 0) return;
    event.preventDefault();
    open(files);
  });

  const tell = (text: string) => {
    byId("away-note").textContent = text;
  };
  const copying = (id: string, text: () => string) => {
    const button = byId(id);
    const label = button.textContent;
    button.addEventListener("click", async () => {
      const done = await copy(text());
      button.textContent = done ? "Copied" : "Copy it by hand";
      setTimeout(() => {
        button.textContent = label;
      }, 2000);
    });
  };
  copying("copy-kwctl", () => byId("kwctl").textContent ?? "");
  copying("copy-policy", () => byId("policy").textContent ?? "");
  copying("copy-object", () => changedObject(shown) ?? "");
  copying("copy-pod", () => changedObject(shownPod) ?? "");
  byId("open-pod").addEventListener("click", () => {
    if (shownPod) objectEditor.replace(review(shownPod.item));
  });
  byId("copy-link").addEventListener("click", async () => {
    const fragment = await toFragment({
      // A link has no room for a list from files, so it gets only the object that is shown.
      object: list && shown ? review(shown.item) : objectEditor.text(),
      settings: settingsEditor.text(),
      registry: registry.table,
      start: start.choices,
    });
    // The link is also written into the address bar, in case the link can't be copied.
    history.replaceState(null, "", `#${fragment}`);
    const size = `${Math.ceil(location.href.length / 1000)} kB`;
    tell((await copy(location.href)) ? `Copied (${size})` : `It is in the address bar (${size})`);
  });
  byId("save-request").addEventListener("click", () => {
    if (!shown) return;
    save(requestFile(shown.item), "application/json", JSON.stringify(shown.item.request, null, 2));
  });
  window.addEventListener("hashchange", () => void follow());
}

/** Fills the editors from the address of the page, if it is a link. */
async function follow(): Promise<void> {
  try {
    const typed = await fromFragment(location.hash);
    if (!typed) return;
    registry.table = typed.registry;
    start.choices = { ...DEFAULT_CHOICES, ...typed.start };
    settingsEditor.replace(typed.settings);
    objectEditor.replace(typed.object);
  } catch (error) {
    byId("module").replaceChildren(h("strong", { class: "badge bad" }, (error as Error).message));
  }
}

async function tellModule() {
  const { version } = metadataOf(await compiled);
  const digest = crypto.subtle && new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = [...(digest ?? [])].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  byId("module").replaceChildren(
    `annotated-policy.wasm ${version}, ${bytes.length.toLocaleString("en")} bytes`,
    h("br"),
    hex && h("code", {}, `sha256:${hex}`),
  );
}

/** With these functions, a script runs this policy in this page, as `cargo xtask run` does. */
const forScripts = {
  /** Reads objects or reviews as the page does. */
  read: (text: string) => parseAny(text).documents.flatMap(({ value }) => readValue(value).items),
  validateSettings: async (settings: JsonObject) => validateSettings(await compiled, settings),
  evaluate: async (item: Item, settings: JsonObject, table: Table = {}) =>
    evaluate(await compiled, item, settings, table),
  /** The answer to a request with the given host. */
  answerOf: async (request: AdmissionRequest, settings: JsonObject, host: HostCall) =>
    answerOf(await compiled, passedOn(request), settings, host),
};
declare global {
  interface Window {
    consistentPullPolicy: typeof forScripts;
  }
}
window.consistentPullPolicy = forScripts;

listen();
await tellModule();
await follow();
await update();
document.documentElement.dataset["ready"] = "true";
