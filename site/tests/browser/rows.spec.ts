/**
 * Runs the rows of e2e-tests/rows in the page: the module in the browser, with the page's host, has to
 * give the same answers as this policy's crate. `make site-tests` writes the cases of the rows.
 */

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { Answer } from "../../src/evaluate.ts";
import { imageName, nodeName } from "../../src/image.ts";
import type { JsonObject } from "../../src/json.ts";
import { imagesOf } from "../../src/defaults.ts";
import { hasStarted, simulate } from "../../src/start.ts";
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
  request: JsonObject;
  settings: JsonObject;
  calls: Call[];
  /** If it is about a Pod: what the promises' kubelet in miniature starts, before and after. */
  starts?: { spec: JsonObject; worlds: World[] }[];
};
type World = {
  /** Whether the node has a copy of every image. */
  copies: boolean;
  /** The names (see `nodeName`) of the images that are missing from their registries. */
  missing: string[];
  /** The names of the containers that start. */
  started: string[];
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
      const { place, settings, request, starts: _, ...wanted } = one;
      const fields = Object.entries(wanted.answer ?? {}).filter(([, value]) => value !== null);
      const outcome = wanted.answer
        ? { answer: Object.fromEntries(fields), calls: wanted.calls }
        : { invalid: wanted.invalid, calls: [] };
      // Playwright needs ten milliseconds for an expectation, so it gets only what differs.
      if (isDeepStrictEqual(outcomes[index], outcome)) continue;
      const about = `${place}: ${JSON.stringify(settings)} ${JSON.stringify(request)}`;
      expect(outcomes[index], about.slice(0, 2000)).toEqual(outcome);
    }
  }
});

test("the drawing starts the containers that the kubelet of the promises starts", () => {
  const cases = readFileSync(file, "utf8").trimEnd().split("\n");
  let compared = 0;
  for (const line of cases) {
    const { place, starts } = JSON.parse(line) as Case;
    for (const { spec, worlds } of starts ?? []) {
      for (const { copies, missing, started } of worlds) {
        const names = new Set(missing.map(imageName));
        // In the page, an image is missing together with its pinned form, and in the kubelet alone.
        const images = imagesOf(spec).filter((image) => names.has(imageName(image)));
        if (images.some((image) => !missing.includes(nodeName(image)))) continue;
        const invalid = new Set<string>();
        const steps = simulate(spec, { registry: "up", copies, missing: names, invalid });
        const drawn = steps.filter((step) => step.kind !== "volume" && hasStarted(step));
        compared++;
        if (isDeepStrictEqual(new Set(drawn.map(({ name }) => name)), new Set(started))) continue;
        const about = `${place}: ${JSON.stringify({ copies, missing })} ${JSON.stringify(spec)}`;
        expect(drawn.map(({ name }) => name).sort(), about.slice(0, 2000)).toEqual(started);
      }
    }
  }
  expect(compared).toBeGreaterThan(5000);
});
