import { execSync } from "node:child_process";
import { defineConfig } from "@playwright/test";

const names = "chromium chromium-browser google-chrome google-chrome-stable";
/** The installed browser: $CHROMIUM, else Debian's Chromium, else a browser that is based on it. */
const browser =
  process.env["CHROMIUM"] ??
  execSync(`which ${names} || true`, { encoding: "utf8" }).split("\n")[0];
if (!browser)
  throw new Error("there is no Chromium on the PATH: install one, or name it in $CHROMIUM");

const port = 4174;

export default defineConfig({
  testDir: "tests/browser",
  outputDir: "test-results",
  forbidOnly: true,
  retries: 0,
  workers: 2,
  // Each test goes to the next free worker, so that both workers have something to do to the end.
  fullyParallel: true,
  reporter: [["list"]],
  // The limits end a test that hangs, and no test that a busy machine slows down.
  timeout: 900_000,
  expect: { timeout: 300_000 },
  use: {
    baseURL: `http://localhost:${port}/`,
    viewport: { width: 1280, height: 900 },
    locale: "en",
    launchOptions: {
      executablePath: browser,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
  webServer: {
    command: `vite preview --port ${port}`,
    port,
    timeout: 300_000,
    reuseExistingServer: false,
  },
});
