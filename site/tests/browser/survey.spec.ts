/** The files for a cluster: with the objects of `test_data`, and with 5,000 Pods. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Locator, TestInfo } from "@playwright/test";
import { parse } from "yaml";
import { bigCluster, testData } from "../cluster.ts";
import { expect, podList, type Playground, test } from "./page.ts";

/** The pairs of examples that must not stand together. */
const pairs = new URL("../../../examples/pairs.yaml", import.meta.url);
const PAIRS: { a: string; b: string }[] = existsSync(pairs)
  ? parse(readFileSync(pairs, "utf8"))
  : [];

/** Opens a list of objects, as a person opens the output of kubectl. */
async function open({ page }: Playground, info: TestInfo, text: string) {
  // A path needs no copy of the text on its way to the browser.
  const path = info.outputPath("cluster.json");
  writeFileSync(path, text);
  await page.locator("#files").setInputFiles(path);
  return page.locator("#survey");
}

const done = (survey: Locator) => expect(survey.getByRole("progressbar")).toBeHidden();

/** The numbers of the files: selects, changes, warns, rejects, waits, half. */
async function numbers(survey: Locator, file: string) {
  const row = survey.locator(".files tr", {
    has: survey.page().getByRole("button", { name: file, exact: true }),
  });
  return row.locator(".number").allInnerTexts();
}

const list = (...items: object[]) => JSON.stringify({ apiVersion: "v1", kind: "List", items });

/** A cluster: kube-system, a mesh, CI jobs, and Nodes of which one has an image. */
const CLUSTER = list(
  ...testData(),
  {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "kube-proxy", namespace: "kube-system" },
    spec: {
      template: {
        spec: { containers: [{ name: "kube-proxy", image: "registry.k8s.io/kube-proxy:v1.36.2" }] },
      },
    },
  },
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "ask", labels: { team: "ci" } } },
  {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1" },
    status: { images: [{ names: ["registry.k8s.io/kube-proxy:v1.36.2"] }] },
  },
  { apiVersion: "v1", kind: "Node", metadata: { name: "n2" } },
  { apiVersion: "v1", kind: "Service", metadata: { name: "s" } },
);

test("a cluster has a row for each file, and nothing of kube-system is selected", async ({
  playground,
}, info) => {
  const { page } = playground;
  const survey = await open(playground, info, CLUSTER);
  await done(survey);
  await expect(survey.getByRole("status")).toContainText(
    "1 object that the policy is not asked about",
  );
  await expect(survey).toContainText("Of your 2 Nodes the images are known");
  await expect(survey).toContainText("The API server runs it, without this policy");
  await expect(survey).toContainText("It selects nothing at admission. It reports");

  // Files that select nothing are for others.
  const others = survey.locator(".others");
  await expect(others).toContainText("they select none of these workloads");
  await expect(others).toContainText("without-kubewarden");

  await survey.getByRole("button", { name: "agent-stack-k8s", exact: true }).click();
  await expect(page.locator("#plan-title")).toHaveText("The plan: agent-stack-k8s");
  await expect.poll(() => playground.text("settings")).toContain("copy-agent");
  const plan = page.locator("#plan");
  await expect(plan.locator("tbody")).toContainText("buildkite-");
  await expect(plan.locator("tbody")).not.toContainText("nightly");
  await expect(plan.locator("[data-column=nodes]")).toHaveText("nodes with its images");

  await survey.getByRole("button", { name: "air-gapped" }).click();
  await expect(page.locator("#plan-title")).toHaveText("The plan: air-gapped");
  await plan.getByRole("searchbox").fill("kube-system");
  await expect(plan.locator("tbody tr")).toHaveCount(0);
  await survey.getByRole("button", { name: "your settings" }).click();
  await expect(plan.locator("tbody tr")).toHaveCount(1);
  await expect(plan.locator("tbody tr")).toContainText("1 of 2");
});

const WEAK = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "weak", namespace: "n", labels: { "buildkite.com/job-uuid": "x" } },
  spec: {
    restartPolicy: "Never",
    initContainers: [
      {
        name: "imagecheck-0",
        image: "ghcr.io/x/app:1",
        imagePullPolicy: "IfNotPresent",
        command: ["/w/true"],
        volumeMounts: [{ name: "w", mountPath: "/w" }],
      },
    ],
    containers: [
      { name: "app", image: "ghcr.io/x/app:1", imagePullPolicy: "Always" },
      { name: "db", image: "docker.io/library/db:1", imagePullPolicy: "IfNotPresent" },
    ],
    volumes: [{ name: "w", emptyDir: {} }],
  },
};
const TWO = list(WEAK, { ...WEAK, kind: "Pod", metadata: { name: "other", namespace: "m" } });

test("an incident is chosen, and a cell opens the drawing of it", async ({ playground }, info) => {
  const { page } = playground;
  const survey = await open(playground, info, TWO);
  await done(survey);
  // At first, that image of each Pod is gone that harms it most.
  await survey.getByRole("button", { name: "agent-stack-k8s", exact: true }).click();
  await done(survey);
  await page.locator("#plan").getByRole("button", { name: "half of it runs" }).click();
  await expect(playground.image("ghcr.io/x/app:1")).toHaveAttribute("aria-pressed", "true");
  await expect(playground.image("docker.io/library/db:1")).toHaveAttribute("aria-pressed", "false");
  await survey.getByLabel("Incident").selectOption("registries");
  await done(survey);
  await survey.getByRole("button", { name: "agent-stack-k8s", exact: true }).click();
  await expect
    .poll(() => numbers(survey, "agent-stack-k8s"))
    .toEqual(["1", "1", "0", "0", "0 → 1", "1 → 0"]);
  await expect(survey.locator(".without")).toHaveText(
    "Without any file, of 2 workloads 2 would do half of the work and 0 would wait.",
  );
  const plan = page.locator("#plan");
  await done(survey);
  await plan.getByRole("button", { name: "waits" }).click();
  const ends = page.locator("figcaption");
  await expect(ends).toContainText([
    "app waits for ever (ImagePullBackOff). Meanwhile db runs.",
    "imagecheck-0 waits (ImagePullBackOff).",
  ]);
  await expect(page.locator("#scenario")).toHaveValue("away");

  // The other registry is away.
  await survey.getByLabel("Incident").selectOption("registry");
  await survey.getByLabel("Registry or image").selectOption("docker.io");
  await expect
    .poll(() => numbers(survey, "agent-stack-k8s"))
    .toEqual(["1", "1", "0", "0", "0", "0"]);
  await survey.getByLabel("The Pod was").selectOption("empty");
  await expect
    .poll(() => numbers(survey, "agent-stack-k8s"))
    .toEqual(["1", "1", "0", "0", "0 → 1", "1 → 0"]);
  await done(survey);
  await plan.getByRole("button", { name: "half of it runs" }).click();
  await expect(page.locator("#scenario")).toHaveValue("docker.io");
  await expect(page.getByLabel("the node has copies")).not.toBeChecked();
  await expect(ends.first()).toContainText(
    "db waits for ever (ImagePullBackOff). Meanwhile app runs.",
  );

  await survey.getByLabel("Incident").selectOption("image");
  await survey.getByLabel("Registry or image").selectOption("ghcr.io/x/app:1");
  await survey.getByLabel("The Pod was").selectOption("meanwhile");
  await expect
    .poll(() => numbers(survey, "agent-stack-k8s"))
    .toEqual(["1", "1", "0", "0", "0 → 1", "1 → 0"]);
  await done(survey);
  await plan.getByRole("button", { name: "waits" }).click();
  await expect(playground.image("ghcr.io/x/app:1")).toHaveAttribute("aria-pressed", "true");
});

test("lookups fail in an incident, and the drawing says what the table says", async ({
  playground,
}, info) => {
  const { page } = playground;
  const survey = await open(playground, info, TWO);
  await done(survey);
  await survey.getByLabel("Incident").selectOption("registries");
  await survey.getByRole("button", { name: "pin-digests" }).click();
  // The tags stay, and the nodes have the images under their digests alone.
  await expect
    .poll(() => numbers(survey, "pin-digests"))
    .toEqual(["2", "2", "0", "0", "0 → 2", "2 → 0"]);
  await done(survey);
  await page.locator("#plan").getByRole("button", { name: "waits" }).first().click();
  await expect(page.locator("figcaption").last()).toContainText("imagecheck-0 waits");
  await expect(page.getByRole("combobox", { name: "answer", exact: true }).first()).toHaveValue(
    "unreachable",
  );
  await survey.getByLabel("The Pod was").selectOption("reboot");
  await expect
    .poll(() => numbers(survey, "pin-digests"))
    .toEqual(["2", "2", "0", "0", "0", "2 → 0"]);
  await done(survey);
  await page.locator("#plan").getByRole("button", { name: "starts", exact: true }).first().click();
  await expect(page.locator("figcaption").last()).toContainText("Every container starts");
});

test("ticked files become commands with values, for chosen namespaces", async ({
  playground,
}, info) => {
  const { page } = playground;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const survey = await open(playground, info, TWO);
  await done(survey);
  const install = page.locator("#install");
  await expect(install).toBeHidden();
  await survey.getByLabel("Install pin-digests").check();
  await expect(install).toBeVisible();
  await install.getByRole("button", { name: "m", exact: true }).click();
  // The numbers are of the other namespace.
  await expect.poll(() => numbers(survey, "pin-digests")).toEqual(["1", "1", "0", "0", "0", "1"]);
  await install.getByRole("button", { name: "Copy the commands" }).click();
  await expect(install.getByRole("status")).toHaveText("Copied");
  const commands = await page.evaluate(() => navigator.clipboard.readText());
  const [, values = ""] =
    /helm upgrade --install consistent-pull-policy-pin-digests[\s\S]*<<'VALUES'\n([\s\S]*)VALUES\n/.exec(
      commands,
    ) ?? [];
  expect(parse(values)).toEqual({
    example: "pin-digests",
    mode: "monitor",
    namespaces: { exclude: ["m"] },
    settings: { registry: { images: ["docker.io/*", "ghcr.io/*"] } },
  });
  await install.getByLabel("mode").selectOption("protect");
  await install.getByLabel("where").selectOption("only");
  await expect(install.locator("pre")).toContainText("mode: protect");
  await expect(install.locator("pre")).toContainText("only:");

  const csv = await playground.saved(survey, "Save CSV");
  expect(csv.name).toBe("files.csv");
  expect(csv.text).toMatch(/^file,selects,changes,/);
  const json = await playground.saved(survey, "Save JSON");
  expect(JSON.parse(json.text)).toContainEqual(
    expect.objectContaining({ name: "pin-digests", selects: 1 }),
  );

  // A file that must not stand beside a ticked one can't be ticked.
  for (const { a, b } of PAIRS) {
    await survey.getByLabel("Install pin-digests").uncheck();
    await survey.getByLabel(`Install ${a}`, { exact: true }).check();
    await expect(survey.getByLabel(`Install ${b}`, { exact: true })).toBeDisabled();
    await expect(survey.locator(".files")).toContainText(`Not beside ${a}`);
    break;
  }
});

for (const withJobs of [false, true]) {
  test(`5,000 Pods ${withJobs ? "and their Jobs" : "alone"} are grouped in the worker, and the page stays usable`, async ({
    playground,
  }, info) => {
    const { page } = playground;
    const start = Date.now();
    const survey = await open(playground, info, bigCluster({ withJobs }));
    await expect(survey.getByRole("progressbar")).toBeVisible();
    await survey.getByLabel("The Pod was").focus();
    await done(survey);
    console.log(`5,000 Pods${withJobs ? " and 2,000 Jobs" : ""}: ${(Date.now() - start) / 1000} s`);
    await expect(survey.getByRole("status")).toHaveText("5,000 objects of 305 workloads");
    expect((await numbers(survey, "agent-stack-k8s")).slice(0, 2)).toEqual(["5", "5"]);
    const filter = page.locator("#plan").getByRole("searchbox");
    await filter.fill("ci-*");
    await expect(page.locator("#plan tbody tr")).toHaveCount(5);
    await expect(page.locator("#plan tbody tr").first()).toContainText("400");
  });
}

test("a survey can be stopped", async ({ playground }, info) => {
  await playground.chooseSmallExample();
  const survey = await open(playground, info, podList(40_000));
  await expect(survey.getByRole("progressbar")).toBeVisible();
  await survey.getByRole("button", { name: "Stop" }).click();
  await expect(survey).toContainText("Stopped: this is not all");
  await done(survey);
  // The page still works.
  await survey.getByRole("button", { name: "Close" }).click();
  await expect(playground.about).toContainText("Pod ci-job");
});
