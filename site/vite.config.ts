import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** `make site` builds both first: the module of this policy, and the core of the survey. */
const BUILT = {
  "virtual:policy-module": file(process.env["POLICY_MODULE"] ?? "../annotated-policy.wasm"),
  "virtual:survey-module": file("generated/survey.wasm"),
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
      return `export default ${JSON.stringify(readFileSync(path).toString("base64"))}`;
    },
  };
}

export default defineConfig({
  // The page works below any path: GitHub Pages serves a project below its name.
  base: "./",
  plugins: [built()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // A test checks the compressed size of the first load.
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      output: {
        // The modules get a file of their own, so that the size of the rest can be measured.
        codeSplitting: {
          groups: [{ name: "modules", test: /virtual:(policy|survey)-module/ }],
        },
      },
    },
  },
  preview: { port: 4173, strictPort: true },
  // The limits end a test that hangs, and no test that a busy machine slows down.
  test: { dir: "tests/unit", testTimeout: 600_000, hookTimeout: 600_000 },
} as Parameters<typeof defineConfig>[0]);
