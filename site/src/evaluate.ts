/** This policy's operations `validate` and `validate_settings`, as policy-server calls them. */

import { imagesOf, type PullPolicy } from "./defaults.ts";
import { call, GuestError, type HostCall } from "./host.ts";
import type { Json, JsonObject } from "./json.ts";
import { type AdmissionRequest, type Item, podSpec, withServerDefaults } from "./objects.ts";
import { type Exchange, registryHost, type Table } from "./registry.ts";

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
};

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Evaluates an item. The answers of registries come from `table`. */
export function evaluate(
  module: WebAssembly.Module,
  written: Item,
  settings: JsonObject,
  table: Table,
): Evaluation {
  const defaultOf = (image: string) => serverDefault(module, image);
  const item = withServerDefaults(written, (image) => defaultOf(image) ?? "IfNotPresent");
  const asked: Exchange[] = [];
  const answer = answerOf(module, item.request, settings, registryHost(table, asked));
  const images = imagesOf(podSpec(item.request["object"]));
  return { item, answer, asked, invalid: images.filter((image) => !defaultOf(image)) };
}

const serverDefaults = new Map<string, PullPolicy | undefined>();

/**
 * The server default for an image. `undefined` if the image can't be parsed.
 *
 * This policy's module tells it: without a pull policy, it works with the server default. With
 * these settings it rejects an image that can't be parsed, lowers `Always`, and changes nothing else.
 */
export function serverDefault(module: WebAssembly.Module, image: string): PullPolicy | undefined {
  if (!serverDefaults.has(image)) {
    const object = { metadata: {}, spec: { containers: [{ name: "app", image }] } };
    const request = { kind: { group: "", kind: "Pod" }, operation: "CREATE", object };
    const settings = { images: { forbidAlways: ["*"] } };
    const { accepted, mutated_object } = answerOf(module, request, settings, registryHost({}));
    const valid = mutated_object === undefined ? "IfNotPresent" : "Always";
    serverDefaults.set(image, accepted ? valid : undefined);
  }
  return serverDefaults.get(image);
}

/** Evaluates a request with the given host. */
export function answerOf(
  module: WebAssembly.Module,
  request: AdmissionRequest,
  settings: JsonObject,
  hostCall: HostCall,
): Answer {
  const payload = encoder.encode(JSON.stringify({ request, settings }));
  try {
    const bytes = call(module, "validate", payload, hostCall);
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
    registryHost({}),
  );
  return JSON.parse(decoder.decode(bytes)) as { valid: boolean; message?: string };
}
