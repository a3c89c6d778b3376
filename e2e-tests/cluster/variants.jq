# The policies of the presets, and those that the chart makes of them with values that pages or headers name: with a suffix
# at their names. policies.sh serves them all, and `preset` (lib.bash) gives one.
def variants:
  def variant($preset; $suffix; change):
    select(.metadata.name == "consistent-pull-policy-" + $preset) | .metadata.name += "-" + $suffix | .spec |= change;
  .,
  # What guard.enabled makes.
  variant("multi-tenant"; "guard"; .mutating = false | .settings.mode = "Reject"),
  variant("jobs"; "init-containers"; .settings |= (.registry.lookup = "Off" | .imageChecks += {
    type: "InitContainer", insertAfter: ["copy-tools"],
    template: {command: ["/tools/busybox", "true"], volumeMounts: [{name: "tools", mountPath: "/tools", readOnly: true}]}})),
  variant("agent-stack-k8s-volumes"; "off";
    .settings.registry.lookup = "Off" | .failurePolicy = "Fail" | del(.policyServer)),
  variant("always-by-digest"; "pin"; .settings.registry.lookup = "Pin"),
  variant("always-by-digest"; "use-cached"; .settings.registry.onUnavailable = "UseCached"),
  variant("audit"; "registry"; .settings.registry = {lookup: "Verify", images: ["*"]} | .timeoutEvalSeconds = 10);
