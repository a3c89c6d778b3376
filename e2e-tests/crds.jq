# What Kubewarden's CRDs (v1) and the CRD of a PrometheusRule refuse in a manifest: a line for each field. The table has the
# type of each field: `[TYPE]` is a list, and the field "*" is any other one.
def labels: {"*": "string"};
def selector: {matchLabels: labels, matchExpressions: [{key: "string", operator: "string", values: ["string"]}]};
def types: {
  ClusterAdmissionPolicy: {
    backgroundAudit: "boolean", failurePolicy: "string", matchConditions: [{name: "string", expression: "string"}], mode: "string",
    module: "string", mutating: "boolean", namespaceSelector: selector, objectSelector: selector, policyServer: "string",
    rules: [{apiGroups: ["string"], apiVersions: ["string"], resources: ["string"], operations: ["string"], scope: "string"}],
    settings: {"*": "any"}, timeoutEvalSeconds: "integer", timeoutSeconds: "integer"},
  PolicyServer: {
    affinity: {"*": "any"}, annotations: labels, env: [{name: "string", value: "string", valueFrom: {"*": "any"}}], image: "string",
    imagePullSecret: "string", insecureSources: ["string"], limits: {"*": "quantity"}, minAvailable: "integer or percentage",
    priorityClassName: "string", replicas: "integer", requests: {"*": "quantity"}, sourceAuthorities: {"*": ["string"]},
    tolerations: [{key: "string", operator: "string", value: "string", effect: "string", tolerationSeconds: "integer"}]},
  PrometheusRule: {groups: [{name: "string", rules: [{alert: "string", expr: "string", for: "string", labels: labels, annotations: labels}]}]}};
def required: {ClusterAdmissionPolicy: ["module", "mutating", "rules"], PolicyServer: ["image", "replicas"], PrometheusRule: ["groups"]};

def is($expected):
  if $expected == "integer" then type == "number" and floor == .
  elif $expected == "integer or percentage" then is("integer") or (type == "string" and test("^[0-9]+%$"))
  elif $expected == "quantity" then is("integer") or (type == "string" and test("^([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"))
  else $expected == "any" or $expected == type end;
def wrong($expected; $path):
  if ($expected | type) == "string" then select(is($expected) | not) | "\($path): \(tojson) is no \($expected)"
  elif type != ($expected | type) then "\($path): \(tojson) is no \($expected | type)"
  else . as $value | keys[] as $key
  | (if type == "array" then $expected[0] else $expected[$key] // $expected["*"] end) as $field
  | if $field == null then "\($path): there is no field \($key)" else $value[$key] | wrong($field; "\($path).\($key)") end end;

select(. != null)
| (.metadata | wrong({name: "string", namespace: "string", labels: labels, annotations: labels}; "metadata")),
  (.kind as $kind | .spec | (required[$kind] - keys)[] | "spec lacks \(.)"),
  (types[.kind] as $expected | .spec | wrong($expected; "spec"))
