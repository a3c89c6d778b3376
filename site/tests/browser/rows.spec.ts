/**
 * Runs the rows of e2e-tests/rows in the page: the module in the browser, with the page's host, has to
 * give the same answers as this policy's crate. `make site-tests` writes the cases of the rows.
 */

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { type Answer, answerOf, factsOf } from "../../src/evaluate.ts";
import { imageName, nodeName } from "../../src/image.ts";
import { type JsonObject, listAt, textAt } from "../../src/json.ts";
import { imagesOf } from "../../src/defaults.ts";
import { Guest } from "../../src/host.ts";
import { copiesOf, endDuring, type Incident, outOfReach } from "../../src/incident.ts";
import { passedOn } from "../../src/objects.ts";
import { registryOf } from "../../src/registry.ts";
import { type End, hasStarted, simulate } from "../../src/start.ts";
import { policy } from "../policy.ts";
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

test("an instance of the module keeps nothing from one call to the next", () => {
  const guest = new Guest(policy);
  for (const line of readFileSync(file, "utf8").trimEnd().split("\n")) {
    const { place, request, settings, calls, answer } = JSON.parse(line) as Case;
    if (!answer) continue;
    let asked = 0;
    const got = answerOf(guest, passedOn(request), settings, (_, namespace) => {
      if (namespace !== "oci") return new Uint8Array();
      const call = calls[asked++];
      if (call?.answer === undefined) throw new Error(call?.error ?? "the row has fewer lookups");
      return new TextEncoder().encode(call.answer);
    });
    const fields = Object.entries(answer).filter(([, value]) => value !== null);
    if (isDeepStrictEqual(got, Object.fromEntries(fields))) continue;
    expect(got, place).toEqual(Object.fromEntries(fields));
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

/** What becomes of a Pod of which these containers start. */
function endOf(spec: JsonObject, started: string[]): End {
  const names = (list: string) => listAt(spec, list).map((container) => textAt(container, "name"));
  const starts = (name: string | undefined) => name !== undefined && started.includes(name);
  if ([...names("initContainers"), ...names("containers")].every(starts)) return "starts";
  return names("containers").some(starts) ? "half" : "waits";
}

test("a Pod ends in an incident as the kubelet of the promises says", () => {
  const nameOf = (image: string) => factsOf(policy, image)?.name;
  const compared = { registries: 0, registry: 0, image: 0 };
  for (const line of readFileSync(file, "utf8").trimEnd().split("\n")) {
    const { place, starts } = JSON.parse(line) as Case;
    for (const { spec, worlds } of starts ?? []) {
      const images = imagesOf(spec).map(nameOf);
      const names = [...new Set(images.filter((name) => name !== undefined))];
      const incident = (what: Incident["what"], name = ""): Incident => ({
        ...{ what, name, moment: "meanwhile" },
      });
      for (const one of [
        incident("registries"),
        ...[...new Set(names.map(registryOf))].map((name) => incident("registry", name)),
        ...names.map((name) => incident("image", name)),
      ]) {
        const away = [...outOfReach(one, [spec], nameOf)].sort();
        for (const { copies, missing, started } of worlds) {
          // A world is that of the incident if it lacks the same images. Pinned ones lack together.
          const isSame = isDeepStrictEqual([...new Set(missing.map(imageName))].sort(), away);
          const isWhole = imagesOf(spec).every(
            (image) => away.includes(imageName(image)) === missing.includes(nodeName(image)),
          );
          if (!isSame || !isWhole) continue;
          const has = copies ? copiesOf(spec) : false;
          const end = endDuring(one, spec, has, nameOf, new Set());
          compared[one.what]++;
          if (end === endOf(spec, started)) continue;
          const about = `${place}: ${JSON.stringify({ one, copies })} ${JSON.stringify(spec)}`;
          expect(end, about.slice(0, 2000)).toEqual(endOf(spec, started));
        }
      }
    }
  }
  for (const count of Object.values(compared)) expect(count).toBeGreaterThan(1000);
});
