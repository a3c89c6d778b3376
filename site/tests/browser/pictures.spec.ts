/**
 * Pictures for Artifact Hub. Only `make pictures` writes them, because they differ with
 * the installed fonts. For each picture, the SHA-256 of the style sheet and of the shown texts is
 * stored. So a test notices an outdated picture.
 */

import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Locator, Page } from "@playwright/test";
import { expect, jobs, test } from "./page.ts";

const pictures = new URL("../../../docs/pictures/", import.meta.url);
const list = new URL("shown.json", pictures);
const style = readFileSync(new URL("../../src/style.css", import.meta.url), "utf8");

/** Takes a picture, or checks that the page still has the texts and the style of the stored one. */
async function picture(name: string, page: Page, target: Page | Locator = page) {
  const texts = await page
    .locator("header p:first-of-type, h2, #survey-answer, #answer, #pod-places, #drawings")
    .evaluateAll((elements) =>
      elements.filter((element) => element.checkVisibility()).map((element) => element.textContent),
    );
  const shown = createHash("sha256")
    .update(JSON.stringify([style, ...texts]))
    .digest("hex");
  const known = existsSync(list) ? JSON.parse(readFileSync(list, "utf8")) : {};
  if (process.env["PICTURES"]) {
    await target.screenshot({ path: new URL(`${name}.png`, pictures).pathname });
    writeFileSync(list, `${JSON.stringify({ ...known, [name]: shown }, null, 2)}\n`);
  } else {
    expect(known[name], "the page looks different now: make pictures").toBe(shown);
  }
}

test.use({ viewport: { width: 1280, height: 1200 }, colorScheme: "light" });

test("the pictures show the page as it is", async ({ playground }) => {
  const { page } = playground;
  await expect(page.locator("#pod-verdict")).toContainText("allowed, repaired");
  await expect(page.locator("#drawings figcaption")).toHaveCount(2);
  await picture("playground-repair", page);
  await picture("playground-start", page, page.locator("#start"));
  await playground.type("object", jobs(20));
  await expect(playground.answer).toContainText("20 of 20");
  await picture("playground-survey", page, page.locator("#survey"));
});
