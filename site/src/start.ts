/**
 * How a Pod starts on a node: init containers one after the other, then the containers together;
 * who asks the registry, who takes the node's copy, and who waits.
 *
 * As observed on kubelet 1.36 with containerd: an image volume is pulled before the container that
 * mounts it starts; a node's copy counts for the repository as it is written, so that another
 * spelling asks the registry again.
 */

import { parseReference } from "./image.ts";
import { at, isObject, type Json, type JsonObject, listAt, textAt } from "./json.ts";

/** What happens to the registry. */
export type Registry = "away" | "lost" | "up";

export type Scenario = {
  /** Away all the time; lost once the init containers have ended; or there. */
  registry: Registry;
  /** Whether the node has a copy of every image. */
  copies: boolean;
};

/** What becomes of a container or of an image volume. */
export type Fate =
  /** Starts, with an image that the registry just confirmed. */
  | "registry"
  /** Starts, with the node's copy. */
  | "node"
  /** Waits for its image. */
  | "waits"
  /** Is never reached, as something before it waits. */
  | "never";

export type Step = {
  name: string;
  kind: "init" | "sidecar" | "app" | "volume";
  /** An init container, or a volume that is mounted on one: it comes before the containers. */
  early: boolean;
  /** Containers with the same number start together. */
  slot: number;
  image: string;
  policy: string;
  fate: Fate;
};

/** Runs through the start of a Pod. */
export function simulate(spec: JsonObject | undefined, scenario: Scenario): Step[] {
  const steps: Step[] = [];
  const volumes = new Map<string, JsonObject>();
  for (const volume of listAt(spec, "volumes")) {
    const name = textAt(volume, "name");
    const image = at(volume, "image");
    if (name && isObject(image)) volumes.set(name, image);
  }
  // A tag pulled as `nginx` is not there for `docker.io/library/nginx`.
  const onNode = new Set<string>();
  let up = scenario.registry !== "away";
  let stuck = false;

  const pull = (image: string, policy: string): Fate => {
    if (!parseReference(image)) return "waits";
    const key = withTag(image);
    const there = scenario.copies || onNode.has(key);
    if (policy === "Never") return there ? "node" : "waits";
    if (policy === "IfNotPresent" && there) return "node";
    if (!up) return "waits";
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
      // Once for each Pod, with the first container that mounts it; the others wait for it too.
      const pulled = steps.find((step) => step.kind === "volume" && step.name === name);
      if (pulled) {
        if (pulled.fate === "waits") fate = "never";
        continue;
      }
      const image = textAt(volume, "reference") ?? "";
      const policy = textAt(volume, "pullPolicy") ?? "";
      const outcome = fate ?? pull(image, policy);
      steps.push({ name, kind: "volume", early, slot, image, policy, fate: outcome });
      if (outcome === "waits") fate = "never";
    }
    const image = textAt(container, "image") ?? "";
    const policy = textAt(container, "imagePullPolicy") ?? "";
    const name = textAt(container, "name") ?? "";
    steps.push({ name, kind, early, slot, image, policy, fate: fate ?? pull(image, policy) });
    return steps.at(-1)?.fate;
  };

  const init = listAt(spec, "initContainers");
  init.forEach((container, slot) => {
    const kind = textAt(container, "restartPolicy") === "Always" ? "sidecar" : "init";
    start(container, kind, slot);
    stuck ||= steps.some((step) => step.fate === "waits");
  });
  if (scenario.registry === "lost") up = false;
  // The containers start side by side: one that waits keeps none of the others.
  for (const container of listAt(spec, "containers")) start(container, "app", init.length);
  return steps;
}

/** The image with `:latest` where it has neither tag nor digest; the repository as it is written. */
function withTag(image: string): string {
  return /@|:[^/]*$/.test(image) ? image : `${image}:latest`;
}

export type Ending = { style: "good" | "notice" | "bad"; sentence: string };

/** How it ends, in a sentence. */
export function ending(steps: Step[], scenario: Scenario): Ending {
  const names = (found: Step[]) => {
    const all = found.map((step) => step.name);
    const shown = all.slice(0, 3).join(", ");
    return all.length > 3 ? `${shown} and ${all.length - 3} more` : shown;
  };
  const waiting = steps.filter((step) => step.fate === "waits");
  const early = waiting.filter((step) => step.early);
  const late = waiting.filter((step) => !step.early);
  const reason = (found: Step[]) =>
    found.every((step) => !parseReference(step.image))
      ? "InvalidImageName"
      : found.every((step) => step.policy === "Never")
        ? "ErrImageNeverPull"
        : "ImagePullBackOff";
  const wait = (found: Step[]) => (found.length > 1 ? "wait" : "waits");
  if (steps.length === 0) return { style: "good", sentence: "There is nothing to start." };
  if (early.length > 0) {
    return {
      style: "notice",
      sentence: `${names(early)} ${wait(early)} (${reason(early)}) before any container has started: whoever watches the checks sees it.`,
    };
  }
  if (late.length > 0) {
    const others = steps.some(
      (step) => step.kind === "app" && step.fate !== "waits" && step.fate !== "never",
    );
    // Without init containers the checks are volumes of all containers that pull.
    if (!others && late.every((step) => step.kind === "volume")) {
      return {
        style: "notice",
        sentence: `${names(late)} ${wait(late)} (${reason(late)}) before any container has started: nothing runs half.`,
      };
    }
    return {
      style: "bad",
      sentence: `${names(late)} ${wait(late)} for ever (${reason(late)})${others ? ", while the others run" : ""}: the Pod hangs.`,
    };
  }
  const asks = steps.some((step) => step.fate === "registry");
  return {
    style: "good",
    sentence:
      scenario.registry === "up" || asks
        ? "Everything starts."
        : "Everything starts, with the copies on the node.",
  };
}
