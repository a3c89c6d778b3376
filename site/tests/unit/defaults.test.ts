import { describe, expect, test } from "vitest";
import { defaultPolicy, withDefaults } from "../../src/defaults.ts";
import { parseReference } from "../../src/image.ts";

const hex = "0123456789abcdef".repeat(4);

// Observed on kube-apiserver 1.36.2.
const observed: [string, string][] = [
  ["nginx", "Always"],
  ["nginx:latest", "Always"],
  ["nginx:1.25", "IfNotPresent"],
  [`nginx@sha256:${hex}`, "IfNotPresent"],
  [`nginx:latest@sha256:${hex}`, "Always"],
  [`nginx:1.25@sha256:${hex}`, "IfNotPresent"],
  ["localhost:5000/a/b", "Always"],
  ["localhost/a/b", "Always"],
  ["[::1]:5000/a/b", "Always"],
  ["localhost:5000/a/b:latest", "Always"],
  ["localhost:5000/a/b:v1", "IfNotPresent"],
  ["nginx:Latest", "IfNotPresent"],
  ["nginx:LATEST", "IfNotPresent"],
  ["nginx:latest-alpine", "IfNotPresent"],
  ["nginx:stable-latest", "IfNotPresent"],
  ["Registry.Example.com/nginx", "Always"],
  ["REGISTRY/nginx", "Always"],
  [`${hex}:latest`, "Always"],
  [hex, "IfNotPresent"],
  ["NGINX", "IfNotPresent"],
  ["NGINX:latest", "IfNotPresent"],
  ["nginx:", "IfNotPresent"],
  ["nginx::latest", "IfNotPresent"],
  ["nginx@latest", "IfNotPresent"],
  ["nginx:latest@sha256:abc", "IfNotPresent"],
  ["http://reg/nginx:latest", "IfNotPresent"],
  ["$(IMG)", "IfNotPresent"],
  ["a//b:latest", "IfNotPresent"],
  ["-nginx:latest", "IfNotPresent"],
  ["ngi nx", "IfNotPresent"],
  ["", "IfNotPresent"],
];

describe("the API server's default", () => {
  test.each(observed)("of %j is %s", (image, policy) => {
    expect(defaultPolicy(image)).toBe(policy);
  });

  test("is filled in only where a pull policy is not set", () => {
    const spec = {
      initContainers: [{ name: "a", image: "x:1", imagePullPolicy: "" }],
      containers: [
        { name: "b", image: "x", imagePullPolicy: null },
        { name: "c", image: "x", imagePullPolicy: "Never" },
        "no container",
      ],
      ephemeralContainers: [{ name: "d", image: "x" }],
      volumes: [
        { name: "e", image: { reference: "x:latest" } },
        { name: "f", emptyDir: {} },
      ],
    };
    const before = structuredClone(spec);
    const filled = withDefaults(spec);
    expect(spec).toEqual(before);
    expect(filled.defaults).toEqual([
      { list: "initContainers", name: "a", policy: "IfNotPresent" },
      { list: "containers", name: "b", policy: "Always" },
      { list: "ephemeralContainers", name: "d", policy: "Always" },
      { list: "volumes", name: "e", policy: "Always" },
    ]);
    expect(filled.spec).toEqual({
      initContainers: [{ name: "a", image: "x:1", imagePullPolicy: "IfNotPresent" }],
      containers: [
        { name: "b", image: "x", imagePullPolicy: "Always" },
        { name: "c", image: "x", imagePullPolicy: "Never" },
        "no container",
      ],
      ephemeralContainers: [{ name: "d", image: "x", imagePullPolicy: "Always" }],
      volumes: [
        { name: "e", image: { reference: "x:latest", pullPolicy: "Always" } },
        { name: "f", emptyDir: {} },
      ],
    });
  });
});

test("references are normalised", () => {
  const parts = (image: string) => {
    const found = parseReference(image);
    return found && [found.registry, found.repository, found.tag];
  };
  expect(parts("nginx")).toEqual(["docker.io", "library/nginx", undefined]);
  expect(parts("index.docker.io/nginx:1")).toEqual(["docker.io", "library/nginx", "1"]);
  expect(parts("team/app")).toEqual(["docker.io", "team/app", undefined]);
  expect(parts("localhost:5000/a:v1")).toEqual(["localhost:5000", "a", "v1"]);
});
