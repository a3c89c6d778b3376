/** This policy's operations `validate` and `validate_settings`, as policy-server calls them. */

import { call, GuestError, type HostCall } from "./host.ts";
import type { Json, JsonObject } from "./json.ts";
import type { AdmissionRequest } from "./objects.ts";
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
  answer: Answer;
  /** The host calls about registries, in the order in which this policy made them. */
  asked: Exchange[];
};

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Evaluates a request. The answers of registries come from `table`. */
export function evaluate(
  module: WebAssembly.Module,
  request: AdmissionRequest,
  settings: JsonObject,
  table: Table,
): Evaluation {
  const asked: Exchange[] = [];
  return { answer: answerOf(module, request, settings, registryHost(table, asked)), asked };
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

/** Whether the settings are valid, and all problems if they are not. */
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
