/** Compares the plan of the page with that of `cargo xtask plan`. */

import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "./page.ts";

const path = (relative: string) =>
  fileURLToPath(new URL(relative, new URL("../../../", import.meta.url)));
const xtask = process.env["XTASK"] ?? path("target/xtask/xtask");
const module = process.env["POLICY_MODULE"] ?? path("annotated-policy.wasm");
const files = ["test_data/reviews", "site/examples"].flatMap((directory) =>
  readdirSync(path(directory))
    .sort()
    .map((name) => path(`${directory}/${name}`)),
);

for (const settings of [{}, { mode: "Reject" }, { imageChecks: { coverage: "Fix" } }]) {
  const json = JSON.stringify(settings);

  test(`both plans are the same with the settings ${json}`, async ({ playground }) => {
    const { page } = playground;
    await playground.type("settings", json);
    await page.locator("#files").setInputFiles(files);
    const save = page.getByRole("button", { name: "Save JSON" });
    await expect(save).toBeEnabled();
    const [download] = await Promise.all([page.waitForEvent("download"), save.click()]);
    const shown = JSON.parse(readFileSync(await download.path(), "utf8"));

    const { stdout } = await promisify(execFile)(xtask, [
      ...["plan", "--output", "json", "--settings-json", json, "--module", module],
      ...files,
    ]);
    const planned = JSON.parse(stdout);
    const order = (rows: object[]) => rows.map((row) => JSON.stringify(row)).sort();
    expect(planned.length).toBeGreaterThan(20);
    expect(order(shown)).toEqual(order(planned));
  });
}
