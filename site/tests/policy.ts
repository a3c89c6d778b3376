import { readFileSync } from "node:fs";

/** The built module of this policy. */
export const policy = new WebAssembly.Module(
  readFileSync(
    process.env["POLICY_MODULE"] ?? new URL("../../annotated-policy.wasm", import.meta.url),
  ),
);
