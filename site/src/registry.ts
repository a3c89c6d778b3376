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
  /** The platforms in the image's index: `linux/amd64, linux/arm64`. Empty if there is no index. */
  platforms: string;
};

/** The rows, by the normalised image that this policy looks up. */
export type Table = Record<string, Entry>;

export const ANSWERS: Record<Answer, string> = {
  digest: "a digest",
  notFound: "not found",
  denied: "denied",
  rateLimited: "rate limited",
  unreachable: "unreachable",
};

export const DEFAULT_ENTRY: Entry = { answer: "digest", digest: "", platforms: "" };

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

/** The platforms of a list such as `linux/amd64, linux/arm64`. */
export function platforms(text: string): { os: string; architecture: string }[] {
  return text
    .split(/[\s,]+/)
    .filter((platform) => platform.includes("/"))
    .map((platform) => {
      const [os = "", architecture = "", variant] = platform.split("/");
      return { os, architecture, ...(variant ? { variant } : {}) };
    });
}

/** The parts of an image that this policy looks up. It has normalised the image. */
function partsOf(image: string) {
  const [, registry = "", repository = "", tag, digest] =
    /^([^/]+)\/([^:@]+)(?::([^@]+))?(?:@(.+))?$/.exec(image) ?? [];
  return { registry, repository, version: digest ?? tag ?? "latest", digest };
}

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
 * A host that answers from the table and records the calls. An image that is not in the table is
 * found. A reference with a digest gets its own digest, and any other reference an invented digest.
 */
export function registryHost(table: Table, asked: Exchange[] = []): HostCall {
  const entryOf = (image: string): Entry =>
    (Object.hasOwn(table, image) ? table[image] : undefined) ?? DEFAULT_ENTRY;
  const answerFor = (image: string) => {
    const entry = entryOf(image);
    if (entry.answer !== "digest") {
      throw new Error(`Callback evaluation failure: ${errorText(image, entry.answer)}`);
    }
    return digestOf(image) ?? (entry.digest || madeUpDigest(image));
  };
  const lookup: Record<string, (image: string) => unknown> = {
    "v1/manifest_digest": (image) => ({ digest: answerFor(image) }),
    "v1/oci_manifest": (image) => {
      // If the digest comes from an earlier answer, the table's row is that of the earlier call's
      // image. Otherwise it is the row of the reference itself.
      const { repository, digest } = partsOf(image);
      const tagged = asked.find(
        (other) =>
          partsOf(other.image).repository === repository &&
          entryOf(other.image).answer === "digest" &&
          answerFor(other.image) === digest,
      );
      const name = tagged?.image ?? image;
      answerFor(name);
      return manifest(name, entryOf(name).platforms);
    },
  };
  return (binding, namespace, operation, payload) => {
    if (binding !== "kubewarden") throw new Error(`unknown binding: ${binding}`);
    if (namespace === "tracing" && operation === "log") return new Uint8Array();
    if (namespace !== "oci") throw new Error(`unknown namespace: ${namespace}`);
    const answers = Object.hasOwn(lookup, operation) ? lookup[operation] : undefined;
    if (!answers) throw new Error(`unknown operation: ${operation}`);
    const image = JSON.parse(decoder.decode(payload)) as string;
    try {
      const answer = JSON.stringify(answers(image));
      asked.push({ operation, image, answer });
      return encoder.encode(answer);
    } catch (error) {
      asked.push({ operation, image, error: (error as Error).message });
      throw error;
    }
  };
}

/** The manifest of an image: an index if there are platforms, else the manifest of one image. */
function manifest(image: string, list: string) {
  const index = platforms(list);
  const descriptor = (kind: string, of: string) => ({
    mediaType: `application/vnd.oci.image.${kind}.v1+json`,
    digest: madeUpDigest(of),
    size: 1024,
  });
  if (index.length === 0) {
    return {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: descriptor("config", `${image} config`),
      layers: [],
    };
  }
  return {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: index.map((platform) => ({
      ...descriptor("manifest", `${image} ${platform.os}/${platform.architecture}`),
      platform,
    })),
  };
}
