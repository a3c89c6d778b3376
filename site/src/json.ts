/** JSON and YAML values, and safe access to their parts. */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path of keys and indexes; `undefined` if there is none. */
export function at(value: Json | undefined, ...path: (string | number)[]): Json | undefined {
  let here: Json | undefined = value;
  for (const key of path) {
    if (typeof key === "number") here = Array.isArray(here) ? here[key] : undefined;
    else here = isObject(here) && Object.hasOwn(here, key) ? here[key] : undefined;
  }
  return here;
}

/** The text at a path of keys and indexes; `undefined` if it is missing or empty. */
export function textAt(value: Json | undefined, ...path: (string | number)[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** The list at a path of keys and indexes; empty if there is none. */
export function listAt(value: Json | undefined, ...path: (string | number)[]): Json[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/**
 * A value with its keys in the order of another value. New keys come last. Elements of lists
 * correspond if they have the same name, as in Kubernetes' merge of lists. Without names they
 * correspond by their index.
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
