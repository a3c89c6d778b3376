import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { parse } from "yaml";
import { guest } from "../guest.ts";
import { expect, Playground, podList, test } from "./page.ts";

const HANGS =
  "container-0 waits for ever (ImagePullBackOff), as my-app:v1.2.3 is missing. Meanwhile container-1, agent and checkout run. No init container shows the failure: the Pod hangs.";
// The numbers of agent-stack-k8s' checks, and their order, are random.
const IS_SEEN =
  /imagecheck-\d+ waits \(ImagePullBackOff\), as my-app:v1\.2\.3 is missing\. No app container starts: whoever watches the init containers sees the failure\./;

test("the first example is a Pod that begins its work and hangs, and its repair", async ({
  playground,
}) => {
  const { page } = playground;
  await expect(playground.verdict).toHaveText("allowed, repaired");
  await expect(playground.about).toContainText("Pod nightly-report, CREATE");
  await expect(page.locator("#object-example option:checked")).toHaveText("nightly-report");
  await expect(page.locator("#settings-example option:checked")).toHaveText("jobs");
  expect((await playground.text("object")).trimEnd().split("\n").length).toBeLessThanOrEqual(15);
  const [report, upload] = ["report:v7", "upload:v2"].map(
    (it) => `registry.example.com/team/${it}`,
  );
  expect(await playground.cells("#places .places")).toEqual([
    ["volume imagecheck-0new", report, "–", "Always", "missing-check"],
    ["volume imagecheck-1new", upload, "–", "IfNotPresent", "missing-check"],
    ["init migrate", report, "IfNotPresent *", "IfNotPresent", ""],
    ["report", report, "Always", "Always", "missing-check"],
    ["upload", upload, "IfNotPresent *", "IfNotPresent", "missing-check"],
  ]);
  await expect(page.locator("figcaption")).toContainText([
    "upload waits for ever (ImagePullBackOff), as registry.example.com/team/upload:v2 is missing. Meanwhile report runs.",
    "volume imagecheck-1 waits (ImagePullBackOff), as registry.example.com/team/upload:v2 is missing. No app container starts",
  ]);
});

test("the settings follow the object until the person chooses others", async ({ playground }) => {
  const { page } = playground;
  const settings = page.locator("#settings-example option:checked");
  await playground.choose("object", "weak-checks: Job");
  await expect(settings).toHaveText("agent-stack-k8s");
  await playground.choose("object", "nightly-report");
  await expect(settings).toHaveText("jobs");
  await playground.choose("settings", "audit");
  await playground.choose("object", "weak-checks: Pod");
  await expect(settings).toHaveText("audit");
});

test("the second example is a Pod of agent-stack-k8s with weak checks, and its repair", async ({
  playground,
}) => {
  const { page } = playground;
  const options = page.locator("#object-example option:not([value=''])");
  await expect(options.nth(1)).toHaveText("weak-checks: Pod");
  await playground.choose("object", "weak-checks: Pod");
  await expect(playground.verdict).toHaveText("allowed, repaired");
  await expect(playground.about).toContainText("Pod buildkite-");
  await expect(page.locator("#object-example option:checked")).toHaveText("weak-checks: Pod");
  await expect(page.locator("#settings-example option:checked")).toHaveText("agent-stack-k8s");
  const agent = "ghcr.io/buildkite/agent:3.136.2";
  const check = expect.stringMatching(/^init imagecheck-\d+$/);
  const cells = await playground.cells("#places .places");
  const [first, ...checks] = cells.splice(0, 3);
  expect(checks).toEqual(
    expect.arrayContaining([
      [check, "redis:7", "IfNotPresent", "Always", "weak-check"],
      [check, "my-app:v1.2.3", "IfNotPresent", "Always", "weak-check"],
    ]),
  );
  expect([first, ...cells]).toEqual([
    ["init copy-agent", agent, "Always", "Always", ""],
    ["init sidecar-0", "postgres:16", "IfNotPresent", "IfNotPresent", ""],
    ["container-0", "my-app:v1.2.3", "Always", "IfNotPresent", "pull-once"],
    ["container-1", "redis:7", "Always", "IfNotPresent", "pull-once"],
    ["agent", agent, "IfNotPresent", "IfNotPresent", ""],
    ["checkout", agent, "IfNotPresent", "IfNotPresent", ""],
  ]);
  // The Pod's image is missing from its registry, and the node has an old copy.
  await expect(playground.image("my-app:v1.2.3")).toHaveAttribute("aria-pressed", "true");
  await expect(page.locator("figcaption")).toContainText([HANGS, IS_SEEN]);
  // No controller makes a Pod from a Pod.
  await expect(page.locator("#pod")).toBeHidden();
  await page.locator("#annotations summary", { hasText: /^changes \(4\)/ }).click();
  await expect(page.getByRole("group", { name: "changes", exact: true })).toContainText(
    '"rule": "pull-once"',
  );
});

test("the steps of agent-stack-k8s without a check get one, as Pods and from their Jobs", async ({
  playground,
}) => {
  const { page } = playground;
  for (const [step, image] of [
    ["step-image", "node:22-alpine"],
    ["podspecpatch-image", "my-app:v1.2.4-fix"],
  ] as const) {
    for (const [kind, places] of [
      ["Pod", "#places"],
      ["Job", "#pod-places"],
    ] as const) {
      await playground.choose("object", `${step}: ${kind}`);
      await expect(playground.about, step).toContainText(`${kind} buildkite-`);
      await expect(page.locator(`${places} tr.new th`), step).toHaveText(/^init imagecheck-\d+/);
      await expect(page.locator("figcaption"), step).toContainText([
        `container-0 waits for ever (ImagePullBackOff), as ${image} is missing.`,
        new RegExp(`imagecheck-\\d+ waits \\(ImagePullBackOff\\), as ${image} is missing`),
      ]);
    }
  }
});

test("the Pod that is made from a Job is shown beside the Job", async ({ playground }) => {
  const { page } = playground;
  await playground.choose("object", "weak-checks: Job");
  await expect(playground.about).toContainText("Job buildkite-");
  await expect(playground.verdict).toHaveText("allowed, unchanged");
  await expect(page.locator("#places tr.found")).toHaveCount(2);
  await expect(page.locator("#pod-verdict .badge")).toHaveText("allowed, repaired");
  await expect(page.locator("#pod-verdict")).toContainText(/Pod buildkite-.*-\*, CREATE/);
  await expect(page.locator("#pod-note")).toContainText("The job-controller makes this Pod");
  await expect(page.locator("#pod-places tr.changed")).toHaveCount(4);
  // The drawing shows the start of the Pod.
  await expect(page.locator("figcaption")).toContainText([HANGS, IS_SEEN]);
  await expect(page.locator("#diff-section")).toBeHidden();
  await expect(page.locator("#pod-diff .cm-changedLine").first()).toBeVisible();
  await expect(page.locator("#annotations h3")).toContainText([/^Job /, /^Pod /]);
  // On a wide screen, the Job and the Pod are side by side.
  await page.setViewportSize({ width: 1800, height: 1000 });
  const box = async (selector: string) => (await page.locator(selector).boundingBox())?.y;
  expect(await box("#pod")).toBe(await box("section:has(> #verdict)"));

  // The Job is told that its Pod is rejected.
  await playground.type("settings", "mode: Reject\n");
  await expect(playground.verdict).toHaveText("allowed, with warnings");
  await expect(page.locator("#pod-verdict .badge")).toHaveText("rejected (422)");
  await expect(page.locator("#pod-diff-section")).toBeHidden();
  // No Pod is made from a Job that is rejected.
  await playground.type("settings", "mode: Reject\ntemplates: Reject\n");
  await expect(playground.verdict).toHaveText(/^rejected/);
  await expect(page.locator("#pod")).toBeHidden();
  await expect(page.locator("#drawings")).toContainText("It is rejected");
});

test("the Pod of every workload is shown, and can be opened alone", async ({ playground }) => {
  const { page } = playground;
  const pod = page.locator("#pod-verdict");
  for (const [example, name] of [
    ["cronjob-create", "Pod cj1-29919931-*, CREATE"],
    ["daemonset-create", "Pod node-agent-*, CREATE"],
    ["deployment-create", "Pod d1-6d4cf56db9-*, CREATE"],
    ["job-create", "Pod j1-*, CREATE"],
    ["job-create-by-cronjob", "Pod cj1-29919931-*, CREATE"],
    ["replicaset-create-by-deployment", "Pod d1-bb6fd895d-*, CREATE"],
    ["replicationcontroller-create", "Pod old-*, CREATE"],
    ["statefulset-create", "Pod db-0, CREATE"],
  ] as const) {
    await playground.choose("object", example);
    await expect(pod, example).toContainText(name);
    await expect(page.locator("#start"), example).toBeVisible();
  }
  await playground.choose("object", "deployment-create");
  await expect(page.locator("#pod-note")).toContainText("ReplicaSet d1-6d4cf56db9");
  await page.getByRole("button", { name: "Open this Pod alone" }).click();
  await expect(playground.about).toContainText("Pod d1-6d4cf56db9-*, CREATE");
  await expect(page.locator("#pod")).toBeHidden();
  expect(await playground.text("object")).toContain("replicaset-controller");
});

test("an image that only an app container uses can be marked as missing", async ({
  playground,
}) => {
  const { page } = playground;
  await playground.type("settings", "");
  await playground.type(
    "object",
    `apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  initContainers: [{name: imagecheck-0, image: "checked:1", imagePullPolicy: Always}]
  containers: [{name: app, image: "checked:1"}, {name: log, image: "log:7"}]
`,
  );
  await expect(playground.about).toContainText("Pod p, CREATE");
  await page.getByLabel("the node has copies").check();
  const end = page.locator("figcaption");
  const asItIs = (words: RegExp) =>
    expect(page.getByRole("img", { name: words }), String(words)).toBeVisible();
  await expect(end).toHaveText("✓Every container starts.");
  await expect(page.locator("#missing-images button")).toHaveText(["checked:1", "log:7"]);

  await playground.image("log:7").click();
  await expect(playground.image("log:7")).toBeFocused();
  await expect(end).toContainText("Missing, but the node has a copy: log:7.");
  await page.getByLabel("the node has copies").uncheck();
  await expect(end).toContainText("log waits for ever (ImagePullBackOff), as log:7 is missing.");
  await asItIs(/log \(IfNotPresent, image missing\) waits/);

  await playground.image("log:7").press("Space");
  await playground.image("checked:1").click();
  await expect(end).toContainText(
    "imagecheck-0 waits (ImagePullBackOff), as checked:1 is missing.",
  );
  await asItIs(
    /app \(IfNotPresent, image missing\) never starts; log \(IfNotPresent\) never starts/,
  );
  // A mark stays while the settings are edited.
  await playground.type("settings", "mode: Warn\n");
  await expect(playground.image("checked:1")).toHaveAttribute("aria-pressed", "true");
});

test("a small Pod shows which pull policies the API server fills in", async ({ playground }) => {
  const { page } = playground;
  await playground.chooseSmallExample();
  expect(await playground.cells("#places .places")).toEqual([
    ["init copy-agent", "ghcr.io/buildkite/agent:3.92.1", "IfNotPresent *", "IfNotPresent", ""],
    ["init imagecheck-0", "my-app:v1.2.3", "IfNotPresent *", "Always", "weak-check"],
    ["container-0", "my-app:v1.2.3", "Always", "IfNotPresent", "pull-once"],
    ["agent", "ghcr.io/buildkite/agent:3.92.1", "IfNotPresent *", "IfNotPresent", ""],
  ]);
  await expect(page.locator("#told")).toContainText(
    "imagecheck-0 now pulls my-app:v1.2.3 with Always",
  );
  await expect(page.locator("#places .note")).toHaveText(
    "* filled in by the API server, before any webhook sees the object",
  );
  // The change is marked in the object.
  await expect(page.locator("#diff .cm-deletedChunk").last()).toContainText(
    "imagePullPolicy: Always",
  );
  await expect(page.locator("#diff .cm-changedLine").last()).toContainText(
    "imagePullPolicy: IfNotPresent",
  );
});

test("the drawing shows the container that hangs, and the start after the repair", async ({
  playground,
}) => {
  const { page } = playground;
  await playground.chooseSmallExample();
  const ends = page.locator("figcaption");
  await expect(ends).toContainText(["Every container starts.", "Every container starts."]);

  await page.locator("#scenario").selectOption("away");
  const before =
    "container-0 waits for ever (ImagePullBackOff). Meanwhile agent runs. No init container shows the failure: the Pod hangs.";
  await expect(ends).toContainText([
    before,
    "imagecheck-0 waits (ImagePullBackOff). No app container starts",
  ]);
  await expect(
    page.getByRole("img", { name: /^Before: .*container-0 \(Always\) waits/ }),
  ).toBeVisible();
  await expect(
    page.getByRole("img", { name: /^After: .*container-0 \(IfNotPresent\) never starts/ }),
  ).toBeVisible();

  await page.locator("#scenario").selectOption("lost");
  await expect(ends).toContainText([before, "Every container starts."]);

  // An existing Pod has started.
  await playground.choose("object", "pod-update-image");
  await expect(playground.about).toContainText("UPDATE");
  await expect(page.locator("#start")).toBeHidden();
});

test("every example gives an answer", async ({ playground }) => {
  const { page } = playground;
  const labels = (id: string) =>
    page
      .locator(`#${id} optgroup option`)
      .evaluateAll((options) => options.map((o) => o.textContent ?? ""));
  const objects = await labels("object-example");
  expect(objects.length).toBeGreaterThan(20);
  const choose = async (editor: "object" | "settings", label: string) => {
    // Without the old answer, only the answer to this example can be found.
    await playground.verdict.evaluate((badge) => badge.remove());
    await playground.choose(editor, label);
    await playground.verdict.waitFor();
    await expect(playground.verdict, label).toHaveText(/^(?:allowed|rejected)/);
  };
  for (const label of objects) {
    await choose("object", label);
    await expect(playground.problems("object"), label).toHaveCount(0);
  }
  await choose("object", "ci-job");
  for (const label of await labels("settings-example")) {
    await choose("settings", label);
    await expect(playground.problems("settings"), label).toHaveCount(0);
  }
});

test("a YAML error is shown at its line, and disappears after the correction", async ({
  playground,
}) => {
  const { page } = playground;
  await playground.chooseSmallExample();
  await playground.type("object", "apiVersion: v1\nkind: Pod\nspec: [1\n");
  await expect(playground.verdict).toHaveText("not read");
  await expect(playground.problems("object").first()).toContainText(/^line \d /);
  await expect(page.locator("#object .cm-lint-marker-error")).toBeVisible();
  await expect(page.locator("#away")).toBeHidden();

  await playground.type("object", "a: 1\n");
  await expect(playground.problems("object")).toContainText("an object needs apiVersion and kind");
  await playground.type("object", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n");
  await expect(playground.about).toContainText("no rule of this policy names it");
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(playground.about).toContainText("paste an object");
  await expect(page.locator("#object .cm-placeholder")).toHaveText(
    "Paste a Pod here, or choose an example",
  );
  await expect(page.locator("#object .cm-content")).toBeFocused();
  await playground.type(
    "object",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: a}]}\n",
  );
  await expect(playground.verdict).toHaveText("allowed, unchanged");
  await expect(playground.problems("object")).toHaveCount(0);
});

test("settings errors are shown at their lines, with the sentences of this policy", async ({
  playground,
}) => {
  const { page } = playground;
  const problems = playground.problems("settings");
  await playground.type("settings", "mode: Fix\npullonce: true\n");
  await expect(playground.verdict).toHaveText("settings refused");
  await expect(problems).toHaveCount(1);
  await expect(problems).toContainText("line 2 pullonce:");

  await playground.type(
    "settings",
    "mode: Fix\nregistry:\n  lookup: Pin\nimageChecks:\n  template: {name: x}\n",
  );
  await expect(problems).toHaveCount(3);
  await expect(problems.nth(0)).toContainText("line 2 registry.images is required for lookups");
  await expect(problems.nth(1)).toContainText("line 5 imageChecks.template.command is required");
  await expect(problems.nth(2)).toContainText("line 5 imageChecks.template.name can't be set");
  await expect(page.locator("#settings .cm-lint-marker-error")).toHaveCount(2);
  await problems.nth(2).getByRole("button").click();
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+End");
  await page.keyboard.type("  template: {command: [/check]}");
  await expect(problems).toHaveCount(1);

  await playground.type("settings", "- Fix\n");
  await expect(problems).toHaveCount(1);
  await expect(problems).toContainText("the settings have to be an object");
});

test("settings are completed while they are typed", async ({ playground }) => {
  const { page } = playground;
  await playground.chooseSmallExample();
  await page.locator("#settings .cm-content").click();
  await page.keyboard.type("mo");
  const selected = page.locator(".cm-tooltip-autocomplete [aria-selected]");
  // The editor ignores an Enter that comes faster than a person can read the list.
  const enter = async () => {
    await page.waitForTimeout(200);
    await page.keyboard.press("Enter");
  };
  await expect(selected).toContainText("mode");
  await enter();
  await page.keyboard.press("Control+Space");
  await expect(page.getByRole("option", { name: "Reject" })).toBeVisible();
  await page.keyboard.type("Rej");
  await expect(selected).toContainText("Reject");
  await enter();
  await expect.poll(() => playground.text("settings")).toBe("mode: Reject");

  // A map continues in the next line, with more indentation.
  await page.keyboard.press("Enter");
  await page.keyboard.type("imagec");
  await expect(selected).toContainText("imageChecks");
  await enter();
  await page.keyboard.press("Control+Space");
  await page.keyboard.type("cov");
  await expect(selected).toContainText("coverage");
  await enter();
  await page.keyboard.type('"Off"');
  await expect
    .poll(() => playground.text("settings"))
    .toBe('mode: Reject\nimageChecks:\n  coverage: "Off"');
  await expect(playground.verdict).toHaveText("rejected (422)");
  await expect(page.locator("#told")).toContainText("set imagecheck-0 to Always");
  await expect(page.locator("#drawings")).toContainText("It is rejected");
});

test("the table of answers shows the effect of an outage", async ({ playground }) => {
  const { page } = playground;
  await playground.chooseSmallExample();
  await expect(page.locator("#registry")).toBeHidden();
  await playground.type(
    "settings",
    'registry:\n  lookup: Pin\n  images: ["docker.io/*"]\n  onNoAnswer: Reject\n',
  );
  const image = page.getByRole("group", { name: "docker.io/library/my-app:v1.2.3" });
  await expect(image).toBeVisible();
  await expect(playground.verdict).toHaveText("allowed, repaired");

  const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
  await image.getByLabel("digest", { exact: true }).fill("sha256:abc");
  await expect(image.getByLabel("digest", { exact: true })).toHaveJSProperty(
    "validity.valid",
    false,
  );
  await image.getByLabel("digest", { exact: true }).fill(digest);
  await expect(page.locator("#diff .cm-changedLine", { hasText: digest }).first()).toBeVisible();

  const answers: [string, RegExp, RegExp][] = [
    ["unreachable", /rejected/, /my-app:v1.2.3.* no usable answer/],
    ["not found", /rejected/, /my-app:v1.2.3 does not exist/],
    ["denied", /allowed/, /my-app:v1.2.3.* credentials/],
    ["rate limited", /rejected/, /my-app:v1.2.3.* rate/],
  ];
  for (const [answer, verdict, told] of answers) {
    await image.getByRole("combobox", { name: "answer" }).selectOption({ label: answer });
    await expect(page.locator("#told")).toContainText(told);
    await expect(playground.verdict).toHaveText(verdict);
  }
});

test("the answer for a digest is chosen in its own row", async ({ playground }) => {
  const { page } = playground;
  const image = `docker.io/library/a@sha256:${"ab".repeat(32)}`;
  await playground.type(
    "object",
    `apiVersion: v1\nkind: Pod\nmetadata: {name: pinned}\nspec:\n  containers: [{name: a, image: '${image}'}]\n`,
  );
  await playground.type("settings", 'registry:\n  lookup: Verify\n  images: ["*"]\n');
  const row = page.getByRole("group", { name: image });
  await expect(playground.verdict).toHaveText("allowed, unchanged");
  await expect(row.getByLabel("digest", { exact: true })).toBeDisabled();
  await row.getByRole("combobox", { name: "answer" }).selectOption({ label: "not found" });
  await expect(playground.verdict).toHaveText("rejected (422)");
});

test("checks that are image volumes are in the table and in the drawing", async ({
  playground,
}) => {
  const { page } = playground;
  // Work can be half done here. Without `restartPolicy: Never`, no check is needed.
  const containers = "[{name: a, image: nginx}, {name: b, image: 'redis:7'}]";
  await playground.type(
    "object",
    `apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {restartPolicy: Never, containers: ${containers}}\n`,
  );
  await playground.type(
    "settings",
    "imageChecks:\n  coverage: Fix\n  everyPod: true\n  as: ImageVolume\n",
  );
  await page.locator("#scenario").selectOption("away");
  await expect(page.locator("#places tbody tr").first()).toContainText("volume imagecheck-0");
  await expect(page.locator(".places tr.new")).toHaveCount(2);
  await expect(
    page.getByRole("img", { name: /^After: volume imagecheck-0 .* waits;.* never starts/ }),
  ).toBeVisible();
});

test("several documents become a plan, and a row shows the details", async ({ playground }) => {
  const { page } = playground;
  await playground.chooseSmallExample();
  await playground.choose("object", "several-documents");
  await expect(page.locator("#survey").getByRole("status")).toHaveText(
    "4 objects of 4 workloads, and 1 object that the policy is not asked about",
  );
  const rows = await playground.cells(".plan");
  // The Deployment and the CronJob are examined as the Pods that they make.
  expect(rows.map((row) => [...row.slice(0, 5), row[8]])).toEqual([
    ["Pod", "shop", "typo", "1", "rejected", "invalid-image"],
    ["Deployment", "shop", "web", "1", "changed", "pull-once, weak-check"],
    ["Pod", "shop", "migrate", "1", "warned", "missing-check, stale-check"],
    ["CronJob", "shop", "report", "1", "allowed", ""],
  ]);
  await page.getByRole("button", { name: "migrate" }).click();
  await expect(playground.about).toContainText("Pod migrate, CREATE");
  await expect(page.locator(".plan [aria-current]")).toContainText("migrate");
  await expect(page.locator("#close-plan")).toBeHidden();
  // With one object, the survey is gone.
  await playground.choose("object", "ci-job");
  await expect(page.locator("#survey, #plan")).toHaveCount(2);
  await expect(page.locator("#survey")).toBeHidden();
  await expect(page.locator("#plan")).toBeHidden();
});

test("a list of 1,000 Pods is planned, filtered, sorted and saved", async ({ playground }) => {
  const { page } = playground;
  await playground.chooseSmallExample();
  await page.locator("#files").setInputFiles([
    { name: "pods.json", mimeType: "application/json", buffer: Buffer.from(podList(1000)) },
    {
      name: "more.yaml",
      mimeType: "text/yaml",
      buffer: Buffer.from("kind: ConfigMap\napiVersion: v1\n---\na: [\n"),
    },
    { name: "photo.png", mimeType: "image/png", buffer: Buffer.from("no manifest") },
  ]);
  const survey = page.locator("#survey");
  const plan = page.locator("#plan");
  await expect(survey).toContainText(
    "1,000 objects of 1,000 workloads, and 1 object that the policy is not asked about",
  );
  await expect(survey.locator(".problems")).toContainText("more.yaml: line");
  const outcomes = plan.getByRole("group", { name: "Show only" }).getByRole("button");
  await expect(outcomes).toContainText(["100 rejected", "500 changed", "0 warned", "400 allowed"]);
  await expect(plan.locator("tbody tr")).toHaveCount(100);
  await plan.getByRole("button", { name: "Show 100 more" }).click();
  await expect(plan.locator("tbody tr")).toHaveCount(200);

  await plan.getByRole("button", { name: "100 rejected" }).click();
  await expect(plan.locator("tbody tr")).toHaveCount(100);
  await plan.getByRole("searchbox").fill("team-3 invalid");
  const shown = plan.locator("tbody tr");
  await expect(shown.first()).toContainText("team-3");
  await plan.locator("thead").getByRole("button", { name: "name", exact: true }).click();
  const names = async () => (await playground.cells(".plan")).map((row) => row[2] ?? "");
  expect(await names()).toEqual([...(await names())].sort());
  await plan.locator("thead").getByRole("button", { name: "name", exact: true }).click();
  expect(await names()).toEqual([...(await names())].sort().reverse());
  await expect(plan.locator("th[aria-sort=descending]")).toHaveText("name");

  const csv = await playground.saved(plan, "Save CSV");
  expect(csv.name).toBe("plan.csv");
  const lines = csv.text.trimEnd().split("\r\n");
  expect(lines[0]).toBe("kind,namespace,name,number,outcome,before,after,nodes,rules,reason");
  expect(lines.length - 1).toBe(await shown.count());
  const json = await playground.saved(plan, "Save JSON");
  expect(JSON.parse(json.text).map((row: { name: string }) => row.name)).toEqual(await names());

  // The link of a row contains the request of this row.
  const chosen = (await names())[0] ?? "";
  await plan.getByRole("button", { name: chosen, exact: true }).click();
  await expect(playground.about).toContainText(`Pod ${chosen}, CREATE`);
  await page.getByRole("button", { name: "Copy a link" }).click();
  await expect(page.locator("#away-note")).not.toBeEmpty();
  const link = page.url();

  await survey.getByRole("button", { name: "Close" }).click();
  await expect(plan).toBeHidden();
  await expect(playground.about).toContainText("Pod ci-job");
  await page.goto("about:blank");
  await page.goto(link);
  await expect(playground.about).toContainText(`Pod ${chosen}, CREATE`);
});

test("a pasted text that is too long for the editor becomes a plan", async ({ playground }) => {
  const { page } = playground;
  await playground.chooseSmallExample();
  await page.locator("#object .cm-content").evaluate((element, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    element.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
    );
  }, podList(2000));
  await expect(page.locator("#survey")).toContainText("2,000 objects");
  expect(await playground.text("object")).toContain("ci-job");
});

test("the files of a folder are planned, and a single small file goes into the editor", async ({
  playground,
}, info) => {
  const { page } = playground;
  const folder = info.outputPath("manifests");
  mkdirSync(`${folder}/deep`, { recursive: true });
  const pod = (name: string) =>
    `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: a, image: "a:1"}]}\n`;
  writeFileSync(`${folder}/one.yaml`, pod("one"));
  writeFileSync(`${folder}/deep/two.yml`, pod("two"));
  writeFileSync(`${folder}/readme.md`, "no manifest");
  await page.locator("#folder").setInputFiles(folder);
  await expect(page.locator("#survey")).toContainText("2 objects");

  await page.locator("#files").setInputFiles(`${folder}/one.yaml`);
  await expect.poll(() => playground.text("object")).toContain("name: one");
  await expect(page.locator("#plan")).toBeHidden();
});

test("a link restores all texts", async ({ playground }) => {
  const { page } = playground;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await playground.type(
    "object",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: ünï}\nspec: {containers: [{name: a, image: 'a:1'}]}\n",
  );
  await playground.type("settings", 'registry:\n  lookup: Verify\n  images: ["*"]\n');
  await page.getByRole("combobox", { name: "answer", exact: true }).selectOption("notFound");
  await expect(playground.verdict).toHaveText("rejected (422)");
  await playground.image("a:1").click();
  await page.locator("#scenario").selectOption("lost");
  await page.getByRole("button", { name: "Copy a link" }).click();
  await expect(page.locator("#away-note")).toContainText("Copied");
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(link).toBe(page.url());
  expect(new URL(link).hash).toMatch(/^#1=[\w-]+$/);

  await page.goto("about:blank");
  await page.goto(link);
  await playground.ready();
  await expect(playground.verdict).toHaveText("rejected (422)");
  await expect(playground.about).toContainText("Pod ünï");
  expect(await playground.text("settings")).toContain("lookup: Verify");
  await expect(page.getByRole("combobox", { name: "answer", exact: true })).toHaveValue("notFound");
  await expect(playground.image("a:1")).toHaveAttribute("aria-pressed", "true");
  await expect(page.locator("#scenario")).toHaveValue("lost");

  // A link that is opened in the same page works too, and a damaged link gives an error.
  await page.evaluate(() => {
    location.hash = "#1=AAAA";
  });
  await expect(page.locator("#module")).toContainText("the link is damaged");
});

test("the copied and saved texts are those of the page", async ({ playground }) => {
  const { page } = playground;
  await playground.chooseSmallExample();
  const policy = async () => parse((await page.locator("#policy").textContent()) ?? "");
  await expect(page.locator("#kwctl")).toContainText("kwctl run");
  expect((await policy()).spec).toMatchObject({ mutating: true, settings: {} });
  const { rules } = (await policy()).spec;
  expect(rules.flatMap((rule: { resources: string[] }) => rule.resources)).toEqual([
    "pods",
    "pods/ephemeralcontainers",
  ]);

  await playground.type(
    "settings",
    `mode: Reject\ntemplates: "Off"\nregistry: {lookup: Verify, images: ["*"]}\nimageChecks: {template: {command: ["it's"]}}\n`,
  );
  await expect(page.locator("#policy")).toContainText("mode: Reject");
  expect((await policy()).spec).toMatchObject({
    mutating: false,
    timeoutEvalSeconds: 10,
    settings: {
      mode: "Reject",
      templates: "Off",
      imageChecks: { template: { command: ["it's"] } },
    },
  });
  const line = (await page.locator("#kwctl").textContent()) ?? "";
  expect(line).toContain(`["it'\\''s"]`);
  expect(line).toContain("--request-path ci-job-request.json");

  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save the request" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("ci-job-request.json");
  const request = JSON.parse(readFileSync(await download.path(), "utf8"));
  expect(request.object.spec.initContainers[0].imagePullPolicy).toBe("IfNotPresent");
});

test("a module that never ends is interrupted, tried once more, and the page still works", async ({
  page,
}) => {
  const endless = Buffer.from(guest({ loop: true, answer: '{"valid":true}' })).toString("base64");
  await page.route(/policy-module/, async (route) => {
    const response = await route.fetch();
    // The same script with another module.
    const body = (await response.text()).replace(/(["'`])[A-Za-z0-9+/=]{1000,}\1/, `"${endless}"`);
    expect(body.length).toBeLessThan(2000);
    await route.fulfill({ response, body });
  });
  const playground = new Playground(page);
  await page.goto("./");
  for (const round of ["first", "second"]) {
    await expect(playground.about, round).toContainText("the page tries once more");
    await expect(playground.about, round).toContainText("twice");
    await expect(playground.verdict, round).toHaveText("interrupted");
    await expect(playground.problems("settings"), round).toHaveCount(0);
    await playground.type("object", "");
    await expect(playground.verdict).toHaveText("nothing");
    await playground.choose("object", "bare-pod");
  }
});
