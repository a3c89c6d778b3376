/** Pictures for the docs and the README; only `make pictures` writes them. */

import { fileURLToPath } from "node:url";
import { expect, podList, test } from "./page.ts";

const picture = (name: string) =>
  fileURLToPath(new URL(`../../../docs/pictures/${name}.png`, import.meta.url));

test.use({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });

test("the repair", async ({ playground }) => {
  await expect(playground.verdict).toHaveText("allowed, repaired");
  await playground.page.screenshot({ path: picture("playground-repair") });
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
  await playground.type("object", JOB);
  await playground.type("settings", "registry:\n  lookup: Pin\n  onUnreachable: UseCached\n");
  await page.getByRole("combobox", { name: "answer", exact: true }).selectOption("unreachable");
  await expect(page.locator("#told")).toContainText("gives no answer");
  await page.screenshot({ path: picture("playground-outage") });
});

test("the plan", async ({ playground }) => {
  const { page } = playground;
  await page.locator("#files").setInputFiles([
    { name: "pods.json", mimeType: "application/json", buffer: Buffer.from(podList(1000)) },
    { name: "none.yaml", mimeType: "text/yaml", buffer: Buffer.from("") },
  ]);
  const plan = page.locator("#plan");
  await expect(plan).toContainText("1,000 objects");
  await expect(plan.locator("[aria-current]")).toBeVisible();
  await plan.screenshot({ path: picture("playground-plan") });
});
