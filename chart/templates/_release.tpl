{{/* The objects of the release as JSON: `policy`, `guard` and `server` if the release makes them, the chart's `values` with
     their defaults, and what the notes have to know. Wrong values end the rendering here, but for `helm lint`, which goes on
     with an empty object. */}}
{{- define "consistent-pull-policy.release" }}
  {{- /* `null` and empty values count as not set. In `settings`, they have a meaning. */}}
  {{- $defaults := .Files.Get "defaults.yaml" | fromYaml }}
  {{- $values := deepCopy $defaults }}
  {{- $_ := include "consistent-pull-policy.overlay" (dict "base" $values "part" (omit .Values "settings")) }}
  {{- /* Only a cluster, or Argo CD in its name, tells its kinds. */}}
  {{- $release := dict "root" . "values" $values "preset" $values.preset "isCluster" (.Capabilities.APIVersions.Has "v1/Pod") }}
  {{- if and $release.isCluster (not (.Capabilities.APIVersions.Has "policies.kubewarden.io/v1/ClusterAdmissionPolicy")) }}
    {{- fail "this cluster has no ClusterAdmissionPolicy (policies.kubewarden.io/v1): install Kubewarden first, https://docs.kubewarden.io/quick-start" }}
  {{- else if not (.Files.Get (printf "examples/%s.yaml" $values.preset)) }}
    {{- fail (printf "preset: %s. The presets are %s. (An upgrade with only new values needs --reset-then-reuse-values, which keeps the others)" ($values.preset | empty | ternary "choose one" (printf "there is no %s" $values.preset)) (include "consistent-pull-policy.presets" .)) }}
  {{- else }}
    {{- $_ := include "consistent-pull-policy.setPolicy" (set $release "defaults" $defaults) }}
    {{- $_ := include "consistent-pull-policy.setServer" $release }}
    {{- $_ := include "consistent-pull-policy.setGuard" $release }}
    {{- $problems := list }}
    {{- range $check := list "Values" "ForPreset" "Server" "Guard" }}
      {{- $problems = append $problems (include (printf "consistent-pull-policy.wrong%s" $check) $release) }}
    {{- end }}
    {{- $problems = append $problems (include "consistent-pull-policy.wrongSettings" $release.policy.spec.settings) }}
    {{- if not $release.isAudit }}
      {{- $problems = append $problems (include "consistent-pull-policy.wrongTimeouts" $release.policy.spec) }}
    {{- end }}
    {{- if $release.addsVolumes }}
      {{- $problems = append $problems (include "consistent-pull-policy.wrongNodes" $release) }}
    {{- end }}
    {{- with compact $problems }}
      {{- fail (printf "\n%s" (join "\n" . | trimSuffix "\n" | replace "\n\n" "\n")) }}
    {{- end }}
    {{- include "consistent-pull-policy.refusePairs" $release }}
    {{- if and $release.server (not (dig "server" "spec" "image" "" $release)) }}
      {{- fail "policyServer.image is required where the cluster's PolicyServer `default` can't be read. Write its image: kubectl get policyserver default --output jsonpath={.spec.image}" }}
    {{- end }}
    {{- toJson (omit $release "root" "nodes") }}
  {{- end }}
{{- end }}

{{/* The manifests of a preset: `policy`, and `server` if the file has a PolicyServer. */}}
{{- define "consistent-pull-policy.manifests" }}
  {{- $manifests := dict }}
  {{- range regexSplit "(?m)^---$" (.root.Files.Get (printf "examples/%s.yaml" .preset)) -1 }}
    {{- $manifest := fromYaml . }}
    {{- $_ := set $manifests (eq $manifest.kind "PolicyServer" | ternary "server" "policy") $manifest }}
  {{- end }}
  {{- toYaml $manifests }}
{{- end }}

{{- define "consistent-pull-policy.presets" }}
  {{- $names := list }}
  {{- range $path, $_ := .Files.Glob "examples/*.yaml" }}
    {{- $names = append $names (base $path | trimSuffix ".yaml") }}
  {{- end }}
  {{- join ", " $names }}
{{- end }}

{{/* The presets with lookups, each with its lookups in brackets. */}}
{{- define "consistent-pull-policy.lookupPresets" }}
  {{- $names := list }}
  {{- range $path, $_ := .Files.Glob "examples/*.yaml" }}
    {{- $name := base $path | trimSuffix ".yaml" }}
    {{- with include "consistent-pull-policy.looksUp" (include "consistent-pull-policy.manifests" (dict "root" $ "preset" $name) | fromYaml).policy.spec }}
      {{- $names = append $names (print $name .) }}
    {{- end }}
  {{- end }}
  {{- join ", " $names }}
{{- end }}

{{/* The lookups of a spec in brackets, or nothing. */}}
{{- define "consistent-pull-policy.looksUp" }}
  {{- $lookup := dig "registry" "lookup" "Off" (.settings | default dict) }}
  {{- if and $lookup (ne (toString $lookup) "Off") }} ({{ $lookup }}){{ end }}
{{- end }}

{{/* Lays `part` over `base`, in place. `asWritten`, `null` takes a key away; otherwise, `null` and "" leave
     what is there. */}}
{{- define "consistent-pull-policy.overlay" }}
  {{- range $key, $value := .part }}
    {{- if kindIs "map" $value }}
      {{- if not (kindIs "map" (get $.base $key)) }}
        {{- $_ := set $.base $key dict }}
      {{- end }}
      {{- $_ := include "consistent-pull-policy.overlay" (dict "base" (get $.base $key) "part" $value "asWritten" $.asWritten) }}
    {{- else if and (kindIs "invalid" $value) $.asWritten }}
      {{- $_ := unset $.base $key }}
    {{- else if or $.asWritten (not (kindIs "invalid" $value | or (eq (toString $value) "" | and (hasKey $.base $key)))) }}
      {{- $_ := set $.base $key $value }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* Sets `file`, the manifests of the preset, and `policy`, its policy with the release's values. */}}
{{- define "consistent-pull-policy.setPolicy" }}
  {{- $values := .values }}
  {{- $_ := set . "file" (include "consistent-pull-policy.manifests" . | fromYaml) }}
  {{- $_ := set . "policy" (deepCopy .file.policy) }}
  {{- $spec := .policy.spec }}
  {{- with $values.fullnameOverride }}
    {{- $_ := set $.policy.metadata "name" . }}
    {{- $_ := set $.policy.metadata "labels" (dict "consistent-pull-policy/preset" $.preset) }}
  {{- end }}
  {{- $_ := set $spec "module" (include "consistent-pull-policy.module" .) }}
  {{- $_ := include "consistent-pull-policy.overlay" (dict "base" $spec.settings "part" .root.Values.settings "asWritten" true) }}
  {{- range $key, $value := omit $values.spec "matchConditions" }}
    {{- if or $value (kindIs "bool" $value) }}
      {{- $_ := set $spec $key $value }}
    {{- end }}
  {{- end }}
  {{- with $values.spec.matchConditions }}
    {{- $_ := set $spec "matchConditions" (concat ($spec.matchConditions | default list) .) }}
  {{- end }}
  {{- /* The API server calls no policy with this condition, only the audit scanner does. */}}
  {{- $_ := set . "isAudit" false }}
  {{- range .file.policy.spec.matchConditions }}
    {{- $_ := set $ "isAudit" (eq .expression "false" | or $.isAudit) }}
  {{- end }}
  {{- if and .isAudit (include "consistent-pull-policy.looksUp" $spec) }}
    {{- $_ := set $spec "timeoutEvalSeconds" ($spec.timeoutEvalSeconds | default 10) }}
  {{- end }}
  {{- with $values.mode }}
    {{- $_ := set $spec "mode" . }}
    {{- if eq . "monitor" }}
      {{- $_ := set $spec "failurePolicy" "Ignore" }}
    {{- end }}
  {{- end }}
  {{- /* If the policy server ends first, its answer is an error 500, which rejects in spite of Ignore. */}}
  {{- if and (eq (toString $spec.failurePolicy) "Ignore") (not .isAudit) }}
    {{- $_ := set $spec "timeoutSeconds" ($spec.timeoutSeconds | default 10) }}
    {{- $_ := set $spec "timeoutEvalSeconds" ($spec.timeoutEvalSeconds | default $spec.timeoutSeconds) }}
  {{- end }}
  {{- $there := lookup "policies.kubewarden.io/v1" "ClusterAdmissionPolicy" "" .policy.metadata.name }}
  {{- $_ := set . "isMonitored" (eq "monitor" (dig "spec" "mode" "" $there)) }}
  {{- $selectsPods := include "consistent-pull-policy.podRules" $spec | fromYamlArray | empty | not }}
  {{- $mode := $spec.settings.mode | default "Fix" }}
  {{- $_ := set $spec "mutating" (and $selectsPods (ne $mode "Reject")) }}
  {{- $_ := set . "fixes" (and $selectsPods (eq $mode "Fix")) }}
  {{- $_ := set . "changesWebhook" (ne $spec.mutating (dig "spec" "mutating" $spec.mutating $there)) }}
  {{- $imageChecks := $spec.settings.imageChecks | default dict }}
  {{- $_ := set . "addsVolumes" (and .fixes (eq (toString $imageChecks.onMissing) "Add") (eq (toString $imageChecks.type) "ImageVolume")) }}
  {{- $_ := set . "nodes" (and .addsVolumes $values.checkNodes | ternary (lookup "v1" "Node" "" "").items list | default list) }}
  {{- $_ := set . "hasSeenNodes" (gt (len .nodes) 0) }}

  {{- $expressions := $values.namespaces.matchExpressions | default list }}
  {{- with $values.namespaces.only }}
    {{- $expressions = prepend $expressions (dict "key" "kubernetes.io/metadata.name" "operator" "In" "values" .) }}
  {{- end }}
  {{- with $values.namespaces.exclude }}
    {{- $expressions = append $expressions (dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" .) }}
  {{- end }}
  {{- range $selector, $added := dict "namespaceSelector" (set $values.namespaces "matchExpressions" $expressions) "objectSelector" $values.objects }}
    {{- $expressions := dig $selector "matchExpressions" list $spec }}
    {{- /* Kubewarden passes on no labels of a namespaceSelector. */}}
    {{- range $key, $value := $added.matchLabels }}
      {{- $expressions = append $expressions (dict "key" $key "operator" "In" "values" (list $value)) }}
    {{- end }}
    {{- with concat $expressions ($added.matchExpressions | default list) }}
      {{- $_ := set $spec $selector (set (get $spec $selector | default dict) "matchExpressions" .) }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* The rules of a spec that name Pods, with no other resources. */}}
{{- define "consistent-pull-policy.podRules" }}
  {{- $rules := list }}
  {{- range .rules }}
    {{- $resources := list }}
    {{- range .resources }}
      {{- if regexMatch `^(pods|\*)` . }}{{ $resources = append $resources . }}{{ end }}
    {{- end }}
    {{- if $resources }}
      {{- $rules = append $rules (set (deepCopy .) "resources" $resources) }}
    {{- end }}
  {{- end }}
  {{- toYaml $rules }}
{{- end }}

{{/* The address of the module. The chart's own digest belongs to the chart's own tag. */}}
{{- define "consistent-pull-policy.module" }}
  {{- $module := .values.module }}
  {{- $own := .defaults.module }}
  {{- $isOtherTag := and (eq (toString $module.digest) (toString $own.digest)) (ne $module.tag $own.tag) }}
  {{- $version := printf ":%s" $module.tag }}
  {{- if and $module.digest (not $isOtherTag) }}
    {{- $version = printf "@%s" $module.digest }}
  {{- end }}
  {{- printf "registry://%s/%s%s" .values.global.cattle.systemDefaultRegistry $module.repository $version }}
{{- end }}

{{/* Sets `isServerMade`, the name of the policy's server and, if the release makes one, `server`. */}}
{{- define "consistent-pull-policy.setServer" }}
  {{- $values := .values.policyServer }}
  {{- $spec := .policy.spec }}
  {{- $_ := set . "isServerMade" (kindIs "bool" $values.create | ternary $values.create (hasKey .file "server")) }}
  {{- if .isServerMade }}
    {{- $_ := set $spec "policyServer" (coalesce $values.name .values.fullnameOverride $spec.policyServer .preset) }}
    {{- $_ := set . "server" (include "consistent-pull-policy.server" . | fromYaml) }}
  {{- else if $values.name }}
    {{- $_ := set $spec "policyServer" $values.name }}
  {{- end }}
{{- end }}

{{/* The PolicyServer that the release makes. */}}
{{- define "consistent-pull-policy.server" }}
  {{- $name := .policy.spec.policyServer }}
  {{- $values := .values.policyServer }}
  {{- $image := $values.image }}
  {{- if kindIs "map" $image }}
    {{- $image = printf "%s/%s:%s" .values.global.cattle.systemDefaultRegistry $image.repository $image.tag }}
  {{- end }}
  {{- $replicas := $values.replicaCount | default 2 }}
apiVersion: policies.kubewarden.io/v1
kind: PolicyServer
metadata:
  name: {{ $name }}
spec:
  image: {{ $image | default (dig "spec" "image" "" (lookup "policies.kubewarden.io/v1" "PolicyServer" "" "default")) | quote }}
  replicas: {{ $replicas }}
  {{- with kindIs "invalid" $values.minAvailable | ternary (gt (int $replicas) 1 | ternary 1 0) $values.minAvailable }}
  minAvailable: {{ . }}
  {{- end }}
  affinity:
    {{- if $values.affinity }}
    {{- toYaml $values.affinity | nindent 4 }}
    {{- else }}
    podAntiAffinity:
      # Required, an update would need one node more than there are replicas.
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels:
                kubewarden/policy-server: {{ $name }}
    {{- end }}
  {{- range $key := list "annotations" "imagePullSecret" "insecureSources" "priorityClassName" "tolerations" }}
  {{- with get $values $key }}
  {{ $key }}: {{ toJson . }}
  {{- end }}
  {{- end }}
  {{- range $key := list "limits" "requests" }}
  {{- $quantities := dict }}
  {{- range $resource, $value := get $values $key }}
    {{- with include "consistent-pull-policy.text" $value }}{{ $_ := set $quantities $resource . }}{{ end }}
  {{- end }}
  {{- with $quantities }}
  {{ $key }}: {{ toJson . }}
  {{- end }}
  {{- end }}
  {{- $variables := list }}
  {{- range $values.env }}
    {{- if hasKey . "value" }}
      {{- $variables = append $variables (set . "value" (include "consistent-pull-policy.text" .value)) }}
    {{- else }}
      {{- $variables = append $variables . }}
    {{- end }}
  {{- end }}
  {{- with $variables }}
  env: {{ toJson . }}
  {{- end }}
  {{- $authorities := dict }}
  {{- range $values.sourceAuthorities }}
    {{- $_ := set $authorities .uri (concat (get $authorities .uri | default list) .certs) }}
  {{- end }}
  {{- with $authorities }}
  sourceAuthorities: {{ toJson . }}
  {{- end }}
{{- end }}

{{/* A value as a text: of `null`, nothing; of a number, no exponent. */}}
{{- define "consistent-pull-policy.text" }}
  {{- if kindIs "float64" . | and (eq (toString (floor .)) (toString .)) }}{{ printf "%.0f" . }}
  {{- else if not (kindIs "invalid" .) }}{{ . }}
  {{- end }}
{{- end }}

{{/* Sets `guard`, the validating policy beside the release's policy. */}}
{{- define "consistent-pull-policy.setGuard" }}
  {{- if .values.guard.enabled }}
    {{- $guard := deepCopy .policy }}
    {{- $_ := set $guard "metadata" (dict "name" (printf "%s-guard" .policy.metadata.name)
      "labels" (dict "consistent-pull-policy/preset" .preset) "annotations" (dict "argocd.argoproj.io/sync-wave" "1")) }}
    {{- $spec := $guard.spec }}
    {{- $_ := set $spec "mutating" false }}
    {{- $_ := set $spec "policyServer" .values.guard.policyServer }}
    {{- $_ := set $spec "rules" (include "consistent-pull-policy.podRules" $spec | fromYamlArray) }}
    {{- if and (eq .preset "multi-tenant") (ne (toString $spec.mode) "monitor") }}
      {{- $_ := set $spec "failurePolicy" "Fail" }}
    {{- end }}
    {{- $settings := omit $spec.settings "registry" }}
    {{- $_ := set $settings "mode" "Reject" }}
    {{- $_ := set $settings "podTemplates" "Off" }}
    {{- $_ := set $settings "imageChecks" (merge (dict "onMissing" "Warn") ($settings.imageChecks | default dict)) }}
    {{- $_ := set $spec "settings" $settings }}
    {{- $_ := set . "guard" $guard }}
  {{- end }}
{{- end }}

{{/* Fails if the preset can't be combined with a policy of the cluster, whoever made that. */}}
{{- define "consistent-pull-policy.refusePairs" }}
  {{- $pairs := .root.Files.Get "pairs.yaml" | fromYaml }}
  {{- range (lookup "policies.kubewarden.io/v1" "ClusterAdmissionPolicy" "" "").items }}
    {{- $annotations := .metadata.annotations | default dict }}
    {{- $release := get $annotations "meta.helm.sh/release-name" }}
    {{- $namespace := get $annotations "meta.helm.sh/release-namespace" }}
    {{- $isOwn := and (eq $release $.root.Release.Name) (eq $namespace $.root.Release.Namespace) }}
    {{- $other := get (.metadata.labels | default dict) "consistent-pull-policy/preset" | default (trimPrefix "consistent-pull-policy-" .metadata.name) }}
    {{- $sentence := dig $other $.preset "" $pairs }}
    {{- if and $sentence (not $isOwn) (not (has $other ($.values.allowBeside | default list))) }}
      {{- $maker := $release | empty | ternary "which kubectl or another tool has made" (printf "of the release %s in the namespace %s" $release $namespace) }}
      {{- fail (printf "%s can't be combined with %s (the policy %s, %s): %s. Or, if the two select no Pod and no workload in common, set allowBeside={%s}" $.preset $other .metadata.name $maker $sentence $other) }}
    {{- end }}
  {{- end }}
{{- end }}
