/** YAML as kubectl reads it, with the positions of values. */

import {
  type Document,
  isScalar,
  parseAllDocuments,
  type ScalarTag,
  stringify,
  type Tags,
} from "yaml";
import type { Json } from "./json.ts";

/** A problem of a text, with its position: offsets in UTF-16 units. */
export type Problem = { message: string; from: number; to: number };

/** A document of a YAML stream. */
export type Parsed = { value: Json; document: Document.Parsed | undefined };

// As in kubectl's parser, the boolean words of YAML 1.1 are booleans (a bare `Off` is false), but
// the numbers of YAML 1.1 with base 60 are strings (`22:22`).
const booleans: ScalarTag = {
  tag: "tag:yaml.org,2002:bool",
  identify: (value) => typeof value === "boolean",
  default: true,
  test: /^(?:true|True|TRUE|yes|Yes|YES|on|On|ON|false|False|FALSE|no|No|NO|off|Off|OFF)$/,
  resolve: (text) => /^(?:t|y|on)/i.test(text),
  // A value is written as in the source, unless it has changed.
  stringify: ({ source, value }) =>
    source && /^(?:t|y|on)/i.test(source) === value ? source : String(value),
};

const customTags = (tags: Tags): Tags => [
  booleans,
  ...tags.filter((tag) => typeof tag === "string" || tag.tag !== booleans.tag),
];

/** Reads a stream of documents. Empty and malformed documents are left out. */
export function parseDocuments(text: string): { documents: Parsed[]; problems: Problem[] } {
  const parsed = parseAllDocuments(text, {
    schema: "core",
    customTags,
    merge: true,
    prettyErrors: false,
  });
  const problems: Problem[] = [];
  const documents: Parsed[] = [];
  for (const document of Array.isArray(parsed) ? parsed : []) {
    for (const error of document.errors) {
      const [from, to] = error.pos;
      problems.push({ message: error.message, from, to: Math.max(to, from + 1) });
    }
    if (document.errors.length > 0) continue;
    if (!document.contents || (isScalar(document.contents) && document.contents.value === null)) {
      continue;
    }
    try {
      documents.push({ value: document.toJS() as Json, document: document as Document.Parsed });
    } catch (error) {
      // For example, an alias has no target, or aliases expand to too many values.
      const [from, , to] = document.range ?? [0, 0, 1];
      problems.push({ message: (error as Error).message, from, to });
    }
  }
  return { documents, problems };
}

/** Reads JSON or a stream of YAML documents. JSON is read fast, but without positions. */
export function parseAny(text: string): { documents: Parsed[]; problems: Problem[] } {
  if (/^\s*[{[]/.test(text)) {
    try {
      return {
        documents: [{ value: JSON.parse(text) as Json, document: undefined }],
        problems: [],
      };
    } catch {
      // The text is YAML in flow style, or it is malformed. For a malformed text, the YAML parser
      // below gives the position of the problem.
    }
  }
  return parseDocuments(text);
}

/** A value as YAML. Words that are booleans in YAML 1.1 get quotes. */
export function toYaml(value: Json): string {
  return stringify(value, {
    lineWidth: 0,
    schema: "core",
    compat: "yaml-1.1",
    aliasDuplicateObjects: false,
  });
}

/** The number of the line at an offset, counted from 1. */
export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
