import { expect, test } from "vitest";
import { parseAny, parseDocuments, toYaml } from "../../src/yaml.ts";

const value = (text: string) => parseDocuments(text).documents[0]?.value;

test("the same bare words are booleans as in kubectl", () => {
  expect(value("a: Off\nb: on\nc: 'Off'\nd: yes\ne: true\nf: offer")).toEqual({
    a: false,
    b: true,
    c: "Off",
    d: true,
    e: true,
    f: "offer",
  });
});

test("numbers of base 60 are not read", () => {
  expect(value("a: 22:22\nb: 12")).toEqual({ a: "22:22", b: 12 });
});

test("merge keys are merged", () => {
  expect(value("a: &x {k: 1}\nb: {<<: *x, l: 2}")).toEqual({ a: { k: 1 }, b: { k: 1, l: 2 } });
});

test("a stream is split into documents, without empty ones", () => {
  const { documents, problems } = parseDocuments("# only a comment\n---\na: 1\n---\n---\nb: 2\n");
  expect(documents.map((document) => document.value)).toEqual([{ a: 1 }, { b: 2 }]);
  expect(problems).toEqual([]);
});

test.each([
  ["a: [1", 5],
  ["a: 1\n b: 2", 3],
  ["a: 1\na: 2", 5],
  ["a: *nowhere", 0],
])("a problem in %j has its place", (text, from) => {
  const { problems, documents } = parseDocuments(text);
  expect(documents).toEqual([]);
  expect(problems[0]?.message).toBeTruthy();
  expect(problems[0]?.from).toBeGreaterThanOrEqual(from);
  expect(problems[0]?.to).toBeGreaterThan(problems[0]?.from ?? 0);
});

test("aliases that grow without end give an error", () => {
  const bomb = Array.from({ length: 9 }, (_, n) =>
    n === 0
      ? "a0: &a0 [x, x]"
      : `a${n}: &a${n} [${Array(9)
          .fill(`*a${n - 1}`)
          .join(", ")}]`,
  ).join("\n");
  expect(parseDocuments(bomb).problems).toHaveLength(1);
});

test("JSON is read, and so is flow style that is not JSON", () => {
  expect(parseAny('{"a": Off}').documents[0]?.value).toEqual({ a: false });
  expect(parseAny('{"a": "Off"}').documents[0]?.value).toEqual({ a: "Off" });
  expect(parseAny('{"a": ').problems).not.toEqual([]);
});

test("a written value is read as the same value", () => {
  const object = { a: "Off", b: false, c: "1", d: "x".repeat(200), e: ["y", "no"], f: null };
  expect(value(toYaml(object))).toEqual(object);
  expect(toYaml({ a: "Off" })).toBe('a: "Off"\n');
});
