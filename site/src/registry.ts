/**
 * The host's capabilities that concern registries, answered from a table that a person fills in.
 *
 * The texts of the errors are those of Kubewarden 1.36, as a policy hears them: it has nothing else
 * to tell a denied lookup from an unreachable registry.
 */

import type { HostCall } from "./host.ts";
import { parseReference } from "./image.ts";

/** What the registry is to answer when it is asked for an image. */
export type Answer = "digest" | "notFound" | "denied" | "rateLimited" | "unreachable";

/** A row of the table. */
export type Entry = {
  answer: Answer;
  /** `sha256:<64 hex>`; one is made up where it is empty. */
  digest: string;
  /** `linux/amd64, linux/arm64`: the platforms in the image's index. Empty: it is no index. */
  platforms: string;
};

/** By the image as the policy asks for it, normalised. */
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

/** A digest that only looks like one, the same for an image each time. */
export function madeUpDigest(image: string): string {
  let hex = "";
  for (let part = 0; part < 8; part++) {
    // FNV-1a, with another start for each part.
    let hash = 0x811c9dc5 ^ (part * 0x9e3779b1);
    for (const byte of encoder.encode(image)) hash = Math.imul(hash ^ byte, 0x01000193);
    hash ^= hash >>> 15;
    hex += (Math.imul(hash, 0x85ebca6b) >>> 0).toString(16).padStart(8, "0");
  }
  return `sha256:${hex}`;
}

/** Why `text` can't be a digest, if it can't. */
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

/** The error of a lookup, in the host's words. */
export function errorText(image: string, answer: Exclude<Answer, "digest">): string {
  const reference = parseReference(image);
  const registry = reference?.registry === "docker.io" ? "index.docker.io" : reference?.registry;
  const version = reference?.digest ?? reference?.tag ?? "latest";
  const url = `https://${registry}/v2/${reference?.repository}/manifests/${version}`;
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

/** A host call that concerned a registry: what was asked for, and the answer or the error. */
export type Exchange = { operation: string; image: string; answer?: string; error?: string };

/**
 * A host that answers from the table, and notes what it was asked. What the table doesn't have gets
 * a digest.
 */
export function registryHost(table: Table, asked: Exchange[] = []): HostCall {
  const entryOf = (image: string): Entry =>
    (Object.hasOwn(table, image) ? table[image] : undefined) ?? DEFAULT_ENTRY;
  const digestOf = (image: string) => {
    const entry = entryOf(image);
    if (entry.answer !== "digest") {
      throw new Error(`Callback evaluation failure: ${errorText(image, entry.answer)}`);
    }
    return entry.digest || madeUpDigest(image);
  };
  const lookup: Record<string, (image: string) => unknown> = {
    "v1/manifest_digest": (image) => ({ digest: parseReference(image)?.digest ?? digestOf(image) }),
    "v1/oci_manifest": (image) => {
      // Asked for by the digest that was given for a tag, or by the reference itself.
      const reference = parseReference(image);
      const tagged = asked.find(
        (other) =>
          parseReference(other.image)?.repository === reference?.repository &&
          entryOf(other.image).answer === "digest" &&
          digestOf(other.image) === reference?.digest,
      );
      const name = tagged?.image ?? image;
      digestOf(name);
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

/** An image's manifest: an index where there are platforms, else that of one image. */
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
