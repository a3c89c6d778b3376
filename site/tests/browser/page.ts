import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import {
  test as base,
  type ConsoleMessage,
  expect,
  type Locator,
  type Page,
} from "@playwright/test";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The page, with the actions of a person. */
export class Playground {
  constructor(readonly page: Page) {}

  async open(fragment = "") {
    await this.page.goto(`./${fragment}`);
    await this.ready();
  }

  /** Waits until the page shows its first answer. */
  async ready() {
    await this.page.locator("html[data-ready]").waitFor();
  }

  get verdict() {
    return this.page.locator("#answer-verdict");
  }

  /** The sentence of the survey. */
  get answer() {
    return this.page.locator("#survey-answer");
  }

  async type(editor: "object" | "settings", text: string) {
    await this.page.locator(`#${editor} .cm-content`).fill(text);
  }

  /** The whole text of an editor, also the part that is not visible. */
  async text(editor: "object" | "settings") {
    return this.page.locator(`#${editor} .cm-content`).innerText();
  }

  async choose(editor: "object" | "settings", label: string) {
    await this.page.locator(`#${editor}-example`).selectOption({ label });
  }

  /** Opens a text as a file. A long one is only surveyed. */
  async openFile(name: string, text: string) {
    const file = { name, mimeType: "application/json", buffer: Buffer.from(text) };
    await this.page.locator("#files").setInputFiles([file]);
  }

  /** The cell of a file's line with this label. */
  cell(file: string, label: string) {
    const head = this.page.getByRole("button", { name: file, exact: true });
    const row = this.page.locator("#files-table tr").filter({ has: head });
    return row.locator(`[data-label="${label}"]`);
  }

  /** Chooses a file in the table. */
  async chooseFile(file: string) {
    await this.page
      .locator("#files-table")
      .getByRole("button", { name: file, exact: true })
      .click();
  }

  /** The cells of a table's body, row by row. */
  async cells(table: string) {
    return this.page
      .locator(`${table} tbody tr`)
      .evaluateAll((rows) =>
        rows.map((row) => [...row.children].map((cell) => (cell as HTMLElement).innerText.trim())),
      );
  }

  /** The file that a button in `place` saves. */
  async saved(place: Locator, button: string) {
    const [download] = await Promise.all([
      this.page.waitForEvent("download"),
      place.getByRole("button", { name: button }).click(),
    ]);
    return {
      name: download.suggestedFilename(),
      text: readFileSync(await download.path(), "utf8"),
    };
  }

  /** The accessibility problems that axe finds, with all its rules or only with these. */
  async violations(rules?: string[]): Promise<string[]> {
    if (!(await this.page.evaluate(() => "axe" in window))) await this.page.evaluate(axe);
    return this.page.evaluate(async (rules) => {
      // With this type, axe describes only the violations completely.
      const options = {
        resultTypes: ["violations"],
        ...(rules === undefined ? {} : { runOnly: rules }),
      };
      const { violations } = await (window as any).axe.run(options);
      return violations.flatMap(
        (found: { id: string; nodes: { target: string[]; html: string }[] }) =>
          found.nodes.map((node) => `${found.id}: ${node.target} ${node.html.slice(0, 200)}`),
      );
    }, rules);
  }
}

type Fixtures = {
  /** The page with its first example. A test fails at any error in the page. */
  playground: Playground;
};

type WorkerFixtures = {
  /**
   * The one tab of all tests of a worker, in which each test loads the page again. In a tab of its
   * own, a test needs three times the CPU time, because it compiles the modules again.
   */
  tab: Page;
};

export const test = base.extend<Fixtures, WorkerFixtures>({
  tab: [
    async ({ browser }, use, { project }) => {
      const { baseURL, locale } = project.use;
      const tab = await browser.newPage({ baseURL: baseURL!, locale: locale! });
      await use(tab);
      await tab.close();
    },
    { scope: "worker" },
  ],
  playground: async ({ tab, viewport, colorScheme }, use) => {
    // What an earlier test may have changed.
    await tab.goto("about:blank");
    await tab.context().clearPermissions();
    await tab.setViewportSize(viewport!);
    await tab.emulateMedia({ colorScheme });
    const wrong: string[] = [];
    const onError = (error: Error) => wrong.push(error.message);
    const onMessage = (message: ConsoleMessage) => {
      if (["error", "warning"].includes(message.type())) wrong.push(message.text());
    };
    tab.on("pageerror", onError).on("console", onMessage);
    const playground = new Playground(tab);
    await playground.open();
    await use(playground);
    tab.off("pageerror", onError).off("console", onMessage);
    expect(wrong).toEqual([]);
  },
});

export { expect };

/** What somebody gives to `kubectl`: Jobs, each with a container that can start without the other. */
export function jobs(count: number, more: object[] = [], image = "registry.example.com/app") {
  const job = (number: number) => ({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: `report-${number}`, namespace: `team-${number % 3}` },
    spec: {
      template: {
        spec: {
          restartPolicy: "Never",
          containers: ["app", "side"].map((name) => ({
            name,
            image: `${image}-${name}:v${number}`,
            imagePullPolicy: "IfNotPresent",
          })),
        },
      },
    },
  });
  const items = [...Array.from({ length: count }, (_, number) => job(number)), ...more];
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

/** A Node with this version of Kubernetes. */
export const node = (version: string) => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "node-1" },
  status: { nodeInfo: { kubeletVersion: version } },
});
