{{/* The objects of the release: `policy`, `server` if the release makes a PolicyServer, the chart's
     `values` with their defaults, and `isAudit`. Wrong values end the rendering here. */}}
{{- define "consistent-pull-policy.release" }}
  {{- $apis := .Capabilities.APIVersions }}
  {{- /* Only a cluster, or Argo CD in its name, tells its kinds. */}}
  {{- if and ($apis.Has "v1/Pod") (not ($apis.Has "policies.kubewarden.io/v1/ClusterAdmissionPolicy")) }}
    {{- fail "this cluster has no ClusterAdmissionPolicy (policies.kubewarden.io/v1): install Kubewarden first, https://docs.kubewarden.io/quick-start" }}
  {{- end }}

  {{- /* `null` and empty values count as not set. In `settings`, they have a meaning. */}}
  {{- $defaults := .Files.Get "defaults.yaml" | fromYaml }}
  {{- $values := deepCopy $defaults }}
  {{- $_ := include "consistent-pull-policy.overlay" (dict "base" $values "part" (omit .Values "settings")) }}
  {{- $example := $values.example }}
  {{- if not (.Files.Get (printf "examples/%s.yaml" $example)) }}
    {{- $examples := include "consistent-pull-policy.examplesWith" (dict "root" . "predicate" "consistent-pull-policy.always") }}
    {{- fail (printf "example: %s. The examples are %s. (An upgrade with only new values needs --reset-then-reuse-values, which keeps the others)" ($example | empty | ternary "choose one" (printf "there is no %s" $example)) $examples) }}
  {{- end }}
  {{- $manifests := include "consistent-pull-policy.manifests" (dict "root" . "example" $example) | fromYaml }}
  {{- $policy := $manifests.policy }}
  {{- $spec := $policy.spec }}
  {{- $isAudit := include "consistent-pull-policy.isAudit" $spec }}
  {{- $changesMode := include "consistent-pull-policy.changesMode" $spec }}
  {{- $problems := list (include "consistent-pull-policy.wrongValues" (dict "values" $values "policy" $policy "root" .)) }}

  {{- with $values.fullnameOverride }}
    {{- $_ := set $policy.metadata "name" . }}
    {{- $_ := set $policy.metadata "labels" (dict "consistent-pull-policy/example" $example) }}
  {{- end }}
  {{- $_ := set $spec "module" (include "consistent-pull-policy.module" (dict "values" $values "defaults" $defaults)) }}

  {{- $looksUp := include "consistent-pull-policy.looksUp" $spec }}
  {{- $mode := $spec.settings.mode }}
  {{- $_ := include "consistent-pull-policy.overlay" (dict "base" $spec.settings "part" .Values.settings "asWritten" true) }}
  {{- if and (include "consistent-pull-policy.looksUp" $spec) (not $looksUp) }}
    {{- $others := include "consistent-pull-policy.examplesWith" (dict "root" . "predicate" "consistent-pull-policy.looksUp") }}
    {{- $problems = append $problems (printf "settings.registry.lookup: %s has no lookups, because they need other time-outs, another failure policy and a policy server of their own. These examples have lookups: %s" $example $others) }}
  {{- end }}
  {{- if not (or $changesMode (eq $mode ($spec.settings.mode | default "Fix"))) }}
    {{- $others := include "consistent-pull-policy.examplesWith" (dict "root" . "predicate" "consistent-pull-policy.changesMode") }}
    {{- $problems = append $problems (printf "settings.mode: %s has only the mode %s. These examples have other modes: %s" $example $mode $others) }}
  {{- end }}
  {{- $problems = append $problems (include "consistent-pull-policy.wrongSettings" $spec.settings) }}

  {{- range $key, $value := omit $values.spec "matchConditions" }}
    {{- if or $value (kindIs "bool" $value) }}
      {{- $_ := set $spec $key $value }}
    {{- end }}
  {{- end }}
  {{- with $values.spec.matchConditions }}
    {{- $_ := set $spec "matchConditions" (concat ($spec.matchConditions | default list) .) }}
  {{- end }}
  {{- /* If the policy server ends first, its answer is an error 500, which rejects in spite of Ignore. */}}
  {{- if and (eq (toString $spec.failurePolicy) "Ignore") (not $isAudit) }}
    {{- $_ := set $spec "timeoutSeconds" ($spec.timeoutSeconds | default 10) }}
    {{- $_ := set $spec "timeoutEvalSeconds" ($spec.timeoutEvalSeconds | default $spec.timeoutSeconds) }}
    {{- if lt (int $spec.timeoutEvalSeconds) (int $spec.timeoutSeconds) }}
      {{- $problems = append $problems (printf "spec.timeoutEvalSeconds: %v s end before the timeoutSeconds of %v s, and the policy server then rejects in spite of failurePolicy Ignore: write the same number for both" $spec.timeoutEvalSeconds $spec.timeoutSeconds) }}
    {{- end }}
  {{- end }}
  {{- if gt (int $spec.timeoutEvalSeconds) (int ($spec.timeoutSeconds | default 10)) }}
    {{- $problems = append $problems (printf "spec.timeoutEvalSeconds: %v s are more than the timeoutSeconds of %v s, which Kubewarden refuses: write the same number for both" $spec.timeoutEvalSeconds ($spec.timeoutSeconds | default 10)) }}
  {{- end }}
  {{- with $values.mode }}
    {{- $_ := set $spec "mode" . }}
    {{- if eq . "monitor" }}
      {{- $_ := set $spec "failurePolicy" "Ignore" }}
    {{- end }}
  {{- end }}
  {{- $resources := list }}
  {{- range $spec.rules }}{{ $resources = concat $resources .resources }}{{ end }}
  {{- $selectsPods := regexMatch `(?m)^(pods|\*)` (join "\n" $resources) }}
  {{- $_ := set $spec "mutating" (and $selectsPods (eq ($spec.settings.mode | default "Fix") "Fix")) }}

  {{- $namespaces := deepCopy $values.namespaces }}
  {{- with $namespaces.only }}
    {{- $_ := set $namespaces "matchExpressions" (prepend ($namespaces.matchExpressions | default list) (dict "key" "kubernetes.io/metadata.name" "operator" "In" "values" .)) }}
  {{- end }}
  {{- with $namespaces.exclude }}
    {{- $_ := set $namespaces "matchExpressions" (append ($namespaces.matchExpressions | default list) (dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" .)) }}
  {{- end }}
  {{- range $selector, $added := dict "namespaceSelector" $namespaces "objectSelector" $values.objects }}
    {{- $expressions := dig $selector "matchExpressions" list $spec }}
    {{- /* Kubewarden passes on no labels of a namespaceSelector. */}}
    {{- range $key, $value := $added.matchLabels }}
      {{- $expressions = append $expressions (dict "key" $key "operator" "In" "values" (list $value)) }}
    {{- end }}
    {{- with concat $expressions ($added.matchExpressions | default list) }}
      {{- $_ := set $spec $selector (set (get $spec $selector | default dict) "matchExpressions" .) }}
    {{- end }}
    {{- if include "consistent-pull-policy.areApart" (list $spec $spec $selector) }}
      {{- $problems = append $problems (printf "%s: nothing can match all conditions of the release and its example: %s" (trimSuffix "Selector" $selector | printf "%ss") (get $spec $selector | toJson)) }}
    {{- end }}
  {{- end }}

  {{- $server := $values.policyServer }}
  {{- $makesServer := kindIs "bool" $server.create | ternary $server.create (hasKey $manifests "server") }}
  {{- if $makesServer }}
    {{- $_ := set $spec "policyServer" (coalesce $server.name $values.fullnameOverride $spec.policyServer $example) }}
    {{- $_ := set $manifests "server" (include "consistent-pull-policy.server" (dict "name" $spec.policyServer "values" $values) | fromYaml) }}
  {{- else }}
    {{- if and (hasKey $manifests "server") (not $server.name) }}
      {{- $problems = append $problems (printf "policyServer.name: with create=false, write the name of a PolicyServer that exists, because the lookups of %s hold up the other policies of its server" $example) }}
    {{- end }}
    {{- $_ := unset $manifests "server" }}
    {{- with $server.name }}
      {{- $_ := set $spec "policyServer" . }}
    {{- end }}
  {{- end }}
  {{- $problems = append $problems (include "consistent-pull-policy.wrongServer" (dict "name" $spec.policyServer "values" $server "isMade" $makesServer)) }}

  {{- with compact $problems }}
    {{- fail (printf "\n%s" (join "\n" . | trimSuffix "\n" | replace "\n\n" "\n")) }}
  {{- end }}
  {{- include "consistent-pull-policy.refusePairs" (dict "root" . "policy" $policy "example" $example) }}
  {{- if and $makesServer (not $manifests.server.spec.image) }}
    {{- fail "policyServer.image is required where the cluster's PolicyServer `default` can't be read. Write its image: kubectl get policyserver default --output jsonpath={.spec.image}" }}
  {{- end }}
  {{- toJson (merge $manifests (dict "values" $values "isAudit" $isAudit)) }}
{{- end }}

{{/* The manifests of an example: `policy`, and `server` if the file has a PolicyServer. */}}
{{- define "consistent-pull-policy.manifests" }}
  {{- $manifests := dict }}
  {{- range regexSplit "(?m)^---$" (.root.Files.Get (printf "examples/%s.yaml" .example)) -1 }}
    {{- $manifest := fromYaml . }}
    {{- $_ := set $manifests (eq $manifest.kind "PolicyServer" | ternary "server" "policy") $manifest }}
  {{- end }}
  {{- toYaml $manifests }}
{{- end }}

{{/* The names of the examples for whose spec the template `predicate` has a text. */}}
{{- define "consistent-pull-policy.examplesWith" }}
  {{- $names := list }}
  {{- range $path, $_ := .root.Files.Glob "examples/*.yaml" }}
    {{- $name := base $path | trimSuffix ".yaml" }}
    {{- $manifests := include "consistent-pull-policy.manifests" (dict "root" $.root "example" $name) | fromYaml }}
    {{- with include $.predicate $manifests.policy.spec }}
      {{- $names = append $names (printf "%s%s" $name (trimPrefix "true" .)) }}
    {{- end }}
  {{- end }}
  {{- join ", " $names }}
{{- end }}

{{- define "consistent-pull-policy.always" }}true{{ end }}

{{/* The lookups of a spec in brackets, or nothing. */}}
{{- define "consistent-pull-policy.looksUp" }}
  {{- $lookup := dig "registry" "lookup" "Off" (.settings | default dict) }}
  {{- if and $lookup (ne (toString $lookup) "Off") }} ({{ $lookup }}){{ end }}
{{- end }}

{{/* Whether only the audit scanner calls the policy: `true` or nothing. */}}
{{- define "consistent-pull-policy.isAudit" }}
  {{- range .matchConditions }}{{ if eq .expression "false" }}true{{ end }}{{ end }}
{{- end }}

{{/* Whether the settings may have another mode and the spec other rules, because this is neither an
     audit nor a second policy: `true` or nothing. */}}
{{- define "consistent-pull-policy.changesMode" }}
  {{- $isSecond := and (eq (toString .settings.mode) "Reject") (eq (toString .settings.podTemplates) "Off") }}
  {{- if not (or $isSecond (include "consistent-pull-policy.isAudit" .)) }}true{{ end }}
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

{{/* The PolicyServer that the release makes. */}}
{{- define "consistent-pull-policy.server" }}
  {{- $values := .values.policyServer }}
  {{- $image := $values.image }}
  {{- if kindIs "map" $image }}
    {{- $image = printf "%s/%s:%s" .values.global.cattle.systemDefaultRegistry $image.repository $image.tag }}
  {{- end }}
  {{- $replicas := $values.replicaCount | default 2 }}
apiVersion: policies.kubewarden.io/v1
kind: PolicyServer
metadata:
  name: {{ .name }}
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
                kubewarden/policy-server: {{ .name }}
    {{- end }}
  {{- range $key := list "limits" "requests" "imagePullSecret" "insecureSources" "env" }}
  {{- with get $values $key }}
  {{ $key }}: {{ toJson . }}
  {{- end }}
  {{- end }}
  {{- with $values.sourceAuthorities }}
  sourceAuthorities:
    {{- range . }}
    {{ .uri }}: {{ toJson .certs }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* Fails if the policy must not stand beside another one of the cluster, whoever made that. */}}
{{- define "consistent-pull-policy.refusePairs" }}
  {{- $others := list }}
  {{- range .root.Files.Get "pairs.yaml" | fromYamlArray }}
    {{- if eq .a $.example }}
      {{- $others = append $others .b }}
    {{- else if eq .b $.example }}
      {{- $others = append $others .a }}
    {{- end }}
  {{- end }}
  {{- range $installed := (lookup "policies.kubewarden.io/v1" "ClusterAdmissionPolicy" "" "").items }}
    {{- $annotations := .metadata.annotations | default dict }}
    {{- $release := get $annotations "meta.helm.sh/release-name" }}
    {{- $namespace := get $annotations "meta.helm.sh/release-namespace" }}
    {{- $isOwn := and (eq $release $.root.Release.Name) (eq $namespace $.root.Release.Namespace) }}
    {{- $other := trimPrefix "consistent-pull-policy-" .metadata.name }}
    {{- $other = get (.metadata.labels | default dict) "consistent-pull-policy/example" | default $other }}
    {{- if and (has $other $others) (not $isOwn) }}
      {{- $areApart := include "consistent-pull-policy.areApart" (list $.policy.spec $installed.spec "namespaceSelector") }}
      {{- $areApart = print $areApart (include "consistent-pull-policy.areApart" (list $.policy.spec $installed.spec "objectSelector")) }}
      {{- if not $areApart }}
        {{- $maker := $release | empty | ternary "kubectl or another tool has made (delete it)" (printf "the release %s in the namespace %s has made (uninstall it)" $release $namespace) }}
        {{- fail (printf "%s must not stand beside %s: the policy %s, which %s. Or select other namespaces in one of the two, with namespaces.only and namespaces.exclude" $.example $other .metadata.name $maker) }}
      {{- end }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* Whether nothing can match this selector of both of two specs: `true` or nothing. */}}
{{- define "consistent-pull-policy.areApart" }}
  {{- $selector := last . }}
  {{- $lists := list }}
  {{- range initial . }}
    {{- $expressions := dig $selector "matchExpressions" list . }}
    {{- range $key, $value := eq $selector "objectSelector" | ternary (dig $selector "matchLabels" dict .) dict }}
      {{- $expressions = append $expressions (dict "key" $key "operator" "In" "values" (list $value)) }}
    {{- end }}
    {{- $lists = append $lists $expressions }}
  {{- end }}
  {{- range $lists := list $lists (reverse $lists) }}
    {{- range $one := first $lists }}
      {{- range $other := last $lists }}
        {{- if eq $one.key $other.key }}
          {{- $both := list }}
          {{- range $one.values }}
            {{- if has . ($other.values | default list) }}{{ $both = append $both . }}{{ end }}
          {{- end }}
          {{- $operators := printf "%s %s" $one.operator $other.operator }}
          {{- $noneIsIn := and (eq $operators "In In") (not $both) }}
          {{- $allAreOut := and (eq $operators "In NotIn") (eq (len $both) (len $one.values)) }}
          {{- if or $noneIsIn $allAreOut (has $operators (list "In DoesNotExist" "Exists DoesNotExist")) }}true{{ end }}
        {{- end }}
      {{- end }}
    {{- end }}
  {{- end }}
{{- end }}
