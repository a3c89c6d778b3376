/** A whole cluster: the answer first, the incident, what a person chooses, and the command. */

import { expect, jobs, node, Playground, test } from "./page.ts";

const command = "#plan-command";

test("the answer names a preset, and its plan has a command that does just that", async ({
  playground,
}) => {
  const { page } = playground;
  await playground.type("object", jobs(6, [node("v1.36.1")]));
  await expect(playground.answer).toHaveText(
    "If one image is gone, for new Pods on an empty node, 6 of 6 workloads could do half of their work: take jobs.",
  );
  await expect(page.locator("#survey-unsaved")).toContainText("would be rejected meanwhile");
  // More waiting is what a check is for: it is no fault where half-done work went away.
  await expect(playground.cell("jobs", "half of the work")).toHaveClass(/good/);
  await expect(playground.cell("jobs", "waits")).not.toHaveClass(/bad/);
  await playground.answer.getByRole("button", { name: "jobs" }).click();
  await expect(page.locator("#plan-title")).toBeFocused();
  await expect(page.locator("#plan-needs")).toContainText("Kubernetes 1.35");
  await expect(page.locator(command)).toContainText("helm upgrade --install");
  await expect(page.locator(command)).toContainText("preset: jobs");
  // From a workload to its answer and its start.
  await page.locator("#plan-table").getByRole("button").first().click();
  await expect(page.locator("#answer-title")).toBeFocused();
  await expect(page.locator("#pod-verdict")).toContainText("allowed, repaired");
  await expect(page.locator("#drawings figcaption")).toHaveCount(2);
});

test("a choice of namespaces that is empty gives no command", async ({ playground }) => {
  const { page } = playground;
  await playground.type("object", jobs(6));
  await playground.chooseFile("jobs");
  await page.locator("#plan-where").selectOption("only");
  await expect(page.locator(command)).toHaveText("no namespace is chosen");
  await expect(page.locator("#copy-command")).toBeHidden();
  await page.locator("#plan-namespaces").selectOption(["team-1"]);
  await expect(page.locator(command)).toContainText("- team-1");
  await expect(playground.cell("jobs", "selects")).toHaveText("2");
});

test("no registry is chosen before, and those that a tenant can name are marked", async ({
  playground,
}) => {
  const { page } = playground;
  const more = JSON.parse(jobs(1, [], "169.254.169.254/x")).items;
  await playground.type("object", jobs(3, more));
  await playground.chooseFile("jobs");
  await expect(page.locator(command)).toContainText("preset: jobs");
  await expect(page.locator(command)).not.toContainText("registr");
  const registries = page.locator("#plan-registries label");
  await expect(registries).toHaveText([
    " registry.example.com (3 Pods)",
    " 169.254.169.254 (1 Pods; an address: whoever creates a Pod names it)",
  ]);
  await registries.first().getByRole("checkbox").check();
  await expect(page.locator(command)).toContainText("registry.example.com/*");
  await expect(page.locator(command)).not.toContainText("169.254");
});

test("nobody can choose from the answer about an earlier text", async ({ page }) => {
  // A clock stays installed, so this test needs a page of its own.
  await page.clock.install();
  const playground = new Playground(page);
  await playground.open();
  await page.clock.pauseAt(Date.now() + 3_600_000);
  await playground.type("object", jobs(6));
  await expect(page.locator("#survey")).toHaveJSProperty("inert", true);
  await page.clock.runFor(1000);
  await expect(playground.answer).toContainText("6 of 6");
  await expect(page.locator("#survey")).toHaveJSProperty("inert", false);
});

test("a preset that the Nodes can't run is not proposed, and says so", async ({ playground }) => {
  await playground.type("object", jobs(4, [node("v1.34.2")]));
  await expect(playground.answer).not.toContainText("jobs.");
  await expect(playground.page.locator("#files-table")).toContainText(
    "it needs Kubernetes 1.35 on every Node, and node-1 has 1.34",
  );
});

test("choosing a preset or a workload leaves the typed settings alone", async ({ playground }) => {
  await playground.type("settings", "mode: Warn\n");
  await playground.type("object", jobs(4));
  await playground.chooseFile("jobs");
  await playground.page.locator("#plan-table").getByRole("button").first().click();
  await expect(playground.page.locator("#answer-about")).toContainText("the settings of jobs");
  expect((await playground.text("settings")).trim()).toBe("mode: Warn");
});

test("wrong inputs are told, and no earlier answer stays", async ({ playground }) => {
  const { page } = playground;
  for (const [text, words] of [
    [
      "NAMESPACE   NAME    READY   STATUS\nci          job-1   1/1     Running\n",
      "a table for people",
    ],
    [jobs(4).slice(0, -200), "its end was cut off"],
    ["kind: Secret\napiVersion: v1\nmetadata: {name: a}\n", "no Pod and no workload"],
  ] as const) {
    await playground.type("object", jobs(2));
    await expect(playground.answer).toContainText("2 of 2");
    await playground.openFile("pods.txt", text);
    await expect(page.locator("#object-problem")).toContainText(words);
    await expect(page.locator("#object-problem")).toContainText("--all-namespaces");
    await expect(page.locator("#survey")).toBeHidden();
    await expect(page.locator("#answer")).toBeHidden();
  }
});

test("it can be stopped and go on, with focus and rows in place", async ({ playground }) => {
  const { page } = playground;
  await playground.openFile("cluster.json", jobs(800));
  const stop = page.getByRole("button", { name: "Stop" });
  await expect(page.locator("#survey-status")).toContainText("workloads done");
  const link = page.locator("#files-table").getByRole("button", { name: "air-gapped" });
  await link.focus();
  const status = await page.locator("#survey-status").textContent();
  await expect(page.locator("#survey-status")).not.toHaveText(status ?? "");
  await expect(link).toBeFocused();
  await stop.click();
  await expect(page.getByRole("button", { name: "Go on" })).toBeVisible();
  // What is said is about what is done: no preset is said to select nothing.
  await expect(playground.answer).toBeEmpty();
  await page.getByRole("button", { name: "Go on" }).click();
  await expect(playground.answer).toContainText("800 of 800");
  await expect(page.getByRole("button", { name: "Go on" })).toBeHidden();
});

test("what is saved names its incident", async ({ playground }) => {
  const { page } = playground;
  await playground.type("object", jobs(2));
  await page.locator("#incident-what").selectOption("registries");
  await expect(playground.answer).toContainText("all registries are down");
  const saved = await playground.saved(page.locator("#survey"), "Save CSV");
  expect(saved.name).toContain("all registries are down");
  expect(saved.text.split("\r\n")[1]).toContain("all registries are down");
  const json = await playground.saved(page.locator("#survey"), "Save JSON");
  expect(JSON.parse(json.text).incidentWords).toContain("all registries are down");
});
