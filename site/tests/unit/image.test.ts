import { expect, test } from "vitest";
import { imageName, nodeName, shortDigest } from "../../src/image.ts";

const digest = `sha256:${"0123456789abcdef".repeat(4)}`;

test.each([
  ["app", "app:latest", "app:latest"],
  ["app:v1", "app:v1", "app:v1"],
  ["localhost:5000/app", "localhost:5000/app:latest", "localhost:5000/app:latest"],
  [`app@${digest}`, `app@${digest}`, `app@${digest}`],
  [`app:v1@${digest}`, `app:v1@${digest}`, "app:v1"],
  [`localhost:5000/app@${digest}`, `localhost:5000/app@${digest}`, `localhost:5000/app@${digest}`],
])("%s is %s on a node, and %s in its registry", (image, onNode, inRegistry) => {
  expect(nodeName(image)).toBe(onNode);
  expect(imageName(image)).toBe(inRegistry);
});

test("only a digest is shortened", () => {
  expect(shortDigest(`app:v1@${digest}`)).toBe("app:v1@sha256:0123456789ab…");
  expect(shortDigest("app:v1")).toBe("app:v1");
});
