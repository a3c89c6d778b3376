/**
 * How a Pod starts on a node: first init containers one after the other, then app containers
 * together. For each image, the node asks the registry, uses its own copy of the image, or waits.
 *
 * As observed on kubelet 1.36 with containerd, a container's image volumes are pulled before it
 * starts, for each container that mounts them. A node keeps an image under the name that is written in the Pod. It asks the
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
  /** The images of which the node has a copy from the start, by `nodeName`: all, none, or some. */
  copies: boolean | ReadonlySet<string>;
  /** The images that are no longer in their registries, by `imageName`. */
  missing: ReadonlySet<string>;
  /** The images whose registries are away, whatever `registry` says, by `imageName`. */
  away?: ReadonlySet<string>;
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
  /** The start order. App containers share one number. A volume has its container's. */
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

/**
 * The steps of the start of a Pod, in their order. A container has a step for each image volume
 * that it mounts, and then its own.
 */
export function simulate(spec: JsonObject | undefined, scenario: Scenario): Step[] {
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
  const { copies } = scenario;

  const pull = ({ image, policy, missing, invalid }: Step): Fate => {
    if (invalid) return "waits";
    const key = nodeName(image);
    const isCopied = typeof copies === "boolean" ? copies : copies.has(key);
    const there = isCopied || onNode.has(key);
    if (policy === "Never") return there ? "node" : "waits";
    if (policy === "IfNotPresent" && there) return "node";
    if (!up || missing || scenario.away?.has(imageName(image))) return "waits";
    onNode.add(key);
    return "registry";
  };

  const stepsOf = (container: Json, kind: "init" | "sidecar" | "app", slot: number): Step[] => {
    const step = (kind: Step["kind"], name = "", image = "", policy = ""): Step => ({
      ...{ name, kind, slot, image, policy, fate: "never" },
      early: slot < initContainers.length,
      missing: scenario.missing.has(imageName(image)),
      invalid: scenario.invalid.has(image),
    });
    const mounted = new Set(
      listAt(container, "volumeMounts").map((it) => textAt(it, "name") ?? ""),
    );
    const steps = [...mounted].flatMap((name) => {
      const volume = volumes.get(name);
      return volume
        ? [step("volume", name, textAt(volume, "reference"), textAt(volume, "pullPolicy"))]
        : [];
    });
    const [name, image, policy] = ["name", "image", "imagePullPolicy"].map((key) =>
      textAt(container, key),
    );
    return [...steps, step(kind, name, image, policy)];
  };

  /**
   * Starts containers side by side. What waits is tried again: a pull of one container can bring
   * the image of another. Returns whether all of them started.
   */
  const start = (containers: Step[][]): boolean => {
    let waiting = containers.flat();
    let before: number;
    do {
      before = waiting.length;
      for (const steps of containers) {
        for (const step of steps) {
          if (hasStarted(step)) continue;
          const isHeld = steps.some((it) => it.kind === "volume" && !hasStarted(it));
          step.fate = isHeld && step.kind !== "volume" ? "never" : pull(step);
        }
      }
      waiting = waiting.filter((step) => !hasStarted(step));
    } while (waiting.length > 0 && waiting.length < before);
    return waiting.length === 0;
  };

  const initContainers = listAt(spec, "initContainers");
  const init = initContainers.map((container, slot) =>
    stepsOf(container, textAt(container, "restartPolicy") === "Always" ? "sidecar" : "init", slot),
  );
  const apps = listAt(spec, "containers").map((it) => stepsOf(it, "app", init.length));
  // Each init container starts alone, if the one before it has started.
  const started = init.every((steps) => start([steps]));
  if (scenario.registry === "lost") up = false;
  if (started) start(apps);
  return [...init, ...apps].flat();
}

/** What becomes of a Pod, from the best to the worst. */
export const ENDS = ["starts", "rejected", "waits", "half"] as const;
/** `half`: an app container has started, and another waits. `waits`: no app container starts. */
export type End = (typeof ENDS)[number];

/** What becomes of a Pod that starts with these steps. */
export function endOf(steps: Step[]): End {
  if (steps.every(hasStarted)) return "starts";
  return steps.some((step) => step.kind === "app" && hasStarted(step)) ? "half" : "waits";
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

/** Whether a container starts, or a volume is pulled. */
export const hasStarted = (step: Step) => step.fate === "registry" || step.fate === "node";

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

/** The names of steps. A volume that several containers mount is named once. */
const namesIn = (found: Step[]) => [
  ...new Set(found.map(({ kind, name }) => (kind === "volume" ? `volume ${name}` : name))),
];
const names = (found: Step[]) => shortList(namesIn(found));
const verb = (found: Step[], plural: string) => (namesIn(found).length > 1 ? plural : `${plural}s`);

function shortList(all: string[]): string {
  const shown = all.slice(0, 3);
  if (all.length > 3) return `${shown.join(", ")} and ${all.length - 3} more`;
  const last = shown.pop() ?? "";
  return shown.length > 0 ? `${shown.join(", ")} and ${last}` : last;
}
