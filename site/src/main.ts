/** The page: it hands the typed texts and files to the worker, and shows what comes back. */

import policyModule from "virtual:policy-module";
import surveyModule from "virtual:survey-module";
import { showAnswer, showStart, type Shown } from "./answer-view.ts";
import { Client, NAMES } from "./client.ts";
import { byId, copy, h } from "./dom.ts";
import { editor } from "./editor.ts";
import { fromFragment, toFragment } from "./link.ts";
import { PlanView } from "./plan-view.ts";
import { SurveyView } from "./survey-view.ts";
import type { Answer, Question, Report, Request, Row, Start } from "./types.ts";
import type { Input, Progress } from "./worker.ts";

/** The page reads after a pause of this length in typing, in milliseconds. */
const PAUSE = 200;
/** The longest text for the editor, in bytes. A longer file or pasted text is only surveyed. */
const LONG = 500_000;

const OBJECTS = import.meta.glob<string>("../examples/*.yaml", {
  query: "?raw",
  import: "default",
  eager: true,
});
const nameOf = (path: string) => path.replace(/^.*\/|\.yaml$/g, "");
const FIRST = Object.entries(OBJECTS).find(([path]) => nameOf(path) === "nightly-report")?.[1];

function compile(base64: string) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  // `Uint8Array.from` would take a fifth of a second for the millions of characters.
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
  return WebAssembly.compile(bytes);
}
const policy = compile(policyModule);
const client = new Client(
  Promise.all([compile(surveyModule), policy]).then(([core, policy]) => ({ core, policy })),
);
const metadata = await policy.then((module) => {
  const [section] = WebAssembly.Module.customSections(module, "io.kubewarden.metadata");
  return JSON.parse(section ? new TextDecoder().decode(section) : "{}") as {
    annotations?: Record<string, string>;
  };
});
const version = metadata.annotations?.["io.kubewarden.policy.version"] ?? "";
const chart = `oci://ghcr.io/consistent-pull-policy/charts/consistent-pull-policy --version ${version}`;

/** Files, or a long pasted text, in place of the editor's text. */
let files: { name: string; inputs: Input[] } | undefined;
let rows: Row[] = [];
let report: Report | undefined;
/** The preset whose plan is shown. */
let preset = "";
/** The settings that were typed, or why they are wrong. */
let settings: unknown = {};
/** The one request that was typed. */
let only: Request | undefined;
/** Counts the inputs and the questions, so that late results of earlier ones are ignored. */
let [round, asked] = [0, 0];

const message = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Calls a function after a pause. If it is called again meanwhile, the pause begins anew. */
function paused(work: () => Promise<void>) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(() => void work(), PAUSE);
  };
}
const updateLater = paused(update);
/** What is shown about the objects. */
const SHOWN = ["survey", "plan", "answer", "pod", "start"];

const objectEditor = editor(byId("object"), {
  label: "Your objects, in YAML or JSON",
  text: FIRST ?? "",
  hint: "Paste a Pod here, or choose an example",
  changed: () => {
    files = undefined;
    // It is about the earlier text, so nobody can choose from it.
    for (const id of SHOWN) byId(id).inert = true;
    updateLater();
  },
  takesOver: (text) => {
    if (text.length <= LONG) return false;
    open("what was pasted", [text]);
    return true;
  },
});

const settingsEditor = editor(byId("settings"), {
  label: "Settings, in YAML",
  text: "",
  hint: "Nothing is set: mode is Fix",
  changed: paused(typed),
});

const survey = new SurveyView({
  ask: () => void ask(),
  stop: () => void client.stop(),
  goOn: () => void work(asked),
  choose: (name) => {
    choose(name);
    byId("plan").scrollIntoView({ block: "start" });
    byId("plan-title").focus();
  },
  csv: () => client.call<string>({ call: "csv" }),
});
const plan = new PlanView({ ask: () => void ask(), choose: (row) => void detail(row) });

const question = (): Question => ({ incident: survey.incident, choice: plan.choice });

/** Reads the input anew. */
async function update() {
  const mine = ++round;
  byId("object-problem").textContent = "";
  for (const id of SHOWN) {
    byId(id).inert = false;
    byId(id).hidden = true;
  }
  only = undefined;
  rows = [];
  report = undefined;
  plan.begin();
  const text = objectEditor.text();
  if (!files && text.trim() === "") return;
  survey.begin(files ? `Reading ${files.name}…` : "Reading…");
  const progress = ({ part }: Progress) => survey.progress(part);
  try {
    let inputs = files?.inputs ?? [text];
    if (!files) {
      // The core reads requests too. Of one, the survey gets the object.
      await client.open([], progress).catch(() => undefined);
      const requests = await client.call<Request[]>({ call: "requests", text });
      if (mine !== round) return;
      if (requests.length === 1) {
        only = requests[0];
        inputs = [JSON.stringify(only?.object ?? null)];
      }
    }
    document.body.classList.toggle("one", only !== undefined);
    const found = await client.open(inputs, progress).catch((error: unknown) => {
      // A request about another kind has an answer, and no row.
      if (only) return 0;
      throw error;
    });
    if (mine !== round || found === undefined) return;
    if (found === 0) byId("survey").hidden = true;
    await ask();
  } catch (error) {
    if (mine !== round) return;
    byId("survey").hidden = true;
    byId("object-problem").textContent = message(error);
  }
}

/** Asks for the incident and the choices that are shown. */
async function ask() {
  const mine = ++asked;
  rows = [];
  await client.call({ call: "ask", question: question() });
  if (mine === asked) await work(mine);
}

/** Works out the rows that are left. */
async function work(mine: number) {
  survey.running("Working…");
  if (only) await typed();
  const isDone = await client.run((progress) => {
    if (mine !== asked || !progress.report) return;
    rows.push(...(progress.rows ?? []));
    report = progress.report;
    survey.progress(progress.part);
    show(false);
  });
  if (mine !== asked) return;
  survey.ended(isDone);
  if (isDone) show(true);
}

function show(isDone: boolean) {
  if (!report) return;
  survey.show(report, rows, preset, isDone);
  plan.show(preset, report, rows);
  if (isDone) void command();
}

function choose(name: string) {
  preset = name;
  if (report) show(report.done === report.workloads);
}

async function command() {
  if (!preset) return;
  try {
    plan.command(await client.call<string>({ call: "command", preset, chart }), true);
  } catch (error) {
    plan.command(message(error), false);
  }
}

/** Reads the typed settings, and shows the answer to the typed object with them. */
async function typed() {
  const mine = round;
  byId("settings-problem").textContent = "";
  try {
    settings = await client.call({ call: "settings", text: settingsEditor.text() });
    const { valid, message } = await client.validateSettings(settings);
    if (!valid) throw new Error(message);
  } catch (error) {
    settings = undefined;
    byId("settings-problem").textContent = message(error);
  }
  if (mine !== round) return;
  if (only && settings !== undefined) await answer(only, settings, "with the settings beside it");
  else if (only) byId("answer").hidden = byId("pod").hidden = byId("start").hidden = true;
}

/** Shows the answer to one object of a workload, with the settings of the chosen preset. */
async function detail(row: number) {
  if (!preset) choose(report?.answer.files[0] ?? NAMES[0] ?? "");
  const found = await client.call<{ request: Request; settings: unknown } | null>({
    ...{ call: "detail", row, preset },
  });
  if (!found) return;
  await answer(found.request, found.settings, `with the settings of ${preset}`);
  byId("answer").scrollIntoView({ block: "start" });
  byId("answer-title").focus();
}

/** Shows the answer to a request, and to that of the Pod that its controller makes. */
async function answer(request: Request, settings: unknown, about: string) {
  const mine = round;
  const object = await evaluated(request, settings);
  const isPod = object.before !== undefined;
  const made = isPod
    ? null
    : await client.call<unknown>({ call: "firstPod", workload: request.object });
  let pod: Shown | undefined;
  if (made) {
    const text = JSON.stringify(made);
    const [podRequest] = await client.call<Request[]>({ call: "requests", text });
    if (podRequest) pod = await evaluated(podRequest, settings);
  }
  if (mine !== round) return;
  byId("answer-about").textContent = about;
  byId("answer").hidden = false;
  showAnswer("answer", object);
  byId("pod").hidden = !pod;
  if (pod) showAnswer("pod", pod);
  showStart(pod ?? (isPod ? object : undefined));
}

async function evaluated(request: Request, settings: unknown): Promise<Shown> {
  const answer = await client.call<Answer>({ call: "validate", request, settings });
  const kind = (request["kind"] as { kind?: string } | undefined)?.kind;
  const isPod = kind === "Pod" && request["operation"] === "CREATE";
  const start = (settings: unknown) => client.call<Start>({ call: "start", request, settings });
  const yaml = (value: unknown) => client.call<string>({ call: "yaml", value });
  const before = isPod ? await start(null) : undefined;
  const after = isPod && answer.accepted ? await start(settings) : undefined;
  const text = await yaml(request.object ?? null);
  const changed = answer.mutated_object ? await yaml(answer.mutated_object) : text;
  return { request, answer, before, after, texts: [text, changed] };
}

function open(name: string, inputs: Input[]) {
  if (inputs.length === 0) return;
  const [one] = inputs;
  if (inputs.length === 1 && one instanceof File && one.size <= LONG) {
    void one.text().then((text) => objectEditor.replace(text));
    return;
  }
  files = { name, inputs };
  void update();
}

/** The settings of a preset. */
const settingsOf = (preset: string) => client.call<string>({ call: "settingsOf", preset });

function listen() {
  const fill = (id: string, list: [string, string][], chosen: (text: string) => void) => {
    const select = byId<HTMLSelectElement>(id);
    const options = list.map(([name]) => h("option", { value: name }, name));
    select.append(h("option", { value: "" }, "…"), ...options);
    select.addEventListener("change", () => {
      const found = list.find(([name]) => name === select.value);
      if (found) chosen(found[1]);
      select.value = "";
    });
  };
  const objects = Object.entries(OBJECTS).map(([path, text]): [string, string] => [
    nameOf(path),
    text,
  ]);
  fill("object-example", objects, (text) => objectEditor.replace(text));
  const presets = ["nothing set", ...NAMES].map((name): [string, string] => [name, name]);
  fill("settings-example", presets, async (name) => settingsEditor.replace(await settingsOf(name)));
  const input = byId<HTMLInputElement>("files");
  byId("open-files").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    openFiles(input.files ?? []);
    input.value = "";
  });
  byId("clear").addEventListener("click", () => objectEditor.replace(""));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    openFiles(event.dataTransfer.files);
  });
  byId("copy-link").addEventListener("click", async () => {
    const fragment = await toFragment({
      ...{ object: objectEditor.text(), settings: settingsEditor.text() },
      ...{ question: question(), preset },
    });
    // The link is also written into the address bar, in case it can't be copied.
    history.replaceState(null, "", `#${fragment}`);
    const note = files ? " It has what is in the editor, and no files." : "";
    const done = await copy(location.href);
    byId("link-note").textContent = `${done ? "Copied." : "It is in the address bar."}${note}`;
  });
  window.addEventListener("hashchange", () => void follow());
}

function openFiles(list: Iterable<File>) {
  const all = [...list];
  open(all.length === 1 ? (all[0]?.name ?? "") : `${all.length} files`, all);
}

/** Fills the page from its address, if that is a link. Returns what is wrong with the link. */
async function follow(): Promise<string> {
  try {
    const typed = await fromFragment(location.hash);
    if (!typed) return "";
    survey.incident = typed.question.incident;
    preset = typed.preset;
    settingsEditor.replace(typed.settings);
    objectEditor.replace(typed.object);
    return "";
  } catch (error) {
    return message(error);
  }
}

byId("module").textContent = `annotated-policy.wasm ${version}`;
await client.started;
listen();
await client.open([], () => undefined).catch(() => undefined);
settingsEditor.replace(await settingsOf("jobs"));
const damage = await follow();
await update();
byId("object-problem").textContent ||= damage;
document.documentElement.dataset["ready"] = "true";
