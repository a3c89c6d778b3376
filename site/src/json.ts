/** JSON and YAML values, and safe access to their parts. */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path of keys and indexes; `undefined` if there is no value. */
export function at(value: Json | undefined, ...path: (string | number)[]): Json | undefined {
  let here: Json | undefined = value;
  for (const key of path) {
    if (typeof key === "number") here = Array.isArray(here) ? here[key] : undefined;
    else here = isObject(here) && Object.hasOwn(here, key) ? here[key] : undefined;
  }
  return here;
}

/** The text at a path of keys and indexes; `undefined` if there is no text, or an empty text. */
export function textAt(value: Json | undefined, ...path: (string | number)[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** The list at a path of keys and indexes; empty if there is no list. */
export function listAt(value: Json | undefined, ...path: (string | number)[]): Json[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/**
 * A copy of a value, with its keys in the order of another value's keys. Keys that the other value
 * doesn't have come last. Two elements of lists correspond if they have the same name, as in
 * Kubernetes' merge of lists. If there is no such pair, the index decides.
 */
export function inOrderOf(value: Json, other: Json | undefined): Json {
  if (Array.isArray(value)) {
    const others = Array.isArray(other) ? other : [];
    return value.map((element, index) => {
      const name = textAt(element, "name");
      const same = name && others.find((old) => textAt(old, "name") === name);
      return inOrderOf(element, same || others[index]);
    });
  }
  if (!isObject(value)) return value;
  const model = isObject(other) ? other : {};
  const keys = [
    ...Object.keys(model).filter((key) => Object.hasOwn(value, key)),
    ...Object.keys(value).filter((key) => !Object.hasOwn(model, key)),
  ];
  return Object.fromEntries(keys.map((key) => [key, inOrderOf(value[key] ?? null, model[key])]));
}

/** Whether two values are equal, whatever the order of their keys. */
export function isEqual(one: Json | undefined, other: Json | undefined): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, index) => isEqual(value, other[index]));
  }
  if (isObject(one) && isObject(other)) {
    const keys = Object.keys(one);
    return (
      keys.length === Object.keys(other).length &&
      keys.every((key) => Object.hasOwn(other, key) && isEqual(one[key], other[key]))
    );
  }
  return one === other;
}
