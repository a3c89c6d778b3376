/**
 * Parses image references, for the server defaults, the table of registries and the drawing of a
 * Pod's start. The grammar is that of github.com/distribution/reference, the API server's parser.
 */

const component = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const domain = `(?:${component}(?:\\.${component})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const path = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const reference = new RegExp(
  `^((?:${domain}/)?${path}(?:/${path})*)(?::(\\w[\\w.-]{0,127}))?(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$`,
);
const digests = /^(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})$/;

export type Reference = {
  registry: string;
  repository: string;
  tag: string | undefined;
  digest: string | undefined;
};

/**
 * Parses and normalises an image reference: `nginx` is `docker.io/library/nginx`. `undefined` if
 * the API server's parser fails.
 */
export function parseReference(image: string): Reference | undefined {
  if (/^[0-9a-f]{64}$/.test(image)) return undefined;
  const slash = image.indexOf("/");
  const first = image.slice(0, Math.max(slash, 0));
  const hasRegistry =
    slash >= 0 && (/[.:]/.test(first) || first === "localhost" || first.toLowerCase() !== first);
  let registry = hasRegistry ? first : "docker.io";
  if (registry === "index.docker.io") registry = "docker.io";
  let rest = hasRegistry ? image.slice(slash + 1) : image;
  if (registry === "docker.io" && !rest.includes("/")) rest = `library/${rest}`;
  const match = reference.exec(`${registry}/${rest}`);
  if (!match?.[1] || match[1].length > 255) return undefined;
  const [, name, tag, digest] = match;
  if (digest !== undefined && !digests.test(digest)) return undefined;
  return { registry, repository: name.slice(registry.length + 1), tag, digest };
}

/**
 * One name for all spellings of an image: `nginx` is `docker.io/library/nginx:latest`. A digest is
 * part of the name only if there is no tag. An image that can't be parsed keeps its spelling.
 */
export function imageName(image: string): string {
  const found = parseReference(image);
  if (!found) return image;
  const { registry, repository, tag, digest } = found;
  const end = tag === undefined && digest !== undefined ? `@${digest}` : `:${tag ?? "latest"}`;
  return `${registry}/${repository}${end}`;
}

/** The image as the page shows it. A digest with sha256 is shortened. */
export function shortDigest(image: string): string {
  return image.replace(/(@sha256:[0-9a-f]{12})[0-9a-f]{52}$/, "$1…");
}
