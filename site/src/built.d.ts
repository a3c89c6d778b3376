/** `annotated-policy.wasm`, in base64. */
declare module "virtual:policy-module" {
  const base64: string;
  export default base64;
}

/** The survey's core (`survey/page`), in base64. */
declare module "virtual:survey-module" {
  const base64: string;
  export default base64;
}
