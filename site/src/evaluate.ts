/** This policy's operations `validate` and `validate_settings`, as policy-server calls them. */

import { imagesOf, type PullPolicy } from "./defaults.ts";
import { call, Guest, GuestError, type HostCall } from "./host.ts";
import type { Json, JsonObject } from "./json.ts";
import { type AdmissionRequest, type Item, podSpec, withServerDefaults } from "./objects.ts";
import {
  DEFAULT_ENTRY,
  type Exchange,
  registriesOf,
  registryHost,
  type Table,
} from "./registry.ts";

/** The answer of this policy to a request. */
export type Answer = {
  accepted: boolean;
  message?: string;
  code?: number;
  mutated_object?: Json;
  warnings?: string[];
  audit_annotations?: Record<string, string>;
};

export type Evaluation = {
  /** The evaluated item: its object has the server defaults. */
  item: Item;
  answer: Answer;
  /** The host calls about registries, in the order in which this policy made them. */
  asked: Exchange[];
  /** The images of the object that can't be parsed. */
  invalid: string[];
  /** The normalised names of its other images, if registries can be asked for them. */
  names: Record<string, string>;
};

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The module, whose every call gets a fresh instance, or an instance for several calls. */
export type Runs = WebAssembly.Module | Guest;

/** Evaluates an item. The answers of registries come from `table`. */
export function evaluate(
  module: WebAssembly.Module,
  written: Item,
  settings: JsonObject,
  table: Table,
): Evaluation {
  const item = asStored(module, written);
  const asked: Exchange[] = [];
  const registries = registriesOf(table);
  const answer = answerOf(module, item.request, settings, registryHost(registries, asked));
  const images = imagesOf(podSpec(item.request["object"]));
  const names = images.flatMap((image) => {
    const name = factsOf(module, image)?.name;
    return name === undefined ? [] : [[image, name]];
  });
  return {
    ...{ item, answer, asked, names: Object.fromEntries(names) },
    invalid: images.filter((image) => !factsOf(module, image)),
  };
}

/** The item with the server defaults. */
export const asStored = (module: Runs, item: Item): Item =>
  withServerDefaults(item, (image) => factsOf(module, image)?.policy ?? "IfNotPresent");

/** What this policy tells about the name of an image. */
export type Facts = {
  /** The server default. */
  policy: PullPolicy;
  /** The normalised name, with its tag or its digest. `undefined` if no registry can be asked. */
  name: string | undefined;
};

const facts = new Map<string, Facts | undefined>();

/**
 * The facts about an image. `undefined` if the image can't be parsed.
 *
 * This policy's module tells them: without a pull policy, it works with the server default. With
 * these settings it rejects an image that can't be parsed, looks up its normalised name, lowers
 * `Always`, and changes nothing else.
 */
export function factsOf(module: Runs, image: string): Facts | undefined {
  if (!facts.has(image)) {
    const object = { metadata: {}, spec: { containers: [{ name: "app", image }] } };
    const request = { kind: { group: "", kind: "Pod" }, operation: "CREATE", object };
    const settings = {
      images: { forbidAlways: ["*"] },
      registry: { lookup: "Verify", images: ["*"] },
    };
    const asked: Exchange[] = [];
    const host = registryHost(() => DEFAULT_ENTRY, asked);
    const { accepted, mutated_object } = answerOf(module, request, settings, host);
    const policy = mutated_object === undefined ? "IfNotPresent" : "Always";
    facts.set(image, accepted ? { policy, name: asked[0]?.image } : undefined);
  }
  return facts.get(image);
}

/** Evaluates a request with the given host. */
export function answerOf(
  module: Runs,
  request: AdmissionRequest,
  settings: JsonObject,
  hostCall: HostCall,
): Answer {
  const payload = encoder.encode(JSON.stringify({ request, settings }));
  try {
    const bytes =
      module instanceof Guest
        ? module.call("validate", payload, hostCall)
        : call(module, "validate", payload, hostCall);
    // The policy SDK writes null for fields that an answer doesn't have.
    const fields = Object.entries(JSON.parse(decoder.decode(bytes)) as object);
    return Object.fromEntries(fields.filter(([, value]) => value !== null)) as Answer;
  } catch (error) {
    if (!(error instanceof GuestError)) throw error;
    // If a guest call fails, policy-server answers with these words.
    const message = `internal server error: Guest call failure: ${error.message}`;
    return { accepted: false, message, code: 500 };
  }
}

/** Whether the settings are valid. If they are not, the message says what is wrong. */
export function validateSettings(
  module: WebAssembly.Module,
  settings: JsonObject,
): { valid: boolean; message?: string } {
  const bytes = call(
    module,
    "validate_settings",
    encoder.encode(JSON.stringify(settings)),
    registryHost(() => DEFAULT_ENTRY),
  );
  return JSON.parse(decoder.decode(bytes)) as { valid: boolean; message?: string };
}
