/**
 * Links that contain the typed texts. The texts are in the fragment of the URL, because browsers
 * don't send the fragment to the server.
 *
 * A fragment is `#1=` and JSON, compressed (deflate-raw) and encoded in base64url.
 */

import type { Question } from "./types.ts";

/** The texts that a person has typed, and what the person chose. */
export type Typed = { object: string; settings: string; question: Question; preset: string };

const VERSION = "1=";

async function pass(bytes: Uint8Array, through: GenericTransformStream): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart])
    .stream()
    .pipeThrough(through as ReadableWritablePair);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The fragment, without its `#`. */
export async function toFragment(typed: Typed): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(typed));
  const bytes = await pass(text, new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const base64 = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return VERSION + base64;
}

/**
 * The content of a fragment; `undefined` if the fragment doesn't start with `1=`.
 *
 * @throws if the rest of the fragment is damaged.
 */
export async function fromFragment(fragment: string): Promise<Typed | undefined> {
  const text = fragment.replace(/^#/, "");
  if (!text.startsWith(VERSION)) return undefined;
  try {
    const base64 = text.slice(VERSION.length).replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const json = new TextDecoder().decode(
      await pass(bytes, new DecompressionStream("deflate-raw")),
    );
    const typed = JSON.parse(json) as Partial<Typed>;
    if (typeof typed.object !== "string" || typeof typed.settings !== "string") throw new Error();
    return typed as Typed;
  } catch (cause) {
    throw new Error("the link is damaged: ask for it again, it may have been cut", { cause });
  }
}
