/** `annotated-policy.wasm`, in base64. */
declare module "virtual:policy-module" {
  const base64: string;
  export default base64;
}

/** The JSON Schema of the settings, as `xtask/schema.rs` prints it. */
declare module "virtual:settings-schema" {
  const schema: import("./settings.ts").Schema;
  export default schema;
}
