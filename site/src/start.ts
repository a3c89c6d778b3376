/**
 * How a Pod starts on a node: first init containers one after the other, then app containers
 * together. For each image, the node asks the registry, uses its own copy of the image, or waits.
 *
 * As observed on kubelet 1.36 with containerd, an image volume is pulled before the container that
 * mounts it starts. A node keeps an image under the name that is written in the Pod. It asks the
 * registry again if the image has another spelling.
 */

import { imagesOf } from "./defaults.ts";
import { imageName, nodeName, shortDigest } from "./image.ts";
import { at, isObject, type Json, type JsonObject, listAt, textAt } from "./json.ts";

/** The state of the registry: the field `registry` of `Scenario` explains these words. */
export type Registry = "away" | "lost" | "up";

export type Scenario = {
  /** `up`: reachable. `lost`: unreachable after the init containers. `away`: never reachable. */
  registry: Registry;
  /** Whether the node has a copy of every image from the start. */
  copies: boolean;
  /** The images that are no longer in their registries, by `imageName`. */
  missing: ReadonlySet<string>;
  /** The images that can't be parsed. */
  invalid: ReadonlySet<string>;
};

/** How the start of a container or of an image volume ends. */
export type Fate =
  /** It starts, with an image that the registry has just confirmed. */
  | "registry"
  /** It starts, with the node's copy of the image. */
  | "node"
  /** It waits for its image. */
  | "waits"
  /** It never starts, because an earlier step waits. */
  | "never";

export type Step = {
  name: string;
  kind: "init" | "sidecar" | "app" | "volume";
  /** Whether this is an init container, or a volume that an init container mounts. */
  early: boolean;
  /** The start order. App containers share one number. A volume has its container's number. */
  slot: number;
  image: string;
  policy: string;
  /** Whether the image is missing from its registry. */
  missing: boolean;
  /** Whether the image can't be parsed. */
  invalid: boolean;
  fate: Fate;
};

/** The names of the images of some Pods that can be missing from their registries. */
export function namesOf(specs: (JsonObject | undefined)[], invalid: ReadonlySet<string>): string[] {
  const images = specs.flatMap(imagesOf).filter((image) => !invalid.has(image));
  return [...new Set(images.map(imageName))];
}

/** The steps of the start of a Pod, in their order. */
export function simulate(spec: JsonObject | undefined, scenario: Scenario): Step[] {
  const steps: Step[] = [];
  const volumes = new Map<string, JsonObject>();
  for (const volume of listAt(spec, "volumes")) {
    const name = textAt(volume, "name");
    const image = at(volume, "image");
    if (name && isObject(image)) volumes.set(name, image);
  }
  // The names of the images that the node has pulled: after `nginx`, the node still pulls
  // `docker.io/library/nginx`.
  const onNode = new Set<string>();
  let up = scenario.registry !== "away";
  let stuck = false;

  const states = (image: string) => ({
    missing: scenario.missing.has(imageName(image)),
    invalid: scenario.invalid.has(image),
  });
  const pull = (image: string, policy: string): Fate => {
    const { missing, invalid } = states(image);
    if (invalid) return "waits";
    const key = nodeName(image);
    const there = scenario.copies || onNode.has(key);
    if (policy === "Never") return there ? "node" : "waits";
    if (policy === "IfNotPresent" && there) return "node";
    if (!up || missing) return "waits";
    onNode.add(key);
    return "registry";
  };

  const start = (container: Json, kind: "init" | "sidecar" | "app", slot: number) => {
    const early = kind !== "app";
    let fate: Fate | undefined = stuck ? "never" : undefined;
    for (const mount of listAt(container, "volumeMounts")) {
      const name = textAt(mount, "name") ?? "";
      const volume = volumes.get(name);
      if (!volume) continue;
      // A volume is pulled once, for the first container that mounts it. If this pull waits, no
      // container that mounts the volume starts.
      const pulled = steps.find((step) => step.kind === "volume" && step.name === name);
      if (pulled) {
        if (pulled.fate === "waits") fate = "never";
        continue;
      }
      const image = textAt(volume, "reference") ?? "";
      const policy = textAt(volume, "pullPolicy") ?? "";
      const outcome = fate ?? pull(image, policy);
      const volumeStep = { name, kind: "volume", early, slot, image, policy } as const;
      steps.push({ ...volumeStep, ...states(image), fate: outcome });
      if (outcome === "waits") fate = "never";
    }
    const image = textAt(container, "image") ?? "";
    const policy = textAt(container, "imagePullPolicy") ?? "";
    const name = textAt(container, "name") ?? "";
    const outcome = fate ?? pull(image, policy);
    steps.push({ name, kind, early, slot, image, policy, ...states(image), fate: outcome });
  };

  const init = listAt(spec, "initContainers");
  init.forEach((container, slot) => {
    const kind = textAt(container, "restartPolicy") === "Always" ? "sidecar" : "init";
    start(container, kind, slot);
    stuck ||= steps.some((step) => step.fate === "waits");
  });
  if (scenario.registry === "lost") up = false;
  // The app containers start side by side, so no app container waits for another.
  for (const container of listAt(spec, "containers")) start(container, "app", init.length);
  return steps;
}

export type Ending = { style: "good" | "notice" | "bad"; sentence: string };

/** Says in a sentence how the start of a Pod ends. */
export function ending(steps: Step[], scenario: Scenario): Ending {
  if (steps.length === 0) return { style: "good", sentence: "There is nothing to start." };
  const waiting = steps.filter((step) => step.fate === "waits");
  const early = waiting.filter((step) => step.early);
  if (early.length > 0) {
    return {
      style: "notice",
      sentence: `${waits(early)}. No app container starts: whoever watches the init containers sees the failure.`,
    };
  }
  if (waiting.length > 0) {
    const runs = steps.filter((step) => step.kind === "app" && hasStarted(step));
    // Only image volumes wait here, and no app container runs: each one mounts such a volume.
    if (runs.length === 0 && waiting.every((step) => step.kind === "volume")) {
      return { style: "notice", sentence: `${waits(waiting)}. No app container starts.` };
    }
    const meanwhile = runs.length > 0 ? ` Meanwhile ${names(runs)} ${verb(runs, "run")}.` : "";
    return {
      style: "bad",
      sentence: `${waits(waiting, " for ever")}.${meanwhile} No init container shows the failure: the Pod hangs.`,
    };
  }
  const asks = steps.some((step) => step.fate === "registry");
  const copies = scenario.registry === "up" || asks ? "" : ", with the node's copies";
  const missing = new Set(
    steps.filter((step) => step.missing).map((step) => shortDigest(step.image)),
  );
  const served =
    missing.size > 0 ? ` Missing, but the node has a copy: ${shortList([...missing])}.` : "";
  return { style: "good", sentence: `Every container starts${copies}.${served}` };
}

const hasStarted = (step: Step) => step.fate === "registry" || step.fate === "node";

/** Says which steps wait, why, and in which state Kubernetes shows them. */
function waits(found: Step[], howLong = ""): string {
  const reason = found.every((step) => step.invalid)
    ? "InvalidImageName"
    : found.every((step) => step.policy === "Never")
      ? "ErrImageNeverPull"
      : "ImagePullBackOff";
  const images = [...new Set(found.map((step) => shortDigest(step.image)))];
  const why = found.every((step) => step.missing && step.policy !== "Never")
    ? `, as ${shortList(images)} ${images.length > 1 ? "are" : "is"} missing`
    : "";
  return `${names(found)} ${verb(found, "wait")}${howLong} (${reason})${why}`;
}

const names = (found: Step[]) =>
  shortList(found.map(({ kind, name }) => (kind === "volume" ? `volume ${name}` : name)));
const verb = (found: Step[], plural: string) => (found.length > 1 ? plural : `${plural}s`);

function shortList(all: string[]): string {
  const shown = all.slice(0, 3);
  if (all.length > 3) return `${shown.join(", ")} and ${all.length - 3} more`;
  const last = shown.pop() ?? "";
  return shown.length > 0 ? `${shown.join(", ")} and ${last}` : last;
}
