/**
 * Pictures for Artifact Hub. Only `make pictures` writes them, because they differ with
 * the installed fonts. For each picture, the SHA-256 of the style sheet and of the shown texts is
 * stored. So a test notices an outdated picture.
 */

import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Locator, Page } from "@playwright/test";
import { expect, podList, test } from "./page.ts";

const pictures = new URL("../../../docs/pictures/", import.meta.url);
const list = new URL("shown.json", pictures);
const style = readFileSync(new URL("../../src/style.css", import.meta.url), "utf8");

/** Takes a picture, or checks that the page still has the texts and the style of the stored one. */
async function picture(name: string, page: Page, target: Page | Locator = page) {
  const texts = await page
    .locator(
      "header p:first-of-type, h2, #plan, #registry-images, .beside > section, #missing-images, #drawings",
    )
    .evaluateAll((elements) =>
      elements.filter((element) => element.checkVisibility()).map((element) => element.textContent),
    );
  const shown = createHash("sha256")
    .update(JSON.stringify([style, ...texts]))
    .digest("hex");
  const known = existsSync(list) ? JSON.parse(readFileSync(list, "utf8")) : {};
  if (process.env["PICTURES"]) {
    // The checksum of the module differs in every build.
    await page.locator("#module").evaluate((element) => element.replaceChildren());
    await target.screenshot({ path: new URL(`${name}.png`, pictures).pathname });
    writeFileSync(list, `${JSON.stringify({ ...known, [name]: shown }, null, 2)}\n`);
  } else {
    expect(known[name], "the page looks different now: make pictures").toBe(shown);
  }
}

// One after the other, because each test writes shown.json.
test.describe.configure({ mode: "default" });
test.use({ viewport: { width: 1280, height: 860 }, colorScheme: "light" });

test("the repair", async ({ playground }) => {
  await playground.page.setViewportSize({ width: 1280, height: 1200 });
  await expect(playground.verdict).toHaveText("allowed, repaired");
  await picture("playground-repair", playground.page);
});

const JOB = `apiVersion: v1
kind: Pod
metadata: {name: ci-job}
spec:
  initContainers:
    - {name: imagecheck-0, image: "my-app:v1.2.3"}
  containers:
    - {name: app, image: "my-app:v1.2.3", imagePullPolicy: Always}
`;

test("the outage", async ({ playground }) => {
  const { page } = playground;
  await page.setViewportSize({ width: 1280, height: 1010 });
  await playground.chooseSmallExample();
  await playground.type("object", JOB);
  await playground.type(
    "settings",
    'registry:\n  lookup: Pin\n  images: ["docker.io/*"]\n  onNoAnswer: UseCached\n',
  );
  await page.getByRole("combobox", { name: "answer", exact: true }).selectOption("unreachable");
  await expect(page.locator("#told")).toContainText("no usable answer");
  await page.locator("#scenario").selectOption("away");
  await picture("playground-outage", page);
});

test("the plan", async ({ playground }) => {
  const { page } = playground;
  await playground.choose("settings", "agent-stack-k8s");
  await page.locator("#files").setInputFiles([
    { name: "pods.json", mimeType: "application/json", buffer: Buffer.from(podList(1000)) },
    { name: "none.yaml", mimeType: "text/yaml", buffer: Buffer.from("") },
  ]);
  const plan = page.locator("#plan");
  await expect(page.locator("#survey")).toContainText("1,000 objects");
  await expect(plan.locator("[aria-current]")).toBeVisible();
  await picture("playground-plan", page, plan);
});
