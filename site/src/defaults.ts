/**
 * Server defaults: the API server fills in `imagePullPolicy` of containers and `pullPolicy` of
 * image volumes before any webhook sees the object. As observed on kube-apiserver 1.36, `""` and
 * `null` count as not set, and an image that can't be parsed gets `IfNotPresent`.
 */

import { parseReference } from "./image.ts";
import { isObject, type JsonObject } from "./json.ts";

/** A filled-in pull policy, with the list and the name of its container or volume. */
export type Default = { list: string; name: string; policy: PullPolicy };

export type PullPolicy = "Always" | "IfNotPresent" | "Never";

/** The server default for an image. */
export function defaultPolicy(image: string): PullPolicy {
  const reference = parseReference(image);
  if (!reference) return "IfNotPresent";
  const tag = reference.tag ?? (reference.digest ? undefined : "latest");
  return tag === "latest" ? "Always" : "IfNotPresent";
}

/** A copy of the Pod spec with the server defaults, and the list of the filled-in pull policies. */
export function withDefaults(spec: JsonObject): { spec: JsonObject; defaults: Default[] } {
  const defaults: Default[] = [];
  const fill = (list: string, name: unknown, holder: JsonObject, image: string, key: string) => {
    if (holder[key] !== undefined && holder[key] !== null && holder[key] !== "") return holder;
    const policy = defaultPolicy(typeof holder[image] === "string" ? holder[image] : "");
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
    filled["volumes"] = spec["volumes"].map((volume) =>
      isObject(volume) && isObject(volume["image"])
        ? {
            ...volume,
            image: fill("volumes", volume["name"], volume["image"], "reference", "pullPolicy"),
          }
        : volume,
    );
  }
  return { spec: filled, defaults };
}
