/** Incidents: images that no node can pull, and the Pods that start meanwhile. */

import { imagesOf } from "./defaults.ts";
import { imageName, nodeName } from "./image.ts";
import type { JsonObject } from "./json.ts";
import { DEFAULT_ENTRY, type Registries, registryOf } from "./registry.ts";
import { type End, endOf, type Scenario, simulate } from "./start.ts";

/** When a Pod was created, and where it starts. */
export const MOMENTS = {
  meanwhile: "created meanwhile, on a node with copies",
  reboot: "created before, starting again after a reboot",
  empty: "created meanwhile, on an empty node",
};
export type Moment = keyof typeof MOMENTS;

export type Incident = {
  /** `registries`: all are away. `registry`: the one in `name`. `image`: the one in `name` is gone. */
  what: "registries" | "registry" | "image";
  /** A registry, or the normalised name of an image. */
  name: string;
  moment: Moment;
};

/** An incident that a person chooses. `any`: of each Pod, the image is gone that harms it most. */
export type Chosen = Omit<Incident, "what"> & { what: Incident["what"] | "any" };

export const FIRST_INCIDENT: Chosen = { what: "any", name: "", moment: "meanwhile" };

/** The incidents of which a chosen one is the worst, for Pods with these images. */
export const incidentsOf = ({ what, name, moment }: Chosen, images: string[]): Incident[] =>
  what === "any"
    ? // Without an image that a registry can have, none is gone.
      (images.length > 0 ? images : [""]).map((image) => ({ what: "image", name: image, moment }))
    : [{ what, name, moment }];

/** The normalised name of an image; `undefined` if no registry can be asked for it. */
export type NameOf = (image: string) => string | undefined;

/** The answers of registries to lookups during an incident. */
export function registriesDuring({ what, name }: Incident): Registries {
  return (image) => {
    if (what === "image") {
      return image === name ? { ...DEFAULT_ENTRY, answer: "notFound" } : DEFAULT_ENTRY;
    }
    const isAway = what === "registries" || registryOf(image) === name;
    return isAway ? { ...DEFAULT_ENTRY, answer: "unreachable" } : DEFAULT_ENTRY;
  };
}

/** The images of some Pods that a node can't pull during an incident, by `imageName`. */
export function outOfReach(
  { what, name }: Incident,
  specs: (JsonObject | undefined)[],
  nameOf: NameOf,
): Set<string> {
  const images = [...new Set(specs.flatMap(imagesOf).map(imageName))];
  return new Set(
    images.filter((image) => {
      if (what === "registries") return true;
      const normalised = nameOf(image);
      return what === "image"
        ? normalised === name
        : normalised !== undefined && registryOf(normalised) === name;
    }),
  );
}

/** The names under which a node keeps the images of a Pod. */
export const copiesOf = (spec: JsonObject | undefined): Set<string> =>
  new Set(imagesOf(spec).map(nodeName));

/** How the start of a Pod ends during an incident, on a node with these copies. */
export function endDuring(
  incident: Incident,
  spec: JsonObject,
  copies: Scenario["copies"],
  nameOf: NameOf,
  invalid: ReadonlySet<string>,
): End {
  const away = outOfReach(incident, [spec], nameOf);
  const scenario: Scenario = { registry: "up", copies, missing: new Set(), away, invalid };
  return endOf(simulate(spec, scenario));
}
