/**
 * Opens each file of the arguments in a new tab of the built page, and prints the seconds until its survey is done, the
 * longest time for which the main thread did nothing else, and the largest memory of the tab's processes. bench/survey.sh
 * runs it.
 */

import { readFileSync, statSync } from "node:fs";
import { chromium } from "@playwright/test";
import { preview } from "vite";
import config from "../playwright.config.ts";

const server = await preview({ preview: { port: 0 } });
const address = server.resolvedUrls?.local[0] ?? "";
for (const path of process.argv.slice(1)) {
  const browser = await chromium.launch(config.use?.launchOptions);
  const page = await browser.newPage();
  await page.goto(address);
  await page.locator("html[data-ready]").waitFor();
  await page.evaluate(() => {
    const state = { last: performance.now(), longest: 0 };
    Object.assign(window, { state });
    setInterval(() => {
      const now = performance.now();
      state.longest = Math.max(state.longest, now - state.last);
      state.last = now;
    }, 5);
  });
  const start = performance.now();
  await page.locator("#files").setInputFiles(path);
  const stop = page.getByRole("button", { name: "Stop", exact: true });
  await stop.waitFor({ timeout: 0 });
  await stop.waitFor({ state: "hidden", timeout: 0 });
  const seconds = (performance.now() - start) / 1000;
  const longest = await page.evaluate(
    () => (window as unknown as { state: { longest: number } }).state.longest,
  );
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const memory = processInfo
    .filter(({ type }) => type === "renderer")
    .map(({ id }) => Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1]))
    .reduce((sum, kilobytes) => sum + kilobytes / 1024, 0);
  const answer = await page.locator("#survey-answer").innerText();
  console.log(
    `${(statSync(path).size / 1e6).toFixed(0)} MB: ${seconds.toFixed(1)} s, ` +
      `main thread at most ${longest.toFixed(0)} ms, ${memory.toFixed(0)} MB: ${answer}`,
  );
  await browser.close();
}
await server.close();
