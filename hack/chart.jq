# Chart.yaml of the Helm chart, of artifacthub-pkg.yml. Rancher's UI lists the charts of the type
# kubewarden-policy as policies, and makes the policy from these annotations, the values and the
# questions. It doesn't list a hidden chart as an app: an app's form would take its answers for
# values of the chart. Some versions of the UI read the module's address in the annotations, and
# others in the values.
(.containersImages[0].image | capture("^(?<registry>[^/]*)/(?<repository>.*):(?<tag>.*)$")) as $module
| {
  apiVersion: "v2", name, version, appVersion: .version, description, home: .homeURL, icon: .logoURL,
  keywords, sources: [.homeURL], maintainers,
  # The first version in which webhooks have matchConditions without a feature gate.
  kubeVersion: ">=1.30.0-0",
  annotations: (.annotations + {
    "catalog.cattle.io/type": "kubewarden-policy",
    "catalog.cattle.io/ui-component": "kubewarden",
    "catalog.cattle.io/hidden": "true",
    "kubewarden/displayName": .displayName,
    "kubewarden/registry": $module.registry,
    "kubewarden/repository": $module.repository,
    "kubewarden/tag": $module.tag} | del(.["kubewarden/questions-ui"]))
}
