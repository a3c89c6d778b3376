import { describe, expect, test } from "vitest";
import { ending, namesOf, type Scenario, simulate } from "../../src/start.ts";

const container = (name: string, image: string, imagePullPolicy: string, more = {}) => ({
  name,
  image,
  imagePullPolicy,
  ...more,
});
const pod = (init: string, check: string, app: string, image: string) => ({
  initContainers: [container("imagecheck-0", image, check)],
  containers: [container("app", init, app), container("other", "other:1", "IfNotPresent")],
});
const fates = (spec: Parameters<typeof simulate>[0], scenario: Scenario) =>
  simulate(spec, scenario)
    .map((step) => `${step.name} ${step.fate}`)
    .join(", ");

const none = { missing: new Set<string>(), invalid: new Set(["App:v1"]) };
const away: Scenario = { registry: "away", copies: true, ...none };
const lost: Scenario = { registry: "lost", copies: false, ...none };
const up: Scenario = { registry: "up", copies: false, ...none };
/** The registry answers, but no longer has these images. */
const without = (copies: boolean, ...images: string[]): Scenario => ({
  ...up,
  copies,
  missing: new Set(images),
});

// The cases that were observed on kubelet 1.36.2.
test.each([
  [
    "the bug",
    pod("app:v1", "IfNotPresent", "Always", "app:v1"),
    away,
    "imagecheck-0 node, app waits, other node",
  ],
  [
    "repaired",
    pod("app:v1", "Always", "IfNotPresent", "app:v1"),
    away,
    "imagecheck-0 waits, app never, other never",
  ],
  [
    "repaired, lost later",
    pod("app:v1", "Always", "IfNotPresent", "app:v1"),
    lost,
    "imagecheck-0 registry, app node, other waits",
  ],
  [
    "another spelling",
    pod("app:v1", "Always", "IfNotPresent", "docker.io/library/app:v1"),
    lost,
    "imagecheck-0 registry, app waits, other waits",
  ],
  [
    "latest is the tag of none",
    pod("app", "Always", "IfNotPresent", "app:latest"),
    lost,
    "imagecheck-0 registry, app node, other waits",
  ],
  [
    "Never, not on the node",
    pod("app:v1", "Never", "Never", "app:v1"),
    up,
    "imagecheck-0 waits, app never, other never",
  ],
  [
    "Never, on the node",
    pod("app:v1", "Never", "Never", "app:v1"),
    away,
    "imagecheck-0 node, app node, other node",
  ],
  [
    "every pull succeeds",
    pod("app:v1", "Always", "Always", "app:v1"),
    up,
    "imagecheck-0 registry, app registry, other registry",
  ],
])("%s", (_, spec, scenario, expected) => {
  expect(fates(spec, scenario)).toBe(expected);
});

const volume = (pullPolicy: string) => ({
  volumes: [{ name: "imagecheck-1", image: { reference: "app:v1", pullPolicy } }],
  initContainers: [
    container("copy", "tools:1", "IfNotPresent", {
      volumeMounts: [{ name: "imagecheck-1", mountPath: "/.imagecheck/imagecheck-1" }],
    }),
  ],
  containers: [container("app", "app:v1", "IfNotPresent")],
});

test("a volume is pulled before the first container that mounts it", () => {
  expect(fates(volume("Always"), away)).toBe("imagecheck-1 waits, copy never, app never");
  expect(fates(volume("IfNotPresent"), away)).toBe("imagecheck-1 node, copy node, app node");
});

test("a volume that waits keeps every container that mounts it", () => {
  const volumeMounts = [{ name: "imagecheck-0", mountPath: "/.imagecheck/imagecheck-0" }];
  const spec = {
    volumes: [{ name: "imagecheck-0", image: { reference: "app:v1", pullPolicy: "Always" } }],
    containers: [
      container("app", "app:v1", "IfNotPresent", { volumeMounts }),
      container("other", "app:v1", "IfNotPresent", { volumeMounts }),
      container("third", "third:v1", "IfNotPresent"),
    ],
  };
  expect(fates(spec, away)).toBe(
    "imagecheck-0 waits, app never, imagecheck-0 waits, other never, third node",
  );
  expect(fates(spec, { ...up, copies: true })).toBe(
    "imagecheck-0 registry, app node, imagecheck-0 registry, other node, third node",
  );
  expect(ending(simulate(spec, away), away).sentence).toContain(
    "volume imagecheck-0 waits for ever",
  );
});

test("a volume is pulled for each container that mounts it", () => {
  const volumeMounts = ["/a", "/b"].map((mountPath) => ({ name: "imagecheck-0", mountPath }));
  const spec = {
    volumes: [{ name: "imagecheck-0", image: { reference: "app:v1", pullPolicy: "Always" } }],
    initContainers: [container("copy", "tools:1", "IfNotPresent", { volumeMounts })],
    containers: [
      container("app", "app:v1", "IfNotPresent", { volumeMounts }),
      container("other", "other:1", "IfNotPresent"),
    ],
  };
  expect(fates(spec, { ...lost, copies: true })).toBe(
    "imagecheck-0 registry, copy node, imagecheck-0 waits, app never, other node",
  );
});

test("a container tries again after another container has pulled its image", () => {
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  const spec = {
    volumes: [{ name: "data", image: { reference: "data:1", pullPolicy: "Never" } }],
    containers: [
      container("app", "app:1", "Always", { volumeMounts }),
      container("never", "app:2", "Never"),
      container("other", "app:2", "Always"),
      container("third", "data:1", "IfNotPresent"),
    ],
  };
  expect(fates(spec, up)).toBe(
    "data node, app registry, never node, other registry, third registry",
  );
});

test("an init container starts alone: no later container brings its image", () => {
  const spec = {
    initContainers: [
      container("first", "app:1", "Never", { restartPolicy: "Always" }),
      container("second", "app:1", "Always"),
    ],
    containers: [container("app", "app:1", "Always")],
  };
  expect(fates(spec, up)).toBe("first waits, second never, app never");
  expect(fates(spec, { ...away, copies: true })).toBe("first node, second waits, app never");
});

describe("an image that is missing from its registry", () => {
  const spec = pod("app:v1", "IfNotPresent", "Always", "app:v1");

  test("is missing before and after it is pinned, in this spelling", () => {
    const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
    for (const [marked, written, fate] of [
      ["app:v1", "app:v1", "waits"],
      ["app:v1", `app:v1@${digest}`, "waits"],
      ["app:latest", "app", "waits"],
      [`app@${digest}`, `app@${digest}`, "waits"],
      ["app:v1", "docker.io/library/app:v1", "registry"],
      ["app:v2", "app:v1", "registry"],
    ] as const) {
      const only = { containers: [container("app", written, "Always")] };
      expect(fates(only, without(true, marked)), written).toBe(`app ${fate}`);
    }
  });

  test("lets a weak check pass with the node's copy", () => {
    expect(fates(spec, without(true, "app:v1"))).toBe("imagecheck-0 node, app waits, other node");
    expect(fates(spec, without(false, "app:v1"))).toBe(
      "imagecheck-0 waits, app never, other never",
    );
  });

  test("can be the image of an app container alone", () => {
    expect(fates(spec, without(false, "other:1"))).toBe(
      "imagecheck-0 registry, app registry, other waits",
    );
    expect(fates(spec, without(true, "other:1"))).toBe(
      "imagecheck-0 node, app registry, other node",
    );
  });

  test("can be the image of a volume", () => {
    expect(fates(volume("Always"), without(true, "app:v1"))).toBe(
      "imagecheck-1 waits, copy never, app never",
    );
  });
});

test("each image of some Pods is listed once, unless it can't be parsed", () => {
  const pinned = { containers: [container("a", `app:v1@sha256:${"0".repeat(64)}`, "Always")] };
  const other = { containers: [container("a", "docker.io/library/app:v1", "Always")] };
  const specs = [undefined, volume("Always"), pinned, other, pod("App:v1", "", "", "tools")];
  expect(namesOf(specs, none.invalid)).toEqual([
    "app:v1",
    "tools:1",
    "docker.io/library/app:v1",
    "tools:latest",
    "other:1",
  ]);
});

describe("the sentence about the end of a start", () => {
  const checked = (check: string, app: string) => pod("app:v1", check, app, "app:v1");
  const { initContainers, ...bare } = volume("Always");
  const carried = { ...bare, containers: [{ ...initContainers[0], name: "app" }] };
  test.each<[string, Parameters<typeof simulate>[0], Scenario, string]>([
    [
      "a container waits while others run",
      checked("IfNotPresent", "Always"),
      away,
      "bad: app waits for ever (ImagePullBackOff). Meanwhile other runs. No init container shows the failure: the Pod hangs.",
    ],
    [
      "for an image that is missing",
      checked("IfNotPresent", "Always"),
      without(true, "app:v1"),
      "bad: app waits for ever (ImagePullBackOff), as app:v1 is missing. Meanwhile other runs. No init container shows the failure: the Pod hangs.",
    ],
    [
      "a check waits",
      checked("Always", "IfNotPresent"),
      away,
      "notice: imagecheck-0 waits (ImagePullBackOff). No app container starts: whoever watches the init containers sees the failure.",
    ],
    [
      "a check waits for an image that is missing",
      checked("Always", "IfNotPresent"),
      without(true, "app:v1"),
      "notice: imagecheck-0 waits (ImagePullBackOff), as app:v1 is missing. No app container starts: whoever watches the init containers sees the failure.",
    ],
    [
      "Never is not said to miss anything in a registry",
      checked("Never", "Never"),
      without(false, "app:v1"),
      "notice: imagecheck-0 waits (ErrImageNeverPull). No app container starts: whoever watches the init containers sees the failure.",
    ],
    [
      "the node has copies",
      volume("IfNotPresent"),
      away,
      "good: Every container starts, with the node's copies.",
    ],
    [
      "the node has a copy of the missing image",
      volume("IfNotPresent"),
      without(true, "app:v1"),
      "good: Every container starts. Missing, but the node has a copy: app:v1.",
    ],
    [
      "digests are shortened",
      { containers: [container("app", `app:v1@sha256:${"0123456789abcdef".repeat(4)}`, "Always")] },
      without(true, "app:v1"),
      "bad: app waits for ever (ImagePullBackOff), as app:v1@sha256:0123456789ab… is missing. No init container shows the failure: the Pod hangs.",
    ],
    ["all is well", checked("Always", "Always"), up, "good: Every container starts."],
    [
      "every app container waits for a volume",
      carried,
      away,
      "notice: volume imagecheck-1 waits (ImagePullBackOff). No app container starts.",
    ],
    [
      "an image name is invalid",
      { containers: [container("app", "App:v1", "IfNotPresent")] },
      away,
      "bad: app waits for ever (InvalidImageName). No init container shows the failure: the Pod hangs.",
    ],
    [
      "many wait",
      { containers: [1, 2, 3, 4, 5].map((n) => container(`c${n}`, `image:${n}`, "Always")) },
      without(true, "image:1", "image:2", "image:3", "image:4"),
      "bad: c1, c2, c3 and 1 more wait for ever (ImagePullBackOff), as image:1, image:2, image:3 and 1 more are missing. Meanwhile c5 runs. No init container shows the failure: the Pod hangs.",
    ],
    ["nothing starts", {}, away, "good: There is nothing to start."],
  ])("%s", (_, spec, scenario, expected) => {
    const { style, sentence } = ending(simulate(spec, scenario), scenario);
    expect(`${style}: ${sentence}`).toBe(expected);
  });
});
