/**
 * Proves that everybody can use the page: with a screen reader, on a small screen, in the dark, with
 * the keyboard, without a connection, and without a long wait for the first load.
 */

import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, jobs, Playground, test } from "./page.ts";

test.describe("axe finds no accessibility problem", () => {
  for (const width of [1280, 360]) {
    test(`${width} wide, light and dark`, async ({ playground }) => {
      const { page } = playground;
      await page.setViewportSize({ width, height: 900 });
      const states: [string, () => Promise<void>][] = [
        ["repaired", () => expect(page.locator("#pod-verdict")).toContainText("repaired")],
        [
          "rejected",
          async () => {
            await playground.type("settings", "podTemplates: Reject\n");
            await playground.type(
              "object",
              "kind: Pod\napiVersion: v1\nspec: {containers: [{name: a, image: B}]}\n",
            );
            await expect(playground.verdict).toContainText("rejected");
          },
        ],
        [
          "a plan",
          async () => {
            await playground.type("object", jobs(4));
            await expect(playground.answer).toContainText("4 of 4");
            await playground.chooseFile("jobs");
            await page.locator("#plan-where").selectOption("only");
            await expect(page.locator("#plan-command")).not.toBeEmpty();
            for (const summary of await page.locator("summary:visible").all())
              await summary.click();
          },
        ],
        [
          "refused",
          async () => {
            await playground.type("settings", "mode: fix\n");
            await expect(page.locator("#settings-problem")).toContainText("mode");
          },
        ],
      ];
      for (const [name, reach] of states) {
        await reach();
        await page.emulateMedia({ colorScheme: "light" });
        expect(await playground.violations(), `${name}, light`).toEqual([]);
        // The style sheet gives only other colours to the dark page, so only they can be wrong.
        await page.emulateMedia({ colorScheme: "dark" });
        expect(
          await playground.violations(["color-contrast", "link-in-text-block"]),
          `${name}, dark`,
        ).toEqual([]);
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        expect(overflow, `${name}: nothing hangs over the edge`).toBeLessThanOrEqual(0);
      }
    });
  }
});

test("all functions of the page work with the keyboard", async ({ playground }) => {
  const { page } = playground;
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(
    "Skip to the outcome",
  );
  await playground.type("object", jobs(4));
  await playground.chooseFile("jobs");
  await expect(page.locator("#plan-command")).toContainText("helm");
  await page.locator("#object-example").focus();
  const reached = new Set<string>();
  for (let press = 0; press < 80; press++) {
    await page.keyboard.press("Tab");
    reached.add(
      await page.evaluate(() => {
        const element = document.activeElement;
        return element?.id || element?.closest("[id]")?.id || "body";
      }),
    );
  }
  for (const id of [
    ...["object", "clear", "open-files", "copy-link", "settings-example", "settings"],
    ...["survey-answer", "incident-what", "incident-name", "incident-moment", "files-table"],
    ...["save-csv", "save-json", "plan-registries", "plan-where", "plan-monitor", "copy-command"],
    ...["plan-filter", "plan-table"],
  ]) {
    expect([...reached], id).toContain(id);
  }
});

test("the page makes no request after it has loaded, and stores nothing", async ({
  playground,
}) => {
  const { page } = playground;
  const context = page.context();
  const requests: string[] = [];
  context.on("request", (request) => {
    // URLs of blobs and data are made in the page and need no network.
    if (!/^(?:blob|data):/.test(request.url())) requests.push(request.url());
  });
  await playground.choose("settings", "always-by-digest");
  await playground.type("object", jobs(4));
  await expect(playground.answer).toContainText("4 of 4");
  await page.getByRole("button", { name: "Copy a link" }).click();
  await expect(page.locator("#link-note")).not.toBeEmpty();
  expect(requests).toEqual([]);
  expect(await context.cookies()).toEqual([]);
  expect(await page.evaluate(() => [localStorage.length, sessionStorage.length])).toEqual([0, 0]);
});

test("the Content-Security-Policy of the page forbids every connection", async ({ tab }) => {
  await new Playground(tab).open();
  const tries = await tab.evaluate(async () => {
    const blocked: string[] = [];
    document.addEventListener("securitypolicyviolation", (event) => {
      blocked.push(event.effectiveDirective);
    });
    const failed = (promise: Promise<unknown>) =>
      promise.then(
        () => false,
        () => true,
      );
    const fetched = await failed(fetch(location.href));
    const image = await failed(
      new Promise((resolve, reject) => {
        const element = new Image();
        element.onload = resolve;
        element.onerror = reject;
        element.src = `${location.href}x.png`;
      }),
    );
    // A worker of the page can't connect either.
    const url = URL.createObjectURL(
      new Blob([
        `fetch(${JSON.stringify(location.href)}).then(() => postMessage("sent"), () => postMessage("blocked"))`,
      ]),
    );
    const worker = await new Promise((resolve) => {
      new Worker(url).onmessage = ({ data }) => resolve(data);
    });
    // The events can come after the errors.
    while (new Set(blocked).size < 2) await new Promise((resolve) => setTimeout(resolve));
    return { fetched, image, worker, blocked: [...new Set(blocked)].sort() };
  });
  expect(tries).toEqual({
    fetched: true,
    image: true,
    worker: "blocked",
    blocked: ["connect-src", "img-src"],
  });
});

test("the first load is small", () => {
  const dist = new URL("../../dist/", import.meta.url);
  const files = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const sizes = files.map((entry) => {
    const bytes = readFileSync(`${entry.parentPath}/${entry.name}`);
    return [entry.name, gzipSync(bytes, { level: 9 }).length] as const;
  });
  const sum = (isModule: boolean) =>
    sizes
      .filter(([name]) => name.startsWith("modules-") === isModule)
      .reduce((sum, [, size]) => sum + size, 0);
  // Both modules, in base64.
  expect(sum(true)).toBeGreaterThan(500_000);
  expect(sum(true)).toBeLessThan(1_450_000);
  expect(sum(false)).toBeLessThan(400_000);
});
