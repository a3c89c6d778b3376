import { expect, test } from "vitest";
import { at, inOrderOf, textAt } from "../../src/json.ts";

test("keys get the order of another value, and new keys come last", () => {
  const before = {
    kind: "Pod",
    apiVersion: "v1",
    spec: {
      containers: [
        { name: "b", image: "b:1" },
        { name: "a", env: [1] },
      ],
    },
  };
  const after = {
    apiVersion: "v1",
    metadata: { annotations: {} },
    kind: "Pod",
    spec: {
      containers: [
        { image: "c", name: "c" },
        { image: "b:1", imagePullPolicy: "Always", name: "b" },
        { env: [2, { x: null }], name: "a" },
      ],
    },
  };
  const ordered = inOrderOf(after, before);
  expect(ordered).toEqual(after);
  expect(JSON.stringify(ordered)).toBe(
    '{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"c","image":"c"},' +
      '{"name":"b","image":"b:1","imagePullPolicy":"Always"},{"name":"a","env":[2,{"x":null}]}]},' +
      '"metadata":{"annotations":{}}}',
  );
});

test("a path that does not exist gives no value", () => {
  expect(at({ a: [{ b: 1 }] }, "a", 0, "b")).toBe(1);
  expect(at({ a: 1 }, "a", "b")).toBeUndefined();
  expect(at({}, "toString")).toBeUndefined();
  expect(textAt({ a: "" }, "a")).toBeUndefined();
});
