/**
 * Server defaults: the API server fills in `imagePullPolicy` of containers and `pullPolicy` of
 * image volumes before any webhook sees the object. As observed on kube-apiserver 1.36, `""` and
 * `null` count as not set, and an image that can't be parsed gets `IfNotPresent`.
 */

import { at, isObject, type JsonObject, listAt, textAt } from "./json.ts";

/** A filled-in pull policy, with the list and the name of its container or volume. */
export type Default = { list: string; name: string; policy: PullPolicy };

export type PullPolicy = "Always" | "IfNotPresent" | "Never";

/** The images of a Pod spec: of its image volumes, then of its containers. */
export function imagesOf(spec: JsonObject | undefined): string[] {
  const volumes = listAt(spec, "volumes").map((volume) => textAt(volume, "image", "reference"));
  const containers = ["initContainers", "containers", "ephemeralContainers"]
    .flatMap((list) => listAt(spec, list))
    .map((container) => textAt(container, "image") ?? "");
  return [...volumes.filter((image) => image !== undefined), ...containers];
}

/** A copy of the Pod spec with the server defaults, and the list of the filled-in pull policies. */
export function withDefaults(spec: JsonObject, defaultOf: (image: string) => PullPolicy) {
  const defaults: Default[] = [];
  const fill = (list: string, name: unknown, holder: JsonObject, image: string, key: string) => {
    if (holder[key] !== undefined && holder[key] !== null && holder[key] !== "") return holder;
    const policy = defaultOf(textAt(holder, image) ?? "");
    defaults.push({ list, name: typeof name === "string" ? name : "", policy });
    return { ...holder, [key]: policy };
  };
  const filled: JsonObject = { ...spec };
  for (const list of ["initContainers", "containers", "ephemeralContainers"]) {
    if (!Array.isArray(spec[list])) continue;
    filled[list] = spec[list].map((container) =>
      isObject(container)
        ? fill(list, container["name"], container, "image", "imagePullPolicy")
        : container,
    );
  }
  if (Array.isArray(spec["volumes"])) {
    filled["volumes"] = spec["volumes"].map((volume) => {
      const image = at(volume, "image");
      return isObject(volume) && isObject(image)
        ? { ...volume, image: fill("volumes", volume["name"], image, "reference", "pullPolicy") }
        : volume;
    });
  }
  return { spec: filled, defaults };
}
