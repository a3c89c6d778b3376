import { describe, expect, test } from "vitest";
import { imagesOf, withDefaults } from "../../src/defaults.ts";
import { factsOf } from "../../src/evaluate.ts";
import { policy } from "../policy.ts";

const hex = "0123456789abcdef".repeat(4);

// Observed on kube-apiserver 1.36.2. An image that can't be parsed gets IfNotPresent, too.
const observed: [string, "Always" | "IfNotPresent" | "invalid"][] = [
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
  [hex, "invalid"],
  ["NGINX", "invalid"],
  ["NGINX:latest", "invalid"],
  ["nginx:", "invalid"],
  ["nginx::latest", "invalid"],
  ["nginx@latest", "invalid"],
  ["nginx:latest@sha256:abc", "invalid"],
  ["http://reg/nginx:latest", "invalid"],
  ["$(IMG)", "invalid"],
  ["a//b:latest", "invalid"],
  ["-nginx:latest", "invalid"],
  ["ngi nx", "invalid"],
  ["", "invalid"],
];

describe("the API server's default", () => {
  test.each(observed)("of %j is %s, says this policy", (image, expected) => {
    expect(factsOf(policy, image)?.policy ?? "invalid").toBe(expected);
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
    const filled = withDefaults(spec, (image) => (image === "x:1" ? "IfNotPresent" : "Always"));
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

test("the images of a Pod spec are those of its volumes and containers", () => {
  const spec = {
    initContainers: [{ image: "init" }],
    containers: [{ image: "app" }, {}, "no container"],
    volumes: [{ image: { reference: "volume" } }, { emptyDir: {} }],
  };
  expect(imagesOf(spec)).toEqual(["volume", "init", "app", "", ""]);
});
