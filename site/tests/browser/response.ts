/** The output of the embedded host. */

import { isDeepStrictEqual } from "node:util";
import { applyPatch } from "rfc6902";
import type { Answer } from "../../src/evaluate.ts";
import type { Json } from "../../src/json.ts";
import { expect } from "./page.ts";

export type Response = {
  allowed: boolean;
  patch?: string;
  status?: { message?: string; code?: number };
  warnings?: string[] | null;
  auditAnnotations?: Record<string, string> | null;
};

/** The answer of the module, read from the output of the embedded host. */
export function asAnswer(response: Response, object: Json | undefined): Answer {
  const answer: Answer = { accepted: response.allowed };
  if (response.status?.message !== undefined) answer.message = response.status.message;
  if (response.status?.code !== undefined) answer.code = response.status.code;
  if (response.warnings) answer.warnings = response.warnings;
  if (response.auditAnnotations) answer.audit_annotations = response.auditAnnotations;
  if (response.patch !== undefined) {
    const patch = JSON.parse(Buffer.from(response.patch, "base64").toString("utf8"));
    const mutated = structuredClone(object) ?? null;
    expectEqual(
      applyPatch(mutated, patch).filter((problem) => problem !== null),
      [],
      "the patch fits the object",
    );
    answer.mutated_object = mutated;
  }
  return answer;
}

/**
 * The same as `expect(got, about).toEqual(wanted)`. Playwright needs ten milliseconds to record an
 * expectation, and there are thousands of answers. So it gets only those that differ.
 */
export function expectEqual(got: unknown, wanted: unknown, about: string) {
  if (!isDeepStrictEqual(got, wanted)) expect(got, about).toEqual(wanted);
}
