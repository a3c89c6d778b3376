{{/* The manifests of an example: `policy`, and `server` if the file has a PolicyServer. */}}
{{- define "consistent-pull-policy.manifests" }}
  {{- $manifests := dict }}
  {{- range regexSplit "(?m)^---$" (.files.Get (printf "examples/%s.yaml" .example)) -1 }}
    {{- $manifest := fromYaml . }}
    {{- if eq $manifest.kind "ClusterAdmissionPolicy" }}
      {{- $_ := set $manifests "policy" $manifest }}
    {{- else if eq $manifest.kind "PolicyServer" }}
      {{- $_ := set $manifests "server" $manifest }}
    {{- end }}
  {{- end }}
  {{- toYaml $manifests }}
{{- end }}

{{/* Whether the settings turn lookups on: `true` or nothing. */}}
{{- define "consistent-pull-policy.looksUp" }}
  {{- $lookup := dig "registry" "lookup" "Off" . }}
  {{- if and $lookup (ne (toString $lookup) "Off") }}true{{ end }}
{{- end }}

{{/* Whether the example is an audit or a second policy, whose `settings.mode` can't change: `true` or
     nothing. */}}
{{- define "consistent-pull-policy.keepsMode" }}
  {{- $isSecond := and (eq (toString .settings.mode) "Reject") (eq (toString .settings.templates) "Off") }}
  {{- if or $isSecond (include "consistent-pull-policy.isAudit" .) }}true{{ end }}
{{- end }}

{{/* Whether the API server sends no request to the policy, and only the audit scanner does: `true` or
     nothing. */}}
{{- define "consistent-pull-policy.isAudit" }}
  {{- range .matchConditions }}{{ if eq .expression "false" }}true{{ end }}{{ end }}
{{- end }}

{{/* Lays `part` over `base`, in place. */}}
{{- define "consistent-pull-policy.overlay" }}
  {{- $base := .base }}
  {{- range $key, $value := .part }}
    {{- if kindIs "map" $value }}
      {{- if not (kindIs "map" (get $base $key)) }}
        {{- $_ := set $base $key dict }}
      {{- end }}
      {{- $_ := include "consistent-pull-policy.overlay" (dict "base" (get $base $key) "part" $value) }}
    {{- else if kindIs "invalid" $value }}
      {{- $_ := unset $base $key }}
    {{- else }}
      {{- $_ := set $base $key $value }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* The policy of the release. */}}
{{- define "consistent-pull-policy.policy" }}
  {{- $examples := list }}
  {{- range $path, $_ := .Files.Glob "examples/*.yaml" }}
    {{- $examples = append $examples (base $path | trimSuffix ".yaml") }}
  {{- end }}
  {{- if not (has .Values.example $examples) }}
    {{- fail (printf "example: there is no %s. The examples are %s" .Values.example (join ", " $examples)) }}
  {{- end }}
  {{- $manifests := include "consistent-pull-policy.manifests" (dict "files" .Files "example" .Values.example) | fromYaml }}
  {{- $policy := $manifests.policy }}
  {{- $spec := $policy.spec }}
  {{- $looksUp := include "consistent-pull-policy.looksUp" $spec.settings }}
  {{- $keepsMode := include "consistent-pull-policy.keepsMode" $spec }}
  {{- $mode := $spec.settings.mode }}

  {{- with .Values.fullnameOverride }}
    {{- $_ := set $policy.metadata "name" . }}
    {{- $_ := set $policy.metadata "labels" (dict "consistent-pull-policy/example" $.Values.example) }}
  {{- end }}

  {{- $module := .Values.module.repository }}
  {{- with dig "cattle" "systemDefaultRegistry" "" (.Values.global | default dict) }}
    {{- $module = printf "%s/%s" . $module }}
  {{- end }}
  {{- $version := printf ":%s" .Values.module.tag }}
  {{- with .Values.module.digest }}
    {{- $version = printf "@%s" . }}
  {{- end }}
  {{- $_ := set $spec "module" (printf "registry://%s%s" $module $version) }}

  {{- $_ := include "consistent-pull-policy.overlay" (dict "base" $spec.settings "part" .Values.settings) }}
  {{- if and (include "consistent-pull-policy.looksUp" $spec.settings) (not $looksUp) }}
    {{- $others := list }}
    {{- range $examples }}
      {{- $other := include "consistent-pull-policy.manifests" (dict "files" $.Files "example" .) | fromYaml }}
      {{- if include "consistent-pull-policy.looksUp" $other.policy.spec.settings }}
        {{- $others = append $others (printf "%s (%s)" . $other.policy.spec.settings.registry.lookup) }}
      {{- end }}
    {{- end }}
    {{- fail (printf "settings.registry.lookup: %s has no lookups, because they need other time-outs, another failure policy and a policy server of their own. These examples have lookups: %s" .Values.example (join ", " $others)) }}
  {{- end }}
  {{- if and $keepsMode (ne $mode ($spec.settings.mode | default "Fix")) }}
    {{- $others := list }}
    {{- range $examples }}
      {{- $other := include "consistent-pull-policy.manifests" (dict "files" $.Files "example" .) | fromYaml }}
      {{- if not (include "consistent-pull-policy.keepsMode" $other.policy.spec) }}
        {{- $others = append $others . }}
      {{- end }}
    {{- end }}
    {{- fail (printf "settings.mode: %s has only the mode %s. These examples have other modes: %s" .Values.example $mode (join ", " $others)) }}
  {{- end }}
  {{- $_ := include "consistent-pull-policy.check" $spec.settings }}

  {{- $selectsPods := false }}
  {{- range $spec.rules }}
    {{- $selectsPods = or $selectsPods (has "pods" .resources) }}
  {{- end }}
  {{- $_ := set $spec "mutating" (and $selectsPods (eq ($spec.settings.mode | default "Fix") "Fix")) }}

  {{- with .Values.mode }}
    {{- $_ := set $spec "mode" . }}
    {{- if eq . "monitor" }}
      {{- $_ := set $spec "failurePolicy" "Ignore" }}
    {{- end }}
  {{- end }}

  {{- $namespaces := .Values.namespaces | default dict }}
  {{- $expressions := dig "namespaceSelector" "matchExpressions" list $spec }}
  {{- with $namespaces.only }}
    {{- $expressions = append $expressions (dict "key" "kubernetes.io/metadata.name" "operator" "In" "values" .) }}
  {{- end }}
  {{- with $namespaces.exclude }}
    {{- $expressions = append $expressions (dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" .) }}
  {{- end }}
  {{- with $expressions }}
    {{- $_ := set $spec "namespaceSelector" (dict "matchExpressions" .) }}
  {{- end }}

  {{- $server := .Values.policyServer.name }}
  {{- if and (not $server) (or .Values.policyServer.create $manifests.server) }}
    {{- $server = .Values.fullnameOverride | default $spec.policyServer | default .Values.example }}
  {{- end }}
  {{- with $server }}
    {{- $_ := set $spec "policyServer" . }}
  {{- end }}
  {{- toYaml $policy }}
{{- end }}

{{/* Fails if the release must not stand beside one that this chart has installed. */}}
{{- define "consistent-pull-policy.refusePairs" }}
  {{- $expressions := dig "spec" "namespaceSelector" "matchExpressions" list .policy }}
  {{- $example := .root.Values.example }}
  {{- $others := list }}
  {{- range .root.Files.Get "pairs.yaml" | fromYamlArray }}
    {{- if eq .a $example }}
      {{- $others = append $others .b }}
    {{- else if eq .b $example }}
      {{- $others = append $others .a }}
    {{- end }}
  {{- end }}
  {{- range (lookup "policies.kubewarden.io/v1" "ClusterAdmissionPolicy" "" "").items }}
    {{- $annotations := .metadata.annotations | default dict }}
    {{- $release := get $annotations "meta.helm.sh/release-name" }}
    {{- $namespace := get $annotations "meta.helm.sh/release-namespace" }}
    {{- $isOwn := and (eq $release $.root.Release.Name) (eq $namespace $.root.Release.Namespace) }}
    {{- $other := trimPrefix "consistent-pull-policy-" .metadata.name }}
    {{- $other = get (.metadata.labels | default dict) "consistent-pull-policy/example" | default $other }}
    {{- if and $release (not $isOwn) (has $other $others) }}
      {{- $pair := list $expressions (dig "spec" "namespaceSelector" "matchExpressions" list .) }}
      {{- if not (include "consistent-pull-policy.areApart" $pair) }}
        {{- fail (printf "%s must not stand beside %s, which the release %s in the namespace %s has installed: uninstall that release, or select other namespaces with namespaces.only" $example $other $release $namespace) }}
      {{- end }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* Whether two lists of expressions can't select the same namespace, by their names: `true` or
     nothing. */}}
{{- define "consistent-pull-policy.areApart" }}
  {{- range $lists := list . (reverse .) }}
    {{- range $one := first $lists }}
      {{- range $other := last $lists }}
        {{- if and (eq $one.operator "In") (eq $one.key "kubernetes.io/metadata.name") (eq $other.key $one.key) }}
          {{- $both := list }}
          {{- range $one.values }}
            {{- if has . $other.values }}{{ $both = append $both . }}{{ end }}
          {{- end }}
          {{- $noneIsIn := and (eq $other.operator "In") (not $both) }}
          {{- $allAreOut := and (eq $other.operator "NotIn") (eq (len $both) (len $one.values)) }}
          {{- if or $noneIsIn $allAreOut }}true{{ end }}
        {{- end }}
      {{- end }}
    {{- end }}
  {{- end }}
{{- end }}
