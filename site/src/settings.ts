/** The settings editor: completions from the schema, and problems at their lines. */

import { type Document, isMap, isPair, isScalar, isSeq, Lexer, type Node, type Pair } from "yaml";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { type Problem, parseDocuments } from "./yaml.ts";

/** Keywords of JSON Schema (2020-12) that the schema of the settings may have. */
export type Schema = {
  $ref?: string;
  $defs?: Record<string, Schema>;
  description?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  items?: Schema | boolean;
  enum?: Json[];
  const?: Json;
  default?: Json;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
};

export type Settings = {
  /** The settings as policy-server gets them. `undefined` if the text has a problem. */
  value: JsonObject | undefined;
  document: Document.Parsed | undefined;
  problems: Problem[];
};

/** Reads the settings as `kwctl` does: the text is one YAML object. An empty text means `{}`. */
export function readSettings(text: string): Settings {
  const { documents, problems } = parseDocuments(text);
  if (problems.length > 0) return { value: undefined, document: undefined, problems };
  const [first, second] = documents;
  if (!first) return { value: {}, document: undefined, problems };
  const { value, document } = first;
  if (second) {
    const from = second.document?.range?.[0] ?? 0;
    problems.push({ message: "the settings are one document", from, to: from + 3 });
  }
  if (!isObject(value)) {
    const message = "the settings have to be an object, such as `mode: Fix`";
    problems.push({ message, from: 0, to: Math.max(text.length, 1) });
  }
  return { value: isObject(value) && !second ? value : undefined, document, problems };
}

/** The path at the start of a sentence of this policy: `images.forbidAlways[0] must…`. */
function pathOf(sentence: string): (string | number)[] {
  const [path = ""] = /^[^\s:]+/.exec(sentence) ?? [];
  return [...path.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, key]) =>
    index === undefined ? (key ?? "") : Number(index),
  );
}

/**
 * Returns one problem for each sentence of the message, sorted by position in the settings text.
 * A problem is shown at the key or list element that its sentence names. If the key's value is a
 * scalar, the marked range includes the value. If the text lacks this key or element, the problem
 * is shown at the nearest parent in the text.
 */
export function locate(message: string, document: Document.Parsed | undefined): Problem[] {
  // A semicolon may also be inside a sentence. Each sentence starts with the path of a setting.
  const sentences = message.split(/; (?=\w+[.[]\w)/);
  const problems = sentences.map((sentence) => {
    let node: unknown = document?.contents;
    let [from, to] = [0, 1];
    for (const key of pathOf(sentence)) {
      let next: unknown;
      if (isMap(node)) {
        const pair = (node.items as Pair[]).find(
          (item) => isPair(item) && (isScalar(item.key) ? item.key.value : item.key) === key,
        );
        if (!pair) break;
        next = pair.value;
        [from, to] = range(pair.key as Node) ?? [from, to];
        if (isScalar(next) && range(next)) to = range(next)?.[1] ?? to;
      } else if (isSeq(node) && typeof key === "number") {
        next = node.items[key];
        if (next === undefined) break;
        [from, to] = range(next as Node) ?? [from, to];
      } else break;
      node = next;
    }
    return { message: sentence, from, to: Math.max(to, from + 1) };
  });
  return problems.sort((one, next) => one.from - next.from);
}

function range(node: Node | null | undefined): [number, number] | undefined {
  return node?.range ? [node.range[0], node.range[1]] : undefined;
}

/** The schema, and all schemas that its `$ref`, `anyOf`, `oneOf` and `allOf` name, in one list. */
function alternatives(schema: Schema | undefined, root: Schema): Schema[] {
  if (!schema) return [];
  const found: Schema[] = [schema];
  if (schema.$ref?.startsWith("#/$defs/")) {
    found.push(...alternatives(root.$defs?.[schema.$ref.slice("#/$defs/".length)], root));
  }
  for (const other of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) {
    found.push(...alternatives(other, root));
  }
  return found;
}

/** The schema of the value at a path: keys are strings, and indexes of lists are numbers. */
export function schemaAt(root: Schema, path: (string | number)[]): Schema | undefined {
  let here: Schema | undefined = root;
  for (const key of path) {
    const all: Schema[] = alternatives(here, root);
    here =
      typeof key === "number"
        ? (all.map(({ items }) => items).find((items) => typeof items === "object") as
            Schema | undefined)
        : all
            .map(({ properties }) =>
              properties && Object.hasOwn(properties, key) ? properties[key] : undefined,
            )
            .find(Boolean);
    if (!here) return undefined;
  }
  return here;
}

export type Suggestion = {
  label: string;
  /** The text to insert: a value, or a key with its colon. */
  insert: string;
  /**
   * Set only for a key whose value starts on the line below the key. It is the text after the
   * indentation of that line: `- ` for a list, else empty.
   */
  below?: "" | "- ";
  detail: string;
  info: string;
};

/**
 * The position of the cursor for completions. `taken` has the other keys of the map. `taken` is
 * empty if the cursor is in a key directly after a dash (`- ke`).
 */
export type Place =
  | { what: "key"; path: (string | number)[]; taken: string[] }
  | { what: "value"; path: (string | number)[] };

const first = (text: string | undefined) =>
  text?.split("\n\n")[0]?.replaceAll("\n", " ").replaceAll("`", "").trim() ?? "";

/** The keys or values that the schema allows at a place, without the keys that are taken. */
export function suggestions(root: Schema, place: Place): Suggestion[] {
  const all = alternatives(schemaAt(root, place.path), root);
  if (place.what === "key") {
    const keys = new Map<string, Schema>();
    for (const { properties } of all) {
      for (const [key, schema] of Object.entries(properties ?? {})) keys.set(key, schema);
    }
    return [...keys]
      .filter(([key]) => !place.taken.includes(key))
      .map(([key, schema]) => keySuggestion(key, schema, root));
  }
  return values(schemaAt(root, place.path), root);
}

function keySuggestion(key: string, schema: Schema, root: Schema): Suggestion {
  const all = alternatives(schema, root);
  const info = [first(all.find(({ description }) => description)?.description)];
  const standard = schema.default;
  if (
    typeof standard === "string" ||
    typeof standard === "number" ||
    typeof standard === "boolean"
  ) {
    info.push(`Default: ${standard}.`);
  }
  const isList = all.some(({ type }) => type === "array");
  const below = isList ? "- " : all.some(({ properties }) => properties) ? "" : undefined;
  return {
    label: key,
    insert: below === undefined ? `${key}: ` : `${key}:`,
    ...(below === undefined ? {} : { below }),
    detail: values(schema, root)
      .map(({ label }) => label)
      .slice(0, 4)
      .join(", "),
    info: info.filter(Boolean).join(" "),
  };
}

/** The values of an enumeration or a boolean, without `null`. */
function values(schema: Schema | undefined, root: Schema): Suggestion[] {
  const found = new Map<string, string>();
  for (const part of alternatives(schema, root)) {
    const types = Array.isArray(part.type) ? part.type : [part.type];
    const listed = part.enum ?? (part.const === undefined ? [] : [part.const]);
    for (const value of types.includes("boolean") && listed.length === 0 ? [true, false] : listed) {
      if (value === null) continue;
      // kubectl reads YAML 1.1, in which some bare words are booleans. So these words get quotes.
      const text =
        typeof value === "string" && /^(?:off|on|yes|no|true|false)$/i.test(value)
          ? JSON.stringify(value)
          : String(value);
      found.set(text, found.get(text) || (listed.length === 1 ? first(part.description) : ""));
    }
  }
  return [...found].map(([label, info]) => ({ label, insert: label, detail: "", info }));
}

/**
 * The position of the cursor, computed from the text to the left of the cursor on its line, and
 * from the keys and the indentation of the other lines. So the text need not be valid YAML yet.
 * `undefined`, for example, in a comment, in a quoted text, or between the brackets of a flow list.
 */
export function placeAt(text: string, offset: number): Place | undefined {
  const start = offset === 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1;
  const line = text.slice(start, offset);
  if (/#|["']/.test(line) || isInFlow(text.slice(0, offset))) return undefined;
  const path: (string | number)[] = [];
  let indent = line.search(/\S|$/);
  const lines = text.slice(0, start).split("\n");
  lines.pop();
  // In `- key`, the indentation of the key includes the dash. The dash adds an index to the path.
  const dash = /^(\s*)(-\s+|-$)/.exec(line);
  const parents = (from: number, limit: number, inclusive: boolean) => {
    let depth = limit;
    let orEqual = inclusive;
    for (let number = from; number >= 0; number--) {
      const above = lines[number] ?? "";
      if (/^\s*(#|$)/.test(above)) continue;
      const key = /^(\s*)(-\s+)?([A-Za-z_][\w.-]*)\s*:/.exec(above);
      const column = above.search(/\S/);
      if (!key) continue;
      const own = column + (key[2]?.length ?? 0);
      if (own < depth || (orEqual && own <= depth && !key[2])) {
        path.unshift(key[3] ?? "");
        depth = own;
        orEqual = false;
      }
      if (key[2] && column < depth) {
        path.unshift(0);
        depth = column;
        // A list may have the indentation of its key.
        orEqual = true;
      }
      if (depth === 0 && !orEqual) break;
    }
  };
  const body = dash ? line.slice(dash[0].length) : line.trimStart();
  const keyed = /^([A-Za-z_][\w-]*)\s*:\s+(\S*)$/.exec(body);
  if (dash) {
    parents(lines.length - 1, indent, true);
    path.push(0);
    indent += dash[2]?.length ?? 0;
  } else {
    parents(lines.length - 1, indent, false);
  }
  if (keyed) return { what: "value", path: [...path, keyed[1] ?? ""] };
  if (!/^[A-Za-z_]?[\w-]*$/.test(body)) return undefined;
  if (dash && body !== "") return { what: "key", path, taken: [] };
  return { what: "key", path, taken: siblings(text, start, indent) };
}

/** Whether a text ends inside a flow list or a flow map: after `[` or `{`, and before its end. */
function isInFlow(text: string): boolean {
  let depth = 0;
  for (const token of new Lexer().lex(text)) {
    if (token === "[" || token === "{") depth += 1;
    else if (token === "]" || token === "}") depth -= 1;
    // The lexer ends all flow lists and maps at a line with too little indentation.
    else if (token === FLOW_ERROR_END) depth = 0;
  }
  return depth > 0;
}

/** The token of the lexer for a flow list or map without a closing bracket. */
const FLOW_ERROR_END = "\x18";

/** The other keys of the map that the line at `start` belongs to. */
function siblings(text: string, start: number, indent: number): string[] {
  const lines = text.split("\n");
  const here = text.slice(0, start).split("\n").length - 1;
  const keys: string[] = [];
  for (const step of [-1, 1]) {
    for (let number = here + step; number >= 0 && number < lines.length; number += step) {
      const line = lines[number] ?? "";
      if (/^\s*(#|$)/.test(line)) continue;
      const [, space = "", dash = "", key] =
        /^(\s*)(-\s+)?(?:([A-Za-z_][\w.-]*)\s*:)?/.exec(line) ?? [];
      const column = space.length + dash.length;
      // A dash with less indentation than the cursor's key starts a list element. It is the
      // cursor's own element if the line is above the cursor, and the next element if the line is
      // below.
      const begins = dash !== "" && space.length < indent;
      if (column < indent || (begins && step > 0)) break;
      if (column === indent && key) keys.push(key);
      if (begins) break;
    }
  }
  return keys;
}
