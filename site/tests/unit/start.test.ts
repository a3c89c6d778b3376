import { expect, test } from "vitest";
import { ending, type Scenario, simulate } from "../../src/start.ts";

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

const away: Scenario = { registry: "away", copies: true };
const lost: Scenario = { registry: "lost", copies: false };

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
    { registry: "up", copies: false } as Scenario,
    "imagecheck-0 waits, app never, other never",
  ],
  [
    "Never, on the node",
    pod("app:v1", "Never", "Never", "app:v1"),
    away,
    "imagecheck-0 node, app node, other node",
  ],
  [
    "all is well",
    pod("app:v1", "Always", "Always", "app:v1"),
    { registry: "up", copies: false } as Scenario,
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
  expect(fates(spec, away)).toBe("imagecheck-0 waits, app never, other never, third node");
  expect(fates(spec, { registry: "up", copies: true })).toBe(
    "imagecheck-0 registry, app node, other node, third node",
  );
});

test("how it ends is said in a sentence", () => {
  const sentence = (spec: Parameters<typeof simulate>[0], scenario: Scenario) => {
    const { style, sentence } = ending(simulate(spec, scenario), scenario);
    return `${style}: ${sentence}`;
  };
  expect(sentence(pod("app:v1", "IfNotPresent", "Always", "app:v1"), away)).toBe(
    "bad: app waits for ever (ImagePullBackOff), while the others run: the Pod hangs.",
  );
  expect(sentence(pod("app:v1", "Always", "IfNotPresent", "app:v1"), away)).toBe(
    "notice: imagecheck-0 waits (ImagePullBackOff) before any container has started: whoever watches the checks sees it.",
  );
  expect(sentence(volume("IfNotPresent"), away)).toBe(
    "good: Everything starts, with the copies on the node.",
  );
  const { initContainers, ...bare } = volume("Always");
  const carried = { ...bare, containers: [{ ...initContainers[0], name: "app" }] };
  expect(sentence(carried, away)).toBe(
    "notice: imagecheck-1 waits (ImagePullBackOff) before any container has started: nothing runs half.",
  );
  expect(sentence({ containers: [container("app", "App:v1", "IfNotPresent")] }, away)).toBe(
    "bad: app waits for ever (InvalidImageName): the Pod hangs.",
  );
  expect(sentence({}, away)).toBe("good: There is nothing to start.");
});
