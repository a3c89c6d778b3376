import { describe, expect, test } from "vitest";
import {
  copiesOf,
  endDuring,
  type Incident,
  outOfReach,
  registriesDuring,
} from "../../src/incident.ts";
import type { End } from "../../src/start.ts";

const names: Record<string, string> = {
  "a:1": "docker.io/library/a:1",
  "docker.io/library/a:1": "docker.io/library/a:1",
  "ghcr.io/b:1": "ghcr.io/b:1",
};
const nameOf = (image: string) => names[image];
const container = (name: string, image: string, imagePullPolicy: string) => ({
  ...{ name, image, imagePullPolicy },
});
const away: Incident = { what: "registries", name: "", moment: "meanwhile" };
const hub: Incident = { what: "registry", name: "docker.io", moment: "meanwhile" };
const gone: Incident = { what: "image", name: "docker.io/library/a:1", moment: "meanwhile" };

test("lookups fail as pulls do", () => {
  const answers = (incident: Incident) =>
    ["docker.io/library/a:1", "ghcr.io/b:1"].map(
      (image) => registriesDuring(incident)(image).answer,
    );
  expect(answers(away)).toEqual(["unreachable", "unreachable"]);
  expect(answers(hub)).toEqual(["unreachable", "digest"]);
  expect(answers(gone)).toEqual(["notFound", "digest"]);
});

test("an image is out of reach in each of its spellings, and after it is pinned", () => {
  const digest = `sha256:${"ab".repeat(32)}`;
  const spec = {
    initContainers: [container("i", "docker.io/library/a:1", "Always")],
    containers: [
      container("a", `a:1@${digest}`, "IfNotPresent"),
      container("b", "ghcr.io/b:1", "Always"),
    ],
    volumes: [{ name: "v", image: { reference: `sha256:${"cd".repeat(32)}` } }],
  };
  const found = (incident: Incident) => [...outOfReach(incident, [spec, undefined], nameOf)].sort();
  expect(found(gone)).toEqual(["a:1", "docker.io/library/a:1"]);
  expect(found(hub)).toEqual(["a:1", "docker.io/library/a:1"]);
  expect(found(away)).toHaveLength(4);
});

describe("a Pod", () => {
  const both = (first: string, second: string) => ({
    containers: [container("a", "a:1", first), container("b", "ghcr.io/b:1", second)],
  });
  test.each<[string, Incident, object, boolean, End]>([
    ["starts with copies", away, both("IfNotPresent", "Never"), true, "starts"],
    ["does half of its work", away, both("IfNotPresent", "Always"), true, "half"],
    ["waits", away, both("Always", "Always"), true, "waits"],
    ["waits on an empty node", away, both("IfNotPresent", "IfNotPresent"), false, "waits"],
    ["needs only one registry", hub, both("IfNotPresent", "Always"), true, "starts"],
    ["does half of its work without one registry", hub, both("Always", "Always"), true, "half"],
    ["does half of its work without one image", gone, both("Always", "Always"), true, "half"],
    [
      "waits for an init container",
      away,
      { initContainers: [container("i", "a:1", "Always")], ...both("Never", "Never") },
      true,
      "waits",
    ],
  ])("%s", (_, incident, spec, hasCopies, end) => {
    const copies = hasCopies ? copiesOf(spec as never) : false;
    expect(endDuring(incident, spec as never, copies, nameOf, new Set())).toBe(end);
  });

  test("doesn't start with a copy that the node has under another name", () => {
    const pinned = {
      containers: [container("a", `a:1@sha256:${"ab".repeat(32)}`, "IfNotPresent")],
    };
    const tagged = { containers: [container("a", "a:1", "IfNotPresent")] };
    expect(endDuring(away, tagged, copiesOf(pinned), nameOf, new Set())).toBe("waits");
    expect(endDuring(away, pinned, copiesOf(pinned), nameOf, new Set())).toBe("starts");
  });
});
