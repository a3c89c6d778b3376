/** Files that a person opens. */

/**
 * The text of a file. A file with the byte order mark of UTF-16 (PowerShell's `>` writes it) is
 * read as UTF-16. Any other file is read as UTF-8.
 */
export async function textOf(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe
      ? "utf-16le"
      : first === 0xfe && second === 0xff
        ? "utf-16be"
        : "utf-8";
  return new TextDecoder(encoding).decode(bytes);
}
