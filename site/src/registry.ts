/**
 * The host capabilities for registries. A person fills in a table with the answers.
 *
 * The errors have the texts that a policy gets from Kubewarden 1.36. A policy can learn only from
 * the text of an error whether a lookup was denied or the registry was unreachable.
 */

import type { HostCall } from "./host.ts";

/** The answer of the registry for an image. */
export type Answer = "digest" | "notFound" | "denied" | "rateLimited" | "unreachable";

/** A row of the table. */
export type Entry = {
  answer: Answer;
  /** `sha256:<64 hex>`. If it is empty, the page invents a digest. */
  digest: string;
};

/** The rows, by the normalised image that this policy looks up. */
export type Table = Record<string, Entry>;

/** What a registry answers for a normalised image. */
export type Registries = (image: string) => Entry;

export const ANSWERS: Record<Answer, string> = {
  digest: "a digest",
  notFound: "not found",
  denied: "denied",
  rateLimited: "rate limited",
  unreachable: "unreachable",
};

export const DEFAULT_ENTRY: Entry = { answer: "digest", digest: "" };

/** The registries that answer as a table says. An image that is not in the table is found. */
export const registriesOf =
  (table: Table): Registries =>
  (image) =>
    (Object.hasOwn(table, image) ? table[image] : undefined) ?? DEFAULT_ENTRY;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** An invented digest. The same image always gets the same digest. */
export function madeUpDigest(image: string): string {
  let hex = "";
  for (let part = 0; part < 8; part++) {
    // FNV-1a, with a different start value for each part.
    let hash = 0x811c9dc5 ^ (part * 0x9e3779b1);
    for (const byte of encoder.encode(image)) hash = Math.imul(hash ^ byte, 0x01000193);
    hash ^= hash >>> 15;
    hex += (Math.imul(hash, 0x85ebca6b) >>> 0).toString(16).padStart(8, "0");
  }
  return `sha256:${hex}`;
}

/** The reason why `text` is no digest. `undefined` if `text` is a digest, or empty. */
export function digestProblem(text: string): string | undefined {
  return text === "" || /^sha256:[0-9a-f]{64}$/.test(text)
    ? undefined
    : "a digest is sha256: and 64 hexadecimal digits";
}

/** The parts of an image that this policy looks up. It has normalised the image. */
function partsOf(image: string) {
  const [, registry = "", repository = "", tag, digest] =
    /^([^/]+)\/([^:@]+)(?::([^@]+))?(?:@(.+))?$/.exec(image) ?? [];
  return { registry, repository, version: digest ?? tag ?? "latest", digest };
}

/** The registry of an image that this policy looks up. */
export const registryOf = (image: string) => partsOf(image).registry;

/** The digest in an image that this policy looks up. */
export const digestOf = (image: string) => partsOf(image).digest;

/** The error text of the host for a failed lookup. */
export function errorText(image: string, answer: Exclude<Answer, "digest">): string {
  const { registry, repository, version } = partsOf(image);
  const host = registry === "docker.io" ? "index.docker.io" : registry;
  const url = `https://${host}/v2/${repository}/manifests/${version}`;
  const envelope = (message: string) =>
    `Registry error: url ${url}, envelope: OCI API errors: [OCI API error: ${message}]`;
  const texts: Record<typeof answer, string> = {
    notFound: envelope("manifest unknown"),
    denied: `Not authorized: url ${url}`,
    rateLimited: envelope("You have reached your unauthenticated pull rate limit."),
    unreachable: `error sending request for url (${url})`,
  };
  return `Fail to interact with OCI registry: ${texts[answer]}`;
}

/** A host call to a registry: the image, and the answer or the error. */
export type Exchange = { operation: string; image: string; answer?: string; error?: string };

/**
 * A host that asks these registries and records the calls. A reference with a digest gets its own
 * digest, and any other reference the digest of its entry, or an invented one.
 */
export function registryHost(registries: Registries, asked: Exchange[] = []): HostCall {
  const answerFor = (image: string) => {
    const entry = registries(image);
    if (entry.answer !== "digest") {
      throw new Error(`Callback evaluation failure: ${errorText(image, entry.answer)}`);
    }
    return { digest: digestOf(image) ?? (entry.digest || madeUpDigest(image)) };
  };
  return (binding, namespace, operation, payload) => {
    if (binding !== "kubewarden") throw new Error(`unknown binding: ${binding}`);
    if (namespace === "tracing" && operation === "log") return new Uint8Array();
    if (namespace !== "oci") throw new Error(`unknown namespace: ${namespace}`);
    if (operation !== "v1/manifest_digest") throw new Error(`unknown operation: ${operation}`);
    const image = JSON.parse(decoder.decode(payload)) as string;
    try {
      const answer = JSON.stringify(answerFor(image));
      asked.push({ operation, image, answer });
      return encoder.encode(answer);
    } catch (error) {
      asked.push({ operation, image, error: (error as Error).message });
      throw error;
    }
  };
}
