/** The examples of the repository, which a person can choose in the page. */

import { isObject, type Json } from "./json.ts";
import { toYaml } from "./yaml.ts";

export type Example = { label: string; text: string };
export type Group = { label: string; examples: Example[] };

const own = import.meta.glob<string>("../examples/*.yaml", {
  query: "?raw",
  import: "default",
  eager: true,
});
const settings = import.meta.glob<string>("../../examples/settings/*.yaml", {
  query: "?raw",
  import: "default",
  eager: true,
});
const requests = import.meta.glob<string>("../../examples/requests/*.json", {
  query: "?raw",
  import: "default",
  eager: true,
});
const reviews = import.meta.glob<string>("../../test_data/reviews/*.json", {
  query: "?raw",
  import: "default",
  eager: true,
});

const nameOf = (path: string) => path.replace(/^.*\/|\.\w+$/g, "");

function group(
  label: string,
  files: Record<string, string>,
  text: (text: string) => string,
): Group {
  const examples = Object.entries(files)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, content]) => ({ label: nameOf(path), text: text(content) }));
  return { label, examples };
}

/** A request as YAML, without `managedFields`, which are long and not needed here. */
function readable(json: string): string {
  const value = JSON.parse(json) as Json;
  const request = isObject(value) && isObject(value["request"]) ? value["request"] : value;
  for (const key of ["object", "oldObject"]) {
    const object = isObject(request) ? request[key] : undefined;
    if (isObject(object) && isObject(object["metadata"]))
      delete object["metadata"]["managedFields"];
  }
  return toYaml(value);
}

/** Objects and requests. */
export const OBJECTS: Group[] = [
  group("Manifests", own, (text) => text),
  group("Requests", requests, readable),
  group("Reviews captured from an API server", reviews, readable),
];

/** Settings. The first ones are empty. */
export const SETTINGS: Group[] = [
  { label: "Nothing set", examples: [{ label: "empty", text: "" }] },
  group("For a purpose", settings, (text) => text),
];

/** The page starts with this example. */
export const FIRST = OBJECTS[0]?.examples.find(({ label }) => label === "ci-job");
