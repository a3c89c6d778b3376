{{/* What the schema of one value can't say, because it is about several values or about the preset too. Each template
     prints a line for each problem. */}}

{{- define "consistent-pull-policy.wrongValues" }}
  {{- range .values.allowBeside }}
    {{- if not ($.root.Files.Get (printf "examples/%s.yaml" .)) }}
allowBeside: there is no preset {{ . }}
    {{- end }}
  {{- end }}
  {{- $names := list }}
  {{- range .policy.spec.matchConditions }}
    {{- if has .name $names }}
spec.matchConditions: there are two conditions {{ .name }}: write another name
    {{- end }}
    {{- $names = append $names .name }}
  {{- end }}
  {{- if and .values.spec.rules .isAudit }}
spec.rules: the audit scanner reads only the kinds of the preset: don't set them for {{ .preset }}
  {{- end }}
  {{- if and .isMonitored (ne .policy.spec.mode "monitor") (ne .values.mode "protect") }}
mode: the policy {{ .policy.metadata.name }} is in the mode monitor, and Kubewarden allows no way back to it: write mode=monitor to stay in it, or mode=protect to turn the policy on
  {{- end }}
  {{- if .changesWebhook }}
settings.mode: a change to or from Reject, or of the rules for Pods, needs another kind of webhook, and Kubewarden keeps the old one: uninstall the release first
  {{- end }}
{{- end }}

{{/* Settings that the preset has no time-outs, rules or server for. */}}
{{- define "consistent-pull-policy.wrongForPreset" }}
  {{- $spec := .policy.spec }}
  {{- $file := .file.policy.spec }}
  {{- if and (include "consistent-pull-policy.looksUp" $spec) (not (include "consistent-pull-policy.looksUp" $file)) }}
    {{- if not .isAudit }}
settings.registry.lookup: {{ .preset }} has no lookups, because they need other time-outs, another failure policy and a policy server of their own. These presets have lookups: {{ include "consistent-pull-policy.lookupPresets" .root }}
    {{- else if not (or .values.policyServer.create .values.policyServer.name) }}
settings.registry.lookup: lookups hold up the other policies of their server: set policyServer.create=true, or write the name of a PolicyServer for lookups in policyServer.name
    {{- end }}
  {{- end }}
  {{- if and .isAudit (ne (toString $spec.settings.mode) (toString $file.settings.mode)) }}
settings.mode: an audit reports only what it would reject, so {{ .preset }} has only the mode {{ $file.settings.mode }}. All other presets have other modes
  {{- end }}
{{- end }}

{{- define "consistent-pull-policy.wrongTimeouts" }}
  {{- $seconds := .timeoutSeconds | default 10 | int }}
  {{- $evalSeconds := .timeoutEvalSeconds | default 2 | int }}
  {{- if gt $evalSeconds $seconds }}
spec.timeoutEvalSeconds: {{ $evalSeconds }} s are more than the timeoutSeconds of {{ $seconds }} s, which Kubewarden refuses: write the same number for both
  {{- else if and (lt $evalSeconds $seconds) (eq (toString .failurePolicy) "Ignore") }}
spec.timeoutEvalSeconds: {{ $evalSeconds }} s end before the timeoutSeconds of {{ $seconds }} s, and the policy server then rejects in spite of failurePolicy Ignore: write the same number for both
  {{- end }}
{{- end }}

{{- define "consistent-pull-policy.wrongServer" }}
  {{- $server := .values.policyServer }}
  {{- if not .isServerMade }}
    {{- range $key := list "affinity" "annotations" "env" "image" "imagePullSecret" "insecureSources" "limits" "minAvailable" "priorityClassName" "replicaCount" "requests" "sourceAuthorities" "tolerations" }}
      {{- if get $server $key }}
policyServer.{{ $key }} is for a PolicyServer of this release: set policyServer.create=true, or set it where the other one is made (`default` is made by Kubewarden's chart)
      {{- end }}
    {{- end }}
    {{- if and .file.server (not $server.name) }}
policyServer.name: with create=false, write the name of a PolicyServer that exists, because the lookups of {{ .preset }} hold up the other policies of its server
    {{- end }}
  {{- else if and (not $server.name) (not (regexMatch `^[a-z0-9-]{1,38}$` .policy.spec.policyServer)) }}
fullnameOverride: {{ .policy.spec.policyServer }} can't name the PolicyServer too, because Kubewarden makes a label of it: write at most 38 lower-case letters, digits and -, or set policyServer.name
  {{- end }}
  {{- $replicas := int ($server.replicaCount | default 2) }}
  {{- $available := toString $server.minAvailable }}
  {{- $number := trimSuffix "%" $available | int }}
  {{- if hasSuffix "%" $available }}
    {{- /* Kubernetes rounds up. */}}
    {{- $number = div (add (mul $number $replicas) 99) 100 | int }}
  {{- end }}
  {{- if and $server.minAvailable (ge $number $replicas) }}
policyServer.minAvailable: with {{ $available }} of {{ $replicas }} replicas, none may be down, so no node could be drained: write less than replicaCount, or more replicas
  {{- end }}
{{- end }}

{{- define "consistent-pull-policy.wrongGuard" }}
  {{- if .values.guard.enabled }}
    {{- if or .isAudit (eq .preset "missing-tags") }}
guard.enabled: {{ .preset }} repairs nothing that a guard could look for
    {{- else if ne (.policy.spec.settings.mode | default "Fix") "Fix" }}
guard.enabled: a guard looks for what its policy has repaired, and with settings.mode {{ .policy.spec.settings.mode }} it repairs nothing
    {{- else if not .policy.spec.mutating }}
guard.enabled: spec.rules names no Pods
    {{- end }}
  {{- end }}
{{- end }}

{{/* The whole settings. The module makes the same checks, but only when a policy server starts with the settings. */}}
{{- define "consistent-pull-policy.wrongSettings" }}
  {{- $imageChecks := .imageChecks | default dict }}
  {{- $lookups := .registry | default dict }}
  {{- $images := .images | default dict }}
  {{- $part := `[a-z0-9*?]+(([.]|_|__|-+)[a-z0-9*?]+)*` }}
  {{- $label := `[a-z0-9*?]([a-z0-9*?-]*[a-z0-9*?])?` }}
  {{- $registry := printf `^(localhost|%s[.]%s)$|^(localhost|(%s[.])+%s):(0[0-9]*|[1-9*?][0-9*?]*)$` $part $part $label $label }}
  {{- range $path, $list := dict "images.requireAlways" $images.requireAlways "images.forbidAlways" $images.forbidAlways "images.exempt" $images.exempt "registry.images" $lookups.images "registry.skipImages" $lookups.skipImages }}
    {{- range $list }}
      {{- if regexMatch $registry . }}
settings.{{ $path }}: {{ . }} names a registry and no image: write {{ . }}/*
      {{- else if regexMatch `^[0-9a-f?]{64}$` . }}
settings.{{ $path }}: {{ . }} is the ID of an image, and matches none: write registry/repository
      {{- end }}
    {{- end }}
  {{- end }}
  {{- $addsContainers := and (eq (toString $imageChecks.onMissing) "Add") (ne (toString $imageChecks.type) "ImageVolume") }}
  {{- if and $addsContainers $imageChecks.podsWithoutChecks (not $imageChecks.template) }}
settings.imageChecks.template is required with onMissing: Add and podsWithoutChecks: true, unless imageChecks.type is ImageVolume
  {{- end }}
  {{- if and $imageChecks.template (not $imageChecks.template.command) }}
settings.imageChecks.template.command is required: without it, a check would run the image's own program
  {{- end }}
  {{- $paths := list "" }}
  {{- range (default dict $imageChecks.template).volumeMounts }}
    {{- $paths = append $paths .mountPath }}
  {{- end }}
  {{- if ne (len $paths) (len (uniq $paths)) }}
settings.imageChecks.template.volumeMounts needs a mountPath in each entry, and none twice
  {{- end }}
  {{- if and (include "consistent-pull-policy.looksUp" (dict "settings" .)) (not (without ($lookups.images | default list) "")) }}
settings.registry.images is required for lookups: name your registries, e.g. registry.example.com/*
  {{- end }}
{{- end }}

{{/* Nodes that can't mount an image volume. */}}
{{- define "consistent-pull-policy.wrongNodes" }}
  {{- $kubernetes := .root.Capabilities.KubeVersion.Version }}
  {{- if and .isCluster (semverCompare "<1.35-0" $kubernetes) }}
settings.imageChecks.type: ImageVolume needs Kubernetes 1.35, and the API server has {{ $kubernetes }}
  {{- end }}
  {{- $wrong := list }}
  {{- range .nodes }}
    {{- $info := .status.nodeInfo }}
    {{- $isOld := semverCompare "<1.35-0" $info.kubeletVersion | or (hasPrefix "docker:" $info.containerRuntimeVersion) }}
    {{- range $runtime, $version := dict "containerd" "<2.1-0" "cri-o" "<1.31-0" }}
      {{- with regexFind (printf `^%s://.*` $runtime) $info.containerRuntimeVersion }}
        {{- $isOld = semverCompare $version (regexFind `[0-9]+[.][0-9]+` . | default "0.0") | or $isOld }}
      {{- end }}
    {{- end }}
    {{- if and $isOld (ne (toString $info.operatingSystem) "windows") }}
      {{- $wrong = printf "%s (kubelet %s, %s)" .metadata.name $info.kubeletVersion $info.containerRuntimeVersion | append $wrong }}
    {{- end }}
  {{- end }}
  {{- with $wrong }}
settings.imageChecks.type: ImageVolume needs a kubelet of 1.35 and containerd 2.1 or CRI-O 1.31. Pods with added checks would never start on {{ len . }} of the nodes, such as {{ first . }}: set settings.imageChecks.type=InitContainer, or, if the selected Pods run on other nodes, checkNodes=false
  {{- end }}
{{- end }}
