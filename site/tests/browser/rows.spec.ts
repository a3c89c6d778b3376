/**
 * Runs the rows of e2e-tests/rows in the page: the module in the browser, with the page's host, has to
 * give the same answers as this policy's crate. `make site-tests` writes the cases of the rows.
 */

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { Answer } from "../../src/types.ts";
import { expect, test } from "./page.ts";

type Call = { operation: string; image: string; answer?: string; error?: string };
type Outcome = {
  /** Why the settings are invalid. Then there is no answer. */
  invalid?: string;
  answer?: Answer;
};
/** A case of a row. The calls are in the order in which this policy makes them. */
type Case = Outcome & {
  place: string;
  request: object;
  settings: object;
  calls: Call[];
};

const file = process.env["ROWS"] ?? new URL("../../../target/rows.jsonl", import.meta.url).pathname;
/** The number of cases that go to the page together. */
const BATCH = 200;

test("the page gives the answers of the rows, and makes the same lookups", async ({ scripted }) => {
  const cases = readFileSync(file, "utf8").trimEnd().split("\n");
  expect(cases.length).toBeGreaterThan(500);
  for (let start = 0; start < cases.length; start += BATCH) {
    const batch = `[${cases.slice(start, start + BATCH).join()}]`;
    const got = await scripted.evaluate(async (batch) => {
      const policy = window.consistentPullPolicy;
      const outcomes: (Outcome & { calls: Call[] })[] = [];
      for (const { request, settings, calls } of JSON.parse(batch) as Case[]) {
        const { valid, message } = await policy.validateSettings(settings);
        if (!valid) {
          outcomes.push({ invalid: message ?? "", calls: [] });
          continue;
        }
        const asked: Call[] = [];
        const answer = await policy.answerOf(
          request,
          settings,
          (_, namespace, operation, bytes) => {
            if (namespace !== "oci") return new Uint8Array();
            const image = JSON.parse(new TextDecoder().decode(bytes)) as string;
            const call = { ...calls[asked.length], operation, image };
            asked.push(call);
            if (call.answer === undefined)
              throw new Error(call.error ?? "the row has fewer lookups");
            return new TextEncoder().encode(call.answer);
          },
        );
        outcomes.push({ answer, calls: asked });
      }
      return JSON.stringify(outcomes);
    }, batch);
    const outcomes = JSON.parse(got) as Outcome[];
    for (const [index, one] of (JSON.parse(batch) as Case[]).entries()) {
      const { place, settings, request, ...wanted } = one;
      const outcome = wanted.answer
        ? { answer: wanted.answer, calls: wanted.calls }
        : { invalid: wanted.invalid, calls: [] };
      // Playwright needs ten milliseconds for an expectation, so it gets only what differs.
      if (isDeepStrictEqual(outcomes[index], outcome)) continue;
      const about = `${place}: ${JSON.stringify(settings)} ${JSON.stringify(request)}`;
      expect(outcomes[index], about.slice(0, 2000)).toEqual(outcome);
    }
  }
});
