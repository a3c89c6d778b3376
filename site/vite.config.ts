import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** What `make site` builds first: the policy's module, and the schema of its settings. */
const BUILT = {
  "virtual:policy-module": file(process.env["POLICY_MODULE"] ?? "../annotated-policy.wasm"),
  "virtual:settings-schema": file("generated/settings.schema.json"),
};

/**
 * Puts both into scripts. The module's bytes are the file's: they come with the page, so that the
 * page never has to fetch anything and its Content-Security-Policy can forbid that altogether.
 */
function built(): Plugin {
  return {
    name: "built",
    resolveId: (id) => (Object.hasOwn(BUILT, id) ? `\0${id}` : undefined),
    load(id) {
      const path = BUILT[id.slice(1) as keyof typeof BUILT];
      if (!id.startsWith("\0") || path === undefined) return undefined;
      this.addWatchFile(path);
      const bytes = readFileSync(path);
      return path.endsWith(".json")
        ? `export default ${bytes}`
        : `export default ${JSON.stringify(bytes.toString("base64"))}`;
    },
  };
}

export default defineConfig({
  // Below any path: GitHub Pages serves a project under its name.
  base: "./",
  plugins: [built()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // A test holds the size of the first load, compressed.
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      output: {
        // The module by itself: the page's own size is what is left.
        codeSplitting: {
          groups: [{ name: "policy-module", test: /virtual:policy-module/ }],
        },
      },
    },
  },
  preview: { port: 4173, strictPort: true },
  test: { dir: "tests/unit" },
} as Parameters<typeof defineConfig>[0]);
