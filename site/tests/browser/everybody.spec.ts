/**
 * Proves that everybody can use the page: with a screen reader, on a small screen, in the dark, with
 * the keyboard, without a connection, and without a long wait for the first load.
 */

import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "./page.ts";

test.describe("axe finds no accessibility problem", () => {
  for (const width of [1280, 360]) {
    test(`${width} wide, light and dark`, async ({ playground }) => {
      const { page } = playground;
      await page.setViewportSize({ width, height: 900 });
      const states: [string, () => Promise<void>][] = [
        ["repaired", async () => expect(playground.verdict).toHaveText("allowed, repaired")],
        [
          "opened",
          async () => {
            for (const summary of await page.locator("summary:visible").all())
              await summary.click();
          },
        ],
        [
          "a Job and its Pod",
          async () => {
            await playground.choose("object", "weak-checks: Job");
            await expect(page.locator("#pod-verdict .badge")).toHaveText("allowed, repaired");
          },
        ],
        [
          "looked up",
          async () => {
            await playground.choose("settings", "pin-digests");
            await expect(page.locator("#registry")).toBeVisible();
          },
        ],
        [
          "rejected",
          async () => {
            await playground.choose("object", "weak-checks: Pod");
            await playground.type("settings", "mode: Reject\n");
            await expect(playground.verdict).toHaveText(/rejected/);
          },
        ],
        [
          "a plan",
          async () => {
            await playground.choose("object", "several-documents");
            await expect(page.locator(".plan [aria-current]")).toBeVisible();
          },
        ],
        [
          "files to install",
          async () => {
            await page.getByLabel("Install air-gapped").check();
            await page.getByText("What this table assumes").click();
            await expect(page.locator("#install pre")).toContainText("helm upgrade");
          },
        ],
        [
          "refused",
          async () => {
            await playground.type("settings", "mode: fix\n");
            await expect(playground.problems("settings")).toHaveCount(1);
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
  const reached = new Set<string>();
  const focused = () =>
    page.evaluate(() => {
      const element = document.activeElement as HTMLElement | null;
      return (
        element?.id ||
        element?.closest("[id]")?.id ||
        element?.textContent?.trim().slice(0, 20) ||
        "body"
      );
    });
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(
    "Skip to the outcome",
  );
  await playground.chooseSmallExample();
  for (let press = 0; press < 60; press++) {
    await page.keyboard.press("Tab");
    reached.add(await focused());
  }
  for (const id of [
    "object-example",
    "object",
    "open-files",
    "settings-example",
    "settings",
    "scenario",
    "copies",
    "missing-images",
    "copy-object",
    "annotations",
    "copy-link",
    "save-request",
    "kwctl",
    "copy-kwctl",
  ]) {
    expect([...reached], id).toContain(id);
  }
  // Tab leaves the editor, so the focus is not trapped in it.
  await page.locator("#settings .cm-content").focus();
  await page.keyboard.type("mode: Warn");
  await page.keyboard.press("Tab");
  expect(await focused()).not.toBe("settings");
  await expect(playground.verdict).toHaveText("allowed, with warnings");
});

test("the page makes no request after it has loaded", async ({ playground }) => {
  const { page } = playground;
  const context = page.context();
  const requests: string[] = [];
  context.on("request", (request) => {
    // URLs of blobs and data are made in the page and need no network.
    if (!/^(?:blob|data):/.test(request.url())) requests.push(request.url());
  });
  await playground.choose("settings", "pin-digests");
  await expect(page.locator("#registry")).toBeVisible();
  await playground.choose("object", "several-documents");
  await expect(page.locator(".plan [aria-current]")).toBeVisible();
  await page.getByRole("button", { name: "Copy a link" }).click();
  await expect(page.locator("#away-note")).not.toBeEmpty();
  expect(requests).toEqual([]);
  expect(await context.cookies()).toEqual([]);
  expect(await page.evaluate(() => [localStorage.length, sessionStorage.length])).toEqual([0, 0]);
});

test("the Content-Security-Policy of the page forbids every connection", async ({ page }) => {
  await page.goto("./");
  await page.locator("html[data-ready]").waitFor();
  const tries = await page.evaluate(async () => {
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
    const socket = await failed(
      new Promise((resolve, reject) => {
        const opened = new WebSocket(location.href.replace("http", "ws"));
        opened.onopen = resolve;
        opened.onerror = reject;
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
    return { fetched, image, socket, worker, blocked: [...new Set(blocked)].sort() };
  });
  expect(tries).toEqual({
    fetched: true,
    image: true,
    socket: true,
    worker: "blocked",
    blocked: ["connect-src", "img-src"],
  });
});

test("the first load without the module is small", async ({ playground }) => {
  const dist = new URL("../../dist/", import.meta.url);
  const files = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const size = (name: RegExp, not?: RegExp) =>
    files
      .map((entry) => `${entry.parentPath}/${entry.name}`)
      .filter((path) => name.test(path) && !not?.test(path))
      .reduce((sum, path) => sum + gzipSync(readFileSync(path), { level: 9 }).length, 0);
  expect(size(/policy-module/)).toBeGreaterThan(0);
  expect(size(/./, /policy-module/)).toBeLessThan(500_000);
  // The module in the page has the same bytes as the built one.
  const { createHash } = await import("node:crypto");
  const built = readFileSync(
    process.env["POLICY_MODULE"] ?? new URL("../../../annotated-policy.wasm", import.meta.url),
  );
  const digest = createHash("sha256").update(built).digest("hex");
  await expect(playground.page.locator("#module")).toContainText(`sha256:${digest}`);
});
