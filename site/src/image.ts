/** Names of images, as texts. The page doesn't parse images: this policy does (`factsOf` in evaluate.ts). */

/** The name under which a node keeps an image: the image as it is written, with `:latest` if it has no tag and no digest. */
export function nodeName(image: string): string {
  return /@|:[^/]*$/.test(image) ? image : `${image}:latest`;
}

/**
 * The name of an image in the registry, before and after this policy has pinned it: without the digest if there is a
 * tag.
 */
export function imageName(image: string): string {
  return nodeName(image).replace(/(:[^/@]*)@.*$/, "$1");
}

/** The image as the page shows it. A digest with sha256 is shortened. */
export function shortDigest(image: string): string {
  return image.replace(/(@sha256:[0-9a-f]{12})[0-9a-f]{52}$/, "$1…");
}
