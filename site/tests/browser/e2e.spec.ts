/**
 * Sends the requests of the end-to-end tests to the page. With the same settings and the same
 * answers to host calls, the page has to give the same answer as the embedded host.
 * `make e2e-tests` writes the files of these requests.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { Answer } from "../../src/evaluate.ts";
import type { Json, JsonObject } from "../../src/json.ts";
import { expect, test } from "./page.ts";
import { asAnswer, expectEqual, type Response } from "./response.ts";

type Call = {
  namespace: string;
  operation: string;
  payload: string;
  answer?: string;
  error?: string;
};
type Transcript = {
  request: string;
  settings: JsonObject;
  calls: Call[];
  refused?: string;
  response?: Response;
};
type Result = {
  refused?: string;
  answer?: Answer;
  object?: Json;
  calls: Omit<Call, "answer" | "error">[];
};

const folder =
  process.env["TRANSCRIPTS"] ?? new URL("../../../target/transcripts", import.meta.url).pathname;
/** The number of requests that go to the page together. */
const BATCH = 100;

const files = existsSync(folder) ? readdirSync(folder).sort() : [];

test("every end-to-end test file with requests has a file of requests", () => {
  const tests = new URL("../../../e2e-tests/", import.meta.url);
  const asking = readdirSync(tests)
    .filter((name) => name.endsWith(".bats"))
    .filter((name) =>
      /^ +(?:evaluate|consult|invalid)\b/m.test(readFileSync(new URL(name, tests), "utf8")),
    )
    .map((name) => name.replace(".bats", ".jsonl"));
  expect(asking).not.toEqual([]);
  expect(files, "make e2e-tests writes them").toEqual(asking.sort());
});

for (const file of files) {
  const bats = file.replace(".jsonl", ".bats");

  test(`both hosts give the same answers to the requests of ${bats}`, async ({ scripted }) => {
    const all = readFileSync(`${folder}/${file}`, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Transcript);
    for (let start = 0; start < all.length; start += BATCH) {
      const batch = all.slice(start, start + BATCH);
      // Sent as text, because an object would lose large numbers and duplicate keys of the JSON.
      const got = await scripted.evaluate(async (json) => {
        const policy = window.consistentPullPolicy;
        const results: Result[] = [];
        for (const { request, settings, calls } of JSON.parse(json) as Transcript[]) {
          const judged = await policy.validateSettings(settings);
          if (!judged.valid) {
            results.push({ refused: judged.message ?? "", calls: [] });
            continue;
          }
          const [item] = policy.read(request);
          if (!item) throw new Error(`no request: ${request.slice(0, 1000)}`);
          const asked: Result["calls"] = [];
          const answer = await policy.answerOf(
            item,
            settings,
            (_binding, namespace, operation, bytes) => {
              if (namespace === "tracing") return new Uint8Array();
              const payload = new TextDecoder().decode(bytes);
              const heard = calls[asked.length];
              asked.push({ namespace, operation, payload });
              if (heard?.answer === undefined) throw new Error(heard?.error ?? "asked too much");
              return new TextEncoder().encode(heard.answer);
            },
          );
          results.push({ answer, object: item.request["object"] ?? null, calls: asked });
        }
        return JSON.stringify(results);
      }, JSON.stringify(batch));
      for (const [index, result] of (JSON.parse(got) as Result[]).entries()) {
        const { request, settings, calls, refused, response } = batch[index] as Transcript;
        // The answers also differ if the module has changed since the last `make e2e-tests`.
        const about = `${bats}: ${JSON.stringify(settings)} ${request.slice(0, 2000)}`;
        expectEqual(result.refused, refused, about);
        const asked = calls.map(({ namespace, operation, payload }) => ({
          namespace,
          operation,
          payload,
        }));
        expectEqual(result.calls, asked, about);
        if (response) expectEqual(result.answer, asAnswer(response, result.object), about);
      }
    }
  });
}
