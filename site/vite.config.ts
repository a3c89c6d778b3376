import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";
import { readFiles } from "./src/selection.ts";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** `make site` builds these first: the module of this policy, and the schema of its settings. */
const BUILT = {
  "virtual:policy-module": file(process.env["POLICY_MODULE"] ?? "../annotated-policy.wasm"),
  "virtual:settings-schema": file("generated/settings.schema.json"),
};

/**
 * Puts both into scripts. So they come with the page, which never has to fetch anything, and its
 * Content-Security-Policy can forbid every connection.
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

/** Reads the example files once: an expression that the page doesn't know ends the build. */
function examples(): Plugin {
  const folder = file("../examples/");
  return {
    name: "examples",
    buildStart() {
      const names = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
      readFiles(
        Object.fromEntries(names.map((name) => [name, readFileSync(folder + name, "utf8")])),
      );
    },
  };
}

export default defineConfig({
  // The page works below any path: GitHub Pages serves a project below its name.
  base: "./",
  plugins: [built(), examples()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // A test checks the compressed size of the first load.
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      output: {
        // The module gets a file of its own, so that the size of the rest can be measured.
        codeSplitting: {
          groups: [{ name: "policy-module", test: /virtual:policy-module/ }],
        },
      },
    },
  },
  preview: { port: 4173, strictPort: true },
  // The limits end a test that hangs, and no test that a busy machine slows down.
  test: { dir: "tests/unit", testTimeout: 600_000, hookTimeout: 600_000 },
} as Parameters<typeof defineConfig>[0]);
