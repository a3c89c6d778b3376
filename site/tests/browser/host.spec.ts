/**
 * Compares the host in the page with the embedded host of `cargo xtask run`. Both have to give the
 * same answers to every captured review, with every example settings, and with each answer of a
 * registry that a person can choose in the page. The page's record of the host calls is the session
 * that the embedded host replays.
 *
 * Not every review is sent with all settings: e2e.spec.ts compares thousands of such pairs.
 */

import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page } from "@playwright/test";
import { parse, stringify } from "yaml";
import type { Evaluation } from "../../src/evaluate.ts";
import type { Json, JsonObject } from "../../src/json.ts";
import type { Exchange, Table } from "../../src/registry.ts";
import { asksRegistries } from "../../src/takeaway.ts";
import { expect, test } from "./page.ts";
import { asAnswer, type Response } from "./response.ts";

const root = new URL("../../../", import.meta.url);
const path = (relative: string) => fileURLToPath(new URL(relative, root));
const xtask = process.env["XTASK"] ?? path("target/xtask/xtask");
const module = process.env["POLICY_MODULE"] ?? path("annotated-policy.wasm");

const files = (directory: string) =>
  readdirSync(path(directory)).map((name) => ({
    name,
    text: readFileSync(path(`${directory}/${name}`), "utf8"),
  }));
const reviews = [...files("test_data/reviews"), ...files("examples/requests")];
const settings: { name: string; value: JsonObject }[] = [
  { name: "none", value: {} },
  { name: "warn", value: { mode: "Warn" } },
  ...files("examples/settings").map(({ name, text }) => ({ name, value: parse(text) ?? {} })),
];

/** The host calls in the format of `kwctl run --replay-host-capabilities-interactions`. */
function session(asked: Exchange[]): string {
  const names: Record<string, string> = {
    "v1/manifest_digest": "OciManifestDigest",
    "v1/oci_manifest": "OciManifest",
  };
  return stringify(
    asked.map(({ operation, image, answer, error }) => ({
      type: "Exchange",
      request: `!${names[operation]}\nimage: ${image}\n`,
      response:
        answer === undefined
          ? { type: "Error", message: error?.replace("Callback evaluation failure: ", "") }
          : { type: "Success", payload: answer },
    })),
  );
}

async function embedded(
  directory: string,
  review: string,
  value: JsonObject,
  asked: Exchange[],
): Promise<Response> {
  mkdirSync(directory, { recursive: true });
  // The file has only the request. A review of the audit scanner has no kind, and not every host
  // reads such a review.
  const { request, ...bare } = JSON.parse(review);
  writeFileSync(`${directory}/review.json`, JSON.stringify(request ?? bare));
  writeFileSync(`${directory}/session.yml`, session(asked));
  const { stdout, stderr } = await promisify(execFile)(xtask, [
    "run",
    "--request-path",
    `${directory}/review.json`,
    "--settings-json",
    JSON.stringify(value),
    "--replay-host-capabilities-interactions",
    `${directory}/session.yml`,
    module,
  ]);
  expect(stderr, "both hosts get the same host calls").toBe("");
  return JSON.parse(stdout) as Response;
}

/** The answer of the page's host, and its host calls. */
async function inPage(page: Page, text: string, value: JsonObject, table: Table = {}) {
  const got = await page.evaluate(
    async ({ text, json }) => {
      const policy = window.consistentPullPolicy;
      const [item] = policy.read(text);
      if (!item) throw new Error("no request");
      const { value, table } = JSON.parse(json);
      const { answer, asked } = await policy.evaluate(item, value, table);
      return JSON.stringify({ answer, asked, object: item.request["object"] });
    },
    { text, json: JSON.stringify({ value, table }) },
  );
  return JSON.parse(got) as Evaluation & { object: Json };
}

test("both hosts give the same answers to each captured review, with one settings after the other", async ({
  scripted,
}, info) => {
  expect(reviews.length).toBeGreaterThan(settings.length);
  for (const [number, { name: file, text }] of reviews.entries()) {
    const { name, value } = settings[number % settings.length] as (typeof settings)[number];
    const { answer, asked, object } = await inPage(scripted, text, value);
    const response = await embedded(info.outputPath("host"), text, value, asked);
    expect(answer, `${file} with the settings ${name}`).toEqual(asAnswer(response, object));
  }
});

for (const { name, value } of settings.filter(({ value }) => asksRegistries(value))) {
  test(`both hosts give the same answers after the lookups with the settings ${name}`, async ({
    scripted,
  }, info) => {
    const images = new Set<string>();
    for (const { text } of reviews) {
      const { asked } = await inPage(scripted, text, value);
      for (const { image } of asked) images.add(image);
    }
    expect(images.size).toBeGreaterThan(0);
    // Each image that is looked up gets a class of failure, one class after the other.
    const failures = ["notFound", "denied", "rateLimited", "unreachable"] as const;
    const failing = Object.fromEntries(
      [...images].map((image, number) => {
        const answer = failures[number % failures.length] ?? "notFound";
        return [image, { answer, digest: "", platforms: "" }];
      }),
    );
    // Reviews with the same host calls prove the same, so one of them is enough.
    const sessions = new Set<string>();
    for (const table of [{}, failing]) {
      for (const { name: file, text } of reviews) {
        const { answer, asked, object } = await inPage(scripted, text, value, table);
        const recorded = session(asked);
        if (asked.length === 0 || sessions.has(recorded)) continue;
        sessions.add(recorded);
        const response = await embedded(info.outputPath("host"), text, value, asked);
        expect(answer, file).toEqual(asAnswer(response, object));
      }
    }
  });
}
