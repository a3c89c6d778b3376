/**
 * What each example file does to the workloads of a cluster, and what becomes of their Pods in an
 * incident.
 */

import { answerOf, type Answer, asStored, factsOf } from "./evaluate.ts";
import { Guest } from "./host.ts";
import {
  type Chosen,
  copiesOf,
  endDuring,
  type Incident,
  incidentsOf,
  registriesDuring,
} from "./incident.ts";
import { at, isObject, type Json, type JsonObject, listAt } from "./json.ts";
import { type Item, podSpec, readValue } from "./objects.ts";
import { imagesOf } from "./defaults.ts";
import { judge, type Judged, OUTCOMES, type Result } from "./plan.ts";
import {
  DEFAULT_ENTRY,
  type Exchange,
  type Registries,
  registryHost,
  registryOf,
} from "./registry.ts";
import { type ExampleFile, type Policy, selects } from "./selection.ts";
import { type End, ENDS } from "./start.ts";
import { type Cluster, labelsOf, type Node, type Workload } from "./workloads.ts";

/** Policies whose effect on each workload is worked out: those of a file, or the typed settings. */
export type Candidate = {
  /** The name of the file; empty for the typed settings, which select everything. */
  name: string;
  policies: Policy[];
  /** The number of policies that only come before: those of a second policy's first file. */
  before: number;
};

export const typedCandidate = (settings: JsonObject): Candidate => ({
  name: "",
  policies: [{ spec: {}, settings, conditions: [], audits: false }],
  before: 0,
});

/** The candidate for a file. A second policy comes after its first file. */
export function candidateOf(file: ExampleFile, files: ExampleFile[]): Candidate {
  const first = files.find(({ name }) => name === file.after)?.policies ?? [];
  return {
    name: file.name,
    policies: [...first, ...file.policies],
    before: first.length,
  };
}

/** A pattern of the examples that an operator has to replace. */
const isInvented = (pattern: Json) => /(?:^|[./])example[./]/.test(String(pattern));

/**
 * The settings with these registries in place of each list of invented patterns. Without registries,
 * the settings stay.
 */
export function fitted(settings: JsonObject, registries: string[]): JsonObject {
  if (registries.length === 0) return settings;
  const section = (value: Json | undefined) =>
    Object.fromEntries(
      Object.entries(isObject(value) ? value : {}).map(([key, list]) => [
        key,
        Array.isArray(list) && list.some(isInvented)
          ? registries.map((registry) => `${registry}/*`)
          : list,
      ]),
    );
  const sections = ["images", "registry"].filter((key) => Object.hasOwn(settings, key));
  return {
    ...settings,
    ...Object.fromEntries(sections.map((key) => [key, section(settings[key])])),
  };
}

/** A Pod spec with only what its start depends on. */
function startOf(spec: JsonObject): JsonObject {
  const fields = (value: Json, keys: string[]) =>
    Object.fromEntries(keys.map((key) => [key, at(value, key) ?? null]));
  const containers = (list: string) =>
    listAt(spec, list).map((container) => ({
      ...fields(container, ["name", "image", "imagePullPolicy", "restartPolicy"]),
      volumeMounts: listAt(container, "volumeMounts").map((mount) => fields(mount, ["name"])),
    }));
  return {
    initContainers: containers("initContainers"),
    containers: containers("containers"),
    volumes: listAt(spec, "volumes")
      .filter((volume) => at(volume, "image") !== undefined)
      .map((volume) => fields(volume, ["name", "image"])),
  };
}

/** What the page shows of a cluster before anything is worked out. */
export type Summary = {
  workloads: (Pick<Workload, "kind" | "namespace" | "name" | "number"> & {
    /** The names of the nodes that are known to have all of its images. */
    nodesWith: string[];
  })[];
  others: number;
  problems: string[];
  nodes: number;
  hasNamespaces: boolean;
  /** Whether there are Jobs or CronJobs. Without Jobs, a policy for Jobs selects nothing. */
  hasJobs: boolean;
  /** The registries of all images, and of those of the workloads that each file selects. */
  registries: string[];
  registriesOf: Record<string, string[]>;
  /** The normalised names of all images. Those of the most Pods come first. */
  images: string[];
};

type Admission = {
  /** The answers of the policies that count. */
  answers: Answer[];
  rejected: boolean;
  request: JsonObject;
  asked: string[];
};

/** An object of a workload, and what a candidate does to it in health. */
type Examined = {
  /** The object, as text. */
  text: string;
  selected: Policy[];
  rejected: boolean;
  /** The images that were looked up. */
  asked: string[];
};

/** A Pod of a workload: as it comes in, and as a candidate returns it in health. */
type Start = Examined & { before: JsonObject; after: JsonObject };

type Health = Judged & {
  /** The objects that make the Pods. If one is rejected, there are no Pods. */
  makers: Examined[];
  starts: Start[];
  /** The last incident that was worked out, and its ends. */
  incident?: string;
  ends?: Pick<Result, "before" | "after" | "worst">;
};

export class Survey {
  readonly #labels: (namespace: string) => JsonObject;
  /** What each candidate does in health, with the text of the candidate. */
  #kept = new Map<string, { text: string; healths: (Health | undefined)[] }>();

  readonly #images: string[][] = [];
  readonly #items = new Map<string, Item | undefined>();
  readonly #guest: Guest;

  constructor(
    module: WebAssembly.Module,
    readonly cluster: Cluster,
  ) {
    this.#guest = new Guest(module);
    this.#labels = labelsOf(cluster.namespaces);
  }

  readonly nameOf = (image: string) => factsOf(this.#guest, image)?.name;

  summary(files: Candidate[]): Summary {
    const { workloads, nodes, namespaces, others, problems } = this.cluster;
    const images = workloads.map((_, index) => this.#imagesOf(index));
    const pods = new Map<string, number>();
    for (const [index, names] of images.entries()) {
      const { number } = workloads[index] ?? { number: 0 };
      for (const name of names) pods.set(name, (pods.get(name) ?? 0) + number);
    }
    const registries = (names: Iterable<string>) => [...new Set([...names].map(registryOf))].sort();
    const selected = (candidate: Candidate) =>
      workloads.flatMap((workload, index) => {
        const requests = this.#requests(workload, candidate);
        return requests.some(({ policies }) => policies.length > 0) ? (images[index] ?? []) : [];
      });
    const onNodes = this.#onNodes(nodes, images);
    return {
      workloads: workloads.map(({ kind, namespace, name, number }, index) => ({
        ...{ kind, namespace, name, number },
        nodesWith: onNodes
          .filter(({ there }) => images[index]?.every((image) => there.has(image)))
          .map(({ node }) => node),
      })),
      others,
      problems,
      nodes: nodes.length,
      hasNamespaces: namespaces.size > 0,
      hasJobs: workloads.some(({ kind, objects }) => /Job$/.test(kind) && objects.length > 0),
      registries: registries(pods.keys()),
      registriesOf: Object.fromEntries(
        files.map((candidate) => [candidate.name, registries(selected(candidate))]),
      ),
      images: [...pods].sort(([, many], [, more]) => more - many).map(([name]) => name),
    };
  }

  /** For each node the images that it has: those that it lists, and those of Pods that run there. */
  #onNodes(nodes: Node[], images: string[][]): { node: string; there: Set<string> }[] {
    return nodes.map((node) => {
      const there = new Set(node.images);
      for (const [index, { variants }] of this.cluster.workloads.entries()) {
        if (!variants.some((variant) => variant.nodes.includes(node.name))) continue;
        for (const image of images[index] ?? []) there.add(image);
      }
      return { node: node.name, there };
    });
  }

  /** The normalised names of the images of a workload's Pods. */
  #imagesOf(index: number): string[] {
    let found = this.#images[index];
    if (!found) {
      const { variants = [] } = this.cluster.workloads[index] ?? {};
      const specs = variants.map(({ pod }) => podSpec(this.#item(pod)?.request["object"]));
      const names = specs.flatMap(imagesOf).map(this.nameOf);
      this.#images[index] = found = [...new Set(names.filter((name) => name !== undefined))];
    }
    return found;
  }

  /** Forgets what candidates did that have changed since then. */
  prepare(candidates: Candidate[]) {
    for (const candidate of candidates) {
      const text = JSON.stringify(candidate.policies);
      if (this.#kept.get(candidate.name)?.text === text) continue;
      this.#kept.set(candidate.name, { text, healths: [] });
    }
  }

  /**
   * What a candidate of the last `prepare` does to a workload; `undefined` if it selects nothing of
   * the workload.
   */
  result(index: number, candidate: Candidate, incident: Chosen): Result | undefined {
    const healths = this.#kept.get(candidate.name)?.healths ?? [];
    if (!Object.hasOwn(healths, index)) healths[index] = this.#health(index, candidate);
    const health = healths[index];
    if (!health) return undefined;
    const key = JSON.stringify(incident);
    if (health.incident !== key || !health.ends) {
      health.incident = key;
      health.ends = this.#ends(health, candidate, incidentsOf(incident, this.#imagesOf(index)));
    }
    const { outcome, rules, reason, ends } = health;
    return { outcome, rules, reason, ...ends };
  }

  /** A request about a workload, as the candidate's last policy gets it, for the details. */
  details(index: number, candidate: Candidate): Item | undefined {
    const workload = this.cluster.workloads[index];
    const requests = workload ? this.#requests(workload, candidate) : [];
    const chosen = requests.find(({ policies }) => policies.length > 0) ?? requests[0];
    if (!chosen || candidate.before === 0) return chosen?.item;
    const item = asStored(this.#guest, chosen.item);
    const earlier = candidate.policies.slice(0, candidate.before);
    return { ...item, request: this.#admit(item, earlier, candidate, HEALTHY).request };
  }

  /** The item for an object of the cluster. */
  #item(text: string): Item | undefined {
    if (!this.#items.has(text)) this.#items.set(text, readValue(JSON.parse(text) as Json).items[0]);
    return this.#items.get(text);
  }

  #requests(workload: Workload, candidate: Candidate) {
    const audits = candidate.policies.some((policy) => policy.audits);
    const texts = [
      ...workload.objects.map((text) => ({ text, isPod: false })),
      ...workload.variants.map(({ pod, stored }) => ({ text: audits ? stored : pod, isPod: true })),
    ];
    return texts.flatMap(({ text, isPod }) => {
      const item = this.#item(text);
      if (!item) return [];
      const policies = candidate.policies.filter(
        (policy) => candidate.name === "" || selects(policy, item.request, this.#labels),
      );
      const counts = policies.some((policy) => isCounted(policy, candidate));
      return [{ item, text, isPod, policies: counts ? policies : [] }];
    });
  }

  #health(index: number, candidate: Candidate): Health | undefined {
    const workload = this.cluster.workloads[index];
    if (!workload) return undefined;
    const requests = this.#requests(workload, candidate);
    if (requests.every(({ policies }) => policies.length === 0)) return undefined;
    const rows: Judged[] = [];
    const makers: Examined[] = [];
    const starts: Start[] = [];
    for (const { item: written, text, isPod, policies } of requests) {
      const item = asStored(this.#guest, written);
      const admission = this.#admit(item, policies, candidate, HEALTHY);
      for (const answer of admission.answers) {
        const row = judge(answer);
        const reported = row.outcome === "rejected" && policies.some((policy) => policy.audits);
        rows.push(reported ? { ...row, outcome: "reported" } : row);
      }
      const { rejected, asked } = admission;
      const examined = { text, selected: policies, rejected, asked };
      const spec = podSpec(item.request["object"]);
      if (!isPod) makers.push(examined);
      else if (spec) {
        const before = startOf(spec);
        const returned = podSpec(admission.request["object"]);
        const isChanged = admission.request !== item.request && returned;
        starts.push({ ...examined, before, after: isChanged ? startOf(returned) : before });
      }
    }
    const severity = ({ outcome }: Judged) => OUTCOMES.indexOf(outcome);
    const [worstRow] = rows.sort((one, other) => severity(one) - severity(other));
    return {
      outcome: worstRow?.outcome ?? "allowed",
      rules: [...new Set(rows.flatMap(({ rules }) => rules))].sort(),
      reason: worstRow?.reason ?? "",
      makers,
      starts,
    };
  }

  /** Sends a request to policies, one after the other. Audits change nothing. */
  #admit(item: Item, policies: Policy[], candidate: Candidate, registries: Registries): Admission {
    const admission: Admission = { answers: [], rejected: false, request: item.request, asked: [] };
    const asked: Exchange[] = [];
    for (const policy of policies) {
      const host = registryHost(registries, asked);
      const answer = answerOf(this.#guest, admission.request, policy.settings, host);
      if (!answer.accepted || isCounted(policy, candidate)) admission.answers.push(answer);
      if (policy.audits) continue;
      if (!answer.accepted) {
        admission.rejected = true;
        break;
      }
      if (answer.mutated_object !== undefined) {
        admission.request = { ...admission.request, object: answer.mutated_object };
      }
    }
    admission.asked = asked.map(({ image }) => image);
    return admission;
  }

  /** How the Pods of a workload end in the incidents that harm them most. */
  #ends({ makers, starts }: Health, candidate: Candidate, incidents: Incident[]) {
    const ends: Required<Health>["ends"] = { before: "starts", after: "starts", worst: {} };
    const audits = candidate.policies.some((policy) => policy.audits);
    for (const incident of incidents) {
      const isMade =
        audits || makers.every((maker) => !this.#admitted(maker, candidate, incident).rejected);
      for (const start of starts) {
        const before = this.#before(start, incident);
        const after = audits
          ? before
          : isMade
            ? this.#after(start, candidate, incident)
            : "rejected";
        const found = { before, after } as const;
        for (const side of ["before", "after"] as const) {
          const isWorse = ENDS.indexOf(found[side]) > ENDS.indexOf(ends[side]);
          if (!isWorse && ends.worst[side]) continue;
          ends[side] = found[side];
          ends.worst[side] = incident;
        }
      }
    }
    return ends;
  }

  #before({ before }: Start, incident: Incident): End {
    const copies = incident.moment === "empty" ? false : copiesOf(before);
    return endDuring(incident, before, copies, this.nameOf, this.#invalid(before));
  }

  #after(start: Start, candidate: Candidate, incident: Incident): End {
    const { rejected, request } = this.#admitted(start, candidate, incident);
    if (rejected) return "rejected";
    const spec = request && podSpec(request["object"]);
    const stored = spec ? startOf(spec) : start.after;
    // A node has what earlier Pods pulled, and the candidate returned these in health.
    const earlier = start.rejected ? start.before : start.after;
    const copies = incident.moment === "empty" ? false : copiesOf(earlier);
    return endDuring(incident, stored, copies, this.nameOf, this.#invalid(stored));
  }

  /** What becomes of an object in an incident. Without a request, it is what it is in health. */
  #admitted(
    { text, selected, rejected, asked }: Examined,
    candidate: Candidate,
    incident: Incident,
  ): { rejected: boolean; request?: JsonObject } {
    const during = registriesDuring(incident);
    // While a registry is away, its lookups fail too. What was created before has passed them.
    const fails = asked.some((image) => during(image).answer !== DEFAULT_ENTRY.answer);
    const written = incident.moment !== "reboot" && fails && this.#item(text);
    return written
      ? this.#admit(asStored(this.#guest, written), selected, candidate, during)
      : { rejected };
  }

  #invalid(spec: JsonObject): Set<string> {
    return new Set(imagesOf(spec).filter((image) => !factsOf(this.#guest, image)));
  }
}

const HEALTHY: Registries = () => DEFAULT_ENTRY;

const isCounted = (policy: Policy, { policies, before }: Candidate) =>
  policies.indexOf(policy) >= before;
