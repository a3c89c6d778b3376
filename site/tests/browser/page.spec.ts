/** One object: its answer, the Pod that is made from it, its start, links and wrong texts. */

import { expect, test } from "./page.ts";

test("the first example: a Job whose Pod would do half of its work, and doesn't", async ({
  playground,
}) => {
  const { page } = playground;
  await expect(playground.verdict).toHaveText("allowed, unchanged Job nightly-report, CREATE");
  await expect(page.locator("#pod-verdict")).toHaveText(/^allowed, repaired Pod nightly-report-/);
  await expect(page.locator("#pod-told li")).toHaveText(/imagecheck-0 was added/);
  const places = await playground.cells("#pod-places");
  expect(places.map(([name, , before, after, why]) => [name, before, after, why])).toEqual([
    ["init migrate", "IfNotPresent", "IfNotPresent", "registry"],
    ["report", "Always", "IfNotPresent", "registry"],
    ["upload", "IfNotPresent", "IfNotPresent", "missing-check"],
    [expect.stringMatching(/^volume imagecheck-0\s*new$/), "–", "IfNotPresent", "missing-check"],
  ]);
  await expect(page.locator("#pod-diff")).toContainText("consistent-pull-policy/changes");
  await expect(page.locator("#start-incident")).toContainText("upload:v2 is gone");
  await expect(page.locator("#drawings figcaption")).toHaveText([
    /half of the work is done/,
    /waits as a whole/,
  ]);
  await expect(playground.answer).toContainText("take jobs");
});

test("settings of one's own: refused with their path, and otherwise answered", async ({
  playground,
}) => {
  const { page } = playground;
  await playground.type("settings", "mode: fix\n");
  await expect(page.locator("#settings-problem")).toContainText("mode");
  await expect(page.locator("#answer")).toBeHidden();
  await playground.type("settings", "imageChecks: [");
  await expect(page.locator("#settings-problem")).toContainText(/line \d/);
  await playground.type("settings", "mode: Reject\nimages: {requireAlways: ['*']}\n");
  await expect(page.locator("#settings-problem")).toBeEmpty();
  await playground.type(
    "object",
    "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b, imagePullPolicy: Never}]}\n",
  );
  await expect(playground.verdict).toHaveText("rejected (422) Pod a, CREATE");
  await expect(page.locator("#answer-told")).toContainText("set a to Always");
  await expect(page.locator("#answer-rules")).toHaveText("disallowed-policy");
  // The settings of a preset can be looked at, and changed.
  await playground.choose("settings", "air-gapped");
  await expect(page.locator("#settings .cm-content")).toContainText("forbidAlways");
  await expect(playground.verdict).toHaveText("allowed, unchanged Pod a, CREATE");
});

test("a link restores texts and choices", async ({ playground }) => {
  const { page } = playground;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await playground.type("settings", "mode: Warn\n");
  await page.locator("#incident-what").selectOption("registries");
  await page.locator("#incident-moment").selectOption("reboot");
  await page.getByRole("button", { name: "Copy a link" }).click();
  await expect(page.locator("#link-note")).toHaveText("Copied.");
  const link = await page.evaluate(() => navigator.clipboard.readText());
  await page.goto("about:blank");
  await page.goto(link);
  await playground.ready();
  await expect(page.locator("#settings .cm-content")).toHaveText("mode: Warn");
  await expect(page.locator("#incident-moment")).toHaveValue("reboot");
  await expect(page.locator("#start-incident")).toContainText("all registries are down");
  await page.goto("about:blank");
  await page.goto("./#1=damaged");
  await playground.ready();
  await expect(page.locator("#object-problem")).toContainText("the link is damaged");
});

test("names of the object are text, and never HTML", async ({ playground }) => {
  const hostile = '<img src=x onerror="document.title=1">';
  await playground.type(
    "object",
    JSON.stringify({
      ...{ apiVersion: "v1", kind: "Pod", metadata: { name: hostile } },
      spec: { containers: [{ name: hostile, image: hostile, imagePullPolicy: "Always" }] },
    }),
  );
  await expect(playground.verdict).toContainText(hostile);
  await expect(playground.page.locator("main img")).toHaveCount(0);
});
