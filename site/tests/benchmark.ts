/**
 * Opens each file of the arguments in a new tab of the built page, and prints the seconds until its survey is done, the
 * longest task of the main thread, and the largest memory (PSS) of the tab's processes. bench/survey.sh runs it.
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
    const state = { longest: 0 };
    Object.assign(window, { state });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries())
        state.longest = Math.max(state.longest, duration);
    }).observe({ type: "longtask" });
  });
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const tab = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
  let memory = 0;
  const sampler = setInterval(() => {
    const kilobytes = tab.map((id) =>
      Number(/^Pss:\s*(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, "utf8"))?.[1]),
    );
    memory = Math.max(memory, kilobytes.reduce((sum, one) => sum + one, 0) / 1024);
  }, 100);
  const start = performance.now();
  await page.locator("#files").setInputFiles(path);
  const stop = page.getByRole("button", { name: "Stop", exact: true });
  await stop.waitFor({ timeout: 0 });
  await stop.waitFor({ state: "hidden", timeout: 0 });
  const seconds = (performance.now() - start) / 1000;
  const longest = await page.evaluate(
    () => (window as unknown as { state: { longest: number } }).state.longest,
  );
  clearInterval(sampler);
  const answer = await page.locator("#survey-answer").innerText();
  console.log(
    `${(statSync(path).size / 1e6).toFixed(0)} MB: ${seconds.toFixed(1)} s, ` +
      `main thread at most ${longest.toFixed(0)} ms, ${memory.toFixed(0)} MB: ${answer}`,
  );
  await browser.close();
}
await server.close();
