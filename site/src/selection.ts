/**
 * The policies of the example files, and the requests that the API server would send to each policy.
 */

import { at, isEqual, isObject, type Json, type JsonObject, listAt, textAt } from "./json.ts";
import { type AdmissionRequest, podSpec } from "./objects.ts";
import { parseDocuments } from "./yaml.ts";

/** A ClusterAdmissionPolicy of an example file. */
export type Policy = {
  spec: JsonObject;
  settings: JsonObject;
  /** The expressions of its `matchConditions`. */
  conditions: string[];
  /** Whether it only audits: the API server sends it no request. */
  audits: boolean;
};

/** An example file. */
export type ExampleFile = {
  name: string;
  /** The text after `# For:` at its top. */
  purpose: string;
  /** Its policies. None if it needs no Kubewarden. */
  policies: Policy[];
  /** The name of the file whose policies see each Pod first, if it is a second policy. */
  after: string | undefined;
};

/** The expressions of `matchConditions` that the page knows, with what they say about a request. */
const CONDITIONS = new Map<string, (request: AdmissionRequest) => boolean>([
  ["false", () => false],
  [
    'request.resource.resource != "pods" || ' +
      '"batch.kubernetes.io/job-name" in object.metadata.?labels.orValue({})',
    ({ resource, object }) =>
      textAt(resource, "resource") !== "pods" ||
      textAt(object, "metadata", "labels", "batch.kubernetes.io/job-name") !== undefined,
  ],
  [
    'request.operation != "UPDATE" || has(request.subResource) || ' +
      "object.spec.containers.map(c, c.image) != oldObject.spec.containers.map(c, c.image) || " +
      "object.spec.?initContainers.orValue([]).map(c, c.image) != " +
      "oldObject.spec.?initContainers.orValue([]).map(c, c.image)",
    (request) =>
      request["operation"] !== "UPDATE" ||
      request["subResource"] !== undefined ||
      ["containers", "initContainers"].some((list) => {
        const images = (key: string) =>
          listAt(podSpec(request[key]), list).map((container) => textAt(container, "image"));
        return images("object").join("\n") !== images("oldObject").join("\n");
      }),
  ],
]);

function conditionsOf(spec: JsonObject): string[] {
  return listAt(spec, "matchConditions").map((condition) => {
    const expression = String(at(condition, "expression")).replace(/\s+/g, " ").trim();
    if (CONDITIONS.has(expression)) return expression;
    throw new Error(`the page doesn't know this expression: ${expression}`);
  });
}

/**
 * Reads the example files, by their names.
 *
 * @throws if an expression of `matchConditions` is unknown: then the page can't tell what the policy
 * selects. vite.config.ts calls this, so such an expression breaks the build.
 */
export function readFiles(manifests: Record<string, string>): ExampleFile[] {
  const files = Object.entries(manifests).map(([name, manifest]) => ({
    name,
    purpose: purposeOf(manifest),
    policies: policiesOf(manifest),
  }));
  return files.map((file) => ({ ...file, after: firstOf(file, files) }));
}

/** The paragraph after `# For:`, in one line, without backticks. */
function purposeOf(manifest: string): string {
  const [, text = ""] = /^# For: (.*(?:\n# (?![A-Z][\w ]*:).*)*)/.exec(manifest) ?? [];
  return text.replace(/\n#\s*/g, " ").replaceAll("`", "");
}

function policiesOf(manifest: string): Policy[] {
  const policies = parseDocuments(manifest).documents.flatMap(({ value }): Policy[] => {
    const spec = at(value, "spec");
    if (textAt(value, "kind") !== "ClusterAdmissionPolicy" || !isObject(spec)) return [];
    const settings = spec["settings"];
    const conditions = conditionsOf(spec);
    // No request meets this condition. The audit scanner reads no conditions.
    const audits = conditions.includes("false");
    return [{ spec, settings: isObject(settings) ? settings : {}, conditions, audits }];
  });
  // Mutating webhooks come before validating ones.
  const isMutating = ({ spec }: Policy) => spec["mutating"] === true;
  return [...policies.filter(isMutating), ...policies.filter((policy) => !isMutating(policy))];
}

/**
 * The first policy's file, if this file is a second policy: a validating policy with the selectors
 * of a mutating one, and with those of its settings that a second policy keeps.
 */
function firstOf(
  file: { name: string; policies: Policy[] },
  files: { name: string; policies: Policy[] }[],
): string | undefined {
  const [second, ...more] = file.policies;
  if (!second || more.length > 0 || second.audits || second.spec["mutating"] === true) {
    return undefined;
  }
  const kept = ({ spec, settings }: Policy) => {
    const { mode: _mode, templates: _templates, registry: _registry, ...rest } = settings;
    const { coverage: _coverage, ...checks } = isObject(rest["imageChecks"])
      ? rest["imageChecks"]
      : {};
    const { namespaceSelector = null, objectSelector = null } = spec;
    return { ...rest, imageChecks: checks, namespaceSelector, objectSelector };
  };
  return files.find(
    ({ policies: [first] }) =>
      first?.spec["mutating"] === true && isEqual(kept(first), kept(second)),
  )?.name;
}

/** Whether the API server, or the audit scanner of a policy that audits, sends the request. */
export function selects(
  { spec, audits, conditions }: Policy,
  request: AdmissionRequest,
  namespaceLabels: (namespace: string) => JsonObject,
): boolean {
  const namespace = textAt(request, "namespace") ?? "default";
  const labels = at(request["object"] ?? request["oldObject"], "metadata", "labels");
  return (
    listAt(spec, "rules").some((rule) => names(rule, request)) &&
    isSelected(spec["namespaceSelector"], namespaceLabels(namespace)) &&
    isSelected(spec["objectSelector"], isObject(labels) ? labels : {}) &&
    (audits || conditions.every((condition) => CONDITIONS.get(condition)?.(request)))
  );
}

/** Whether a rule names the request. */
function names(rule: Json, request: AdmissionRequest): boolean {
  const part = textAt(request, "subResource");
  const resource = textAt(request, "resource", "resource") ?? "";
  return (
    listAt(rule, "apiGroups").includes(textAt(request, "resource", "group") ?? "") &&
    listAt(rule, "resources").includes(part ? `${resource}/${part}` : resource) &&
    listAt(rule, "operations").includes(textAt(request, "operation") ?? "")
  );
}

/** Whether a label selector matches these labels. */
function isSelected(selector: Json | undefined, labels: JsonObject): boolean {
  const wanted = at(selector, "matchLabels");
  return (
    Object.entries(isObject(wanted) ? wanted : {}).every(([key, value]) => labels[key] === value) &&
    listAt(selector, "matchExpressions").every((expression) => {
      const key = textAt(expression, "key") ?? "";
      const isThere = Object.hasOwn(labels, key);
      const isListed = isThere && listAt(expression, "values").includes(labels[key] ?? "");
      const operator = textAt(expression, "operator") ?? "";
      const operators: Record<string, boolean> = {
        Exists: isThere,
        DoesNotExist: !isThere,
        In: isListed,
        NotIn: !isListed,
      };
      const matches = operators[operator];
      if (matches === undefined) throw new Error(`${operator} is no operator of a label selector`);
      return matches;
    })
  );
}
