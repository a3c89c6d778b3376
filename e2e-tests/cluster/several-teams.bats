# Tenants under the operator's examples/multi-tenant.yaml: images that only one of them may pull, on a node; and a tenant's
# AdmissionPolicy beside it (docs/install.md, Several teams).
load lib

teardown_file() { remove_presets; }

# tenants_policy: a policy of this test's namespace, with the settings of air-gapped.yaml. Without Kubewarden's controller,
# it is the webhook that runs last, as up to Kubewarden 1.37.1.
tenants_policy() {
  if [[ -n ${POLICY_SERVER:-} ]]; then
    webhook zz-tenant "$WEBHOOKS/validate/consistent-pull-policy-air-gapped"
  else
    preset air-gapped '.kind = "AdmissionPolicy" | .metadata.name = "tenant" | del(.spec.namespaceSelector)' |
      kube apply --filename -
    kube wait --for=condition=PolicyUniquelyReachable --timeout=600s admissionpolicy/tenant
  fi
}

# create_private NAME PULL-POLICY: creates a Pod that no scheduler sees.
create_private() {
  create "$1" "app main =registry.example.com/private/app:1 $2" "$unselected | .spec.schedulerName = \"none\""
}

@test "a tenant's policy may have the last word, and the guard rejects what it stored" {
  local policy undone=()
  apply_preset multi-tenant
  tenants_policy
  for policy in Always IfNotPresent Never; do
    create_private "first-${policy,,}" "$policy"
    is "first-${policy,,}" 'pulls("main") == "Always"' || undone+=("$policy")
  done
  echo "# undone: ${undone[*]:-nothing}" >&3
  [[ -z ${POLICY_SERVER:-} || ${undone[*]} == "Always IfNotPresent Never" ]]

  apply_preset multi-tenant-guard
  for policy in Always IfNotPresent Never; do
    if [[ " ${undone[*]} " == *" $policy "* ]]; then
      not create_private "second-${policy,,}" "$policy"
      [[ $output == *'denied the request: main pulls registry.example.com/private/app:1 with IfNotPresent'* ]]
    else
      create_private "second-${policy,,}" "$policy"
      is "second-${policy,,}" 'pulls("main") == "Always"'
    fi
  done
}

@test "a private image that the node has: a tenant with its pull secret starts, and others wait" {
  local policy private=registry.example.com/private/$NS:v1 secret='.spec.imagePullSecrets = [{name: "pull"}]'
  apply multi-tenant
  image "$private"
  kube create secret docker-registry pull --docker-server registry.example.com --docker-username user --docker-password password
  create owner "app main =$private IfNotPresent" "$secret"
  comes owner 'running("main")'
  for policy in Always IfNotPresent Never; do
    # The label that excludes a Pod from other presets is no way out.
    create "other-${policy,,}" "app main =$private $policy" "$unselected"
    is "other-${policy,,}" 'pulls("main") == "Always"'
    comes "other-${policy,,}" 'waits_for_image("main")'
    create "again-${policy,,}" "app main =$private $policy" "$secret"
    comes "again-${policy,,}" 'running("main")'
  done
  touch "$RUN/stopped"
  create unreachable "app main =$private IfNotPresent" "$secret"
  comes unreachable 'waits_for_image("main")'
}
