{{/* What is wrong with the chart's own values, a line each. values.schema.json has checked keys and
     types. */}}
{{- define "consistent-pull-policy.wrongValues" }}
  {{- $module := .values.module }}
  {{- $registry := .values.global.cattle.systemDefaultRegistry }}
  {{- $repository := $module.repository }}
  {{- /* What follows a scheme, without a tag or digest. */}}
  {{- $address := regexReplaceAll `^[a-z]+://` $repository "" | regexFind `^[^/]*(/[^:@]*)?` }}
  {{- $split := printf "write global.cattle.systemDefaultRegistry=%s and module.repository=%s" (regexFind `^[^/]*` $address) (regexReplaceAll `^[^/]*/` $address "") }}
  {{- if contains "://" $registry }}
global.cattle.systemDefaultRegistry: {{ $registry }} has a scheme: write {{ regexReplaceAll `^[a-z]+://` $registry "" | trimSuffix "/" }}
  {{- else if not (regexMatch `^([[:alnum:]-]+(\.[[:alnum:]-]+)+|[[:alnum:]-]+:|localhost)` $registry | and (regexMatch `^[[:alnum:].-]+(:[0-9]+)?(/[a-z0-9._-]+)*$` $registry)) }}
global.cattle.systemDefaultRegistry: {{ $registry }} is no registry: write a host with a dot or a port, such as registry.example.com:5000
  {{- end }}
  {{- if contains "://" $repository }}
module.repository: {{ $repository }} has a scheme: {{ $split }}
  {{- else if and (eq $registry "ghcr.io") (regexMatch `^([^/]*[.:][^/]*|localhost)/` $repository) }}
module.repository: {{ $repository }} begins with a registry: {{ $split }}
  {{- else if contains "@" $repository }}
module.repository: {{ $repository }} has a digest: write module.repository={{ regexFind `^[^@:]*` $repository }} and module.digest={{ regexReplaceAll `^[^@]*@` $repository "" }}
  {{- else if contains ":" $repository }}
module.repository: {{ $repository }} has a tag: write module.repository={{ regexFind `^[^:]*` $repository }} and module.tag={{ regexReplaceAll `^[^:]*:` $repository "" }}
  {{- else if not (regexMatch `^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$` $repository) }}
module.repository: {{ $repository }} is no repository: write parts of lower-case letters and digits, with single . and _ or any number of - in them, and / between them
  {{- end }}
  {{- if not (regexMatch `^[[:word:]][[:word:].-]{0,127}$` $module.tag) }}
module.tag: {{ $module.tag }} is no tag: write 1 to 128 letters, digits, _, . and -, and no . or - first
  {{- end }}
  {{- if and $module.digest (not (regexMatch `^sha256:[0-9a-f]{64}$` $module.digest)) }}
module.digest: {{ $module.digest }} is no digest: write sha256: and 64 hex digits in lower case
  {{- end }}

  {{- with .values.fullnameOverride }}
    {{- if not (regexMatch `^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$` .) }}
fullnameOverride: {{ . }} is no name: write lower-case letters, digits, - and ., with a letter or digit first and last
    {{- end }}
  {{- end }}

  {{- range $key := list "only" "exclude" }}
    {{- range get $.values.namespaces $key }}
      {{- if not (regexMatch `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$` .) }}
namespaces.{{ $key }}: {{ . | quote }} is no name of a namespace: write whole names, because the API server knows no wildcards there, or select by a label with namespaces.matchLabels
      {{- end }}
    {{- end }}
  {{- end }}
  {{- range $section := list "namespaces" "objects" }}
    {{- $selector := get $.values $section }}
    {{- $keys := keys ($selector.matchLabels | default dict) }}
    {{- $labels := values ($selector.matchLabels | default dict) }}
    {{- range $selector.matchExpressions }}
      {{- $keys = append $keys .key }}
      {{- $labels = concat $labels (.values | default list) }}
      {{- if eq (has .operator (list "In" "NotIn")) (empty .values) }}
{{ $section }}.matchExpressions: {{ .key }}: {{ .operator }} takes {{ empty .values | ternary "values" "no values" }}
      {{- end }}
    {{- end }}
    {{- range sortAlpha $keys }}
      {{- if not (regexMatch `^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[[:alnum:]]([[:word:].-]{0,61}[[:alnum:]])?$` .) }}
{{ $section }}: {{ . | quote }} is no key of a label: write letters, digits, -, _ and ., with a letter or digit first and last, and before it a domain and / if it has one
      {{- end }}
    {{- end }}
    {{- range sortAlpha $labels }}
      {{- if not (regexMatch `^([[:alnum:]]([[:word:].-]{0,61}[[:alnum:]])?)?$` .) }}
{{ $section }}: {{ . | quote }} is no value of a label: write at most 63 letters, digits, -, _ and ., with a letter or digit first and last; the API server knows no wildcards there
      {{- end }}
    {{- end }}
  {{- end }}

  {{- $names := list }}
  {{- range .policy.spec.matchConditions }}{{ $names = append $names .name }}{{ end }}
  {{- range .values.spec.matchConditions }}
    {{- if has .name $names }}
spec.matchConditions: there is a condition {{ .name }} already: write another name
    {{- end }}
    {{- $names = append $names .name }}
  {{- end }}
  {{- if and .values.spec.rules (not (include "consistent-pull-policy.changesMode" .policy.spec)) }}
spec.rules: {{ .values.example }} is an audit or a second policy, whose rules are those of the policy that it follows: take them out
  {{- end }}
{{- end }}

{{/* What is wrong with the values of the policy server, a line each. */}}
{{- define "consistent-pull-policy.wrongServer" }}
  {{- $server := .values }}
  {{- with .name }}
    {{- if or (gt (len .) 38) (not (regexMatch `^[a-z0-9]([a-z0-9-]*[a-z0-9])?$` .)) }}
policyServer.name: {{ . }} can't name a PolicyServer: write at most 38 lower-case letters, digits and - (it has {{ len . }}; Kubewarden makes a label of it), with a letter or digit first and last
    {{- end }}
  {{- end }}
  {{- if not .isMade }}
    {{- range $key := list "affinity" "env" "image" "imagePullSecret" "insecureSources" "limits" "minAvailable" "replicaCount" "requests" "sourceAuthorities" }}
      {{- if get $server $key }}
policyServer.{{ $key }} acts only on a PolicyServer of this release: set policyServer.create=true, or set it where the other one is made (`default` is made by Kubewarden's chart)
      {{- end }}
    {{- end }}
  {{- end }}
  {{- $replicas := int ($server.replicaCount | default 2) }}
  {{- $available := toString ($server.minAvailable | default 0) }}
  {{- if not (regexMatch `^[0-9]{1,4}%?$` $available) }}
policyServer.minAvailable: {{ $available }} is neither a number nor a percentage: write 1 or 50%
  {{- else }}
    {{- $number := trimSuffix "%" $available | int }}
    {{- if hasSuffix "%" $available }}
      {{- /* Kubernetes rounds up. */}}
      {{- $number = div (add (mul $number $replicas) 99) 100 | int }}
    {{- end }}
    {{- if ge $number $replicas }}
policyServer.minAvailable: with {{ $available }} of {{ $replicas }} replicas, none may be away, so no node could be drained: write less than replicaCount, or more replicas
    {{- end }}
  {{- end }}
  {{- if and $server.image (kindIs "string" $server.image) }}
    {{- if not (regexMatch `^[[:alnum:]][[:word:].-]*(:[0-9]+)?(/[[:word:].-]+)*(:[[:word:].-]+)?(@sha256:[0-9a-f]{64})?$` $server.image) }}
policyServer.image: {{ $server.image }} is no image: write registry/repository:tag
    {{- end }}
  {{- end }}
  {{- $sources := dict "insecureSources" ($server.insecureSources | default list) "sourceAuthorities" list }}
  {{- range $server.sourceAuthorities }}
    {{- $_ := set $sources "sourceAuthorities" (append $sources.sourceAuthorities .uri) }}
  {{- end }}
  {{- range $key, $list := $sources }}
    {{- range $list }}
      {{- if not (regexMatch `^([[:alnum:]]([[:alnum:].-]*[[:alnum:]])?|\[[[:xdigit:]:]+\])(:[0-9]+)?$` .) }}
policyServer.{{ $key }}: {{ . | quote }} is no host: write only the host, and its port if it has one, such as registry.example.com:5000
      {{- end }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* What is wrong with the whole settings, a line each: what the schema of a part can't say. The module
     makes the same checks, but only when a policy server starts with the settings. */}}
{{- define "consistent-pull-policy.wrongSettings" }}
  {{- $imageChecks := .imageChecks | default dict }}
  {{- $exempt := .exempt | default dict }}
  {{- $registry := .registry | default dict }}
  {{- range $section, $lists := dict "images" .images "registry" (pick $registry "images" "skipImages") "exempt" (pick $exempt "images") }}
    {{- range $key, $list := $lists }}
      {{- range without ($list | default list) "" }}
        {{- with include "consistent-pull-policy.wrongPattern" . }}
settings.{{ $section }}.{{ $key }}: {{ . }}
        {{- end }}
      {{- end }}
    {{- end }}
  {{- end }}

  {{- $addsChecks := eq (toString $imageChecks.onMissing) "Fix" }}
  {{- $addsContainers := and $addsChecks (eq ($imageChecks.type | default "InitContainer") "InitContainer") }}
  {{- if and $addsContainers $imageChecks.podsWithoutChecks (not $imageChecks.template) }}
settings.imageChecks.template is required with onMissing: Add and podsWithoutChecks: true, unless imageChecks.type is ImageVolume
  {{- end }}
  {{- if and $imageChecks.template (not $imageChecks.template.command) }}
settings.imageChecks.template.command is required: without it, a check would run the image's own program
  {{- end }}
  {{- if and (include "consistent-pull-policy.looksUp" (dict "settings" .)) (not (without ($registry.images | default list) "")) }}
settings.registry.images is required for lookups: name your registries, e.g. registry.example.com/*
  {{- end }}
  {{- $prefix := without ($imageChecks.namePrefixes | default list) "" | first | default "imagecheck-" }}
  {{- range $addsChecks | ternary (without ($exempt.containers | default list) "") list }}
    {{- $line := printf "(?m)^%s$" (. | replace "*" ".*" | replace "?" ".") }}
    {{- if regexMatch $line (include "consistent-pull-policy.checkNames" $prefix) }}
settings.exempt.containers: {{ . }} matches the checks that onMissing: Add adds ({{ $prefix }} and a number): name other containers
    {{- end }}
  {{- end }}
{{- end }}

{{/* More names than the added checks of one Pod can have, a line each. */}}
{{- define "consistent-pull-policy.checkNames" }}
  {{- $prefix := . }}
  {{- range until 10000 }}
    {{- printf "%s%d\n" $prefix . }}
  {{- end }}
{{- end }}
{{/* What is wrong with a pattern for images, or nothing. Legal is an image without a digest, if each
     wildcard is a letter or a digit. The first `*` of the last part can also be the end of a repository with
     the start of its tag. */}}
{{- define "consistent-pull-policy.wrongPattern" }}
  {{- $image := . }}
  {{- if not (regexMatch `:[^/]*$` .) }}
    {{- $image = regexReplaceAll `^((.*/)?[^/*]*)[*]([^/]*)$` . "${1}1:1${3}" }}
  {{- end }}
  {{- $image = regexReplaceAll `[*?]` $image "1" }}
  {{- $name := `[[:alnum:]]([[:alnum:]-]*[[:alnum:]])?` }}
  {{- $host := printf `(%s([.]%s)*|\[[[:xdigit:]]*:[[:xdigit:]:]*\])(:[0-9]+)?` $name $name }}
  {{- $part := `[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*` }}
  {{- $tag := `[[:word:]][[:word:].-]{0,127}` }}
  {{- $isImage := regexMatch (printf `^(%s/)?%s(/%s)*(:%s)?$` $host $part $part $tag) $image | and (not (regexMatch `^[0-9a-f]{64}$` $image)) }}
  {{- $wildcardHost := regexFind `^[^/]*[*?][^/]*/` . }}
  {{- $isRegistry := and (not (contains "/" .)) (regexMatch `[.]|^localhost$|^\[` (regexReplaceAll `:[^:\]]*$` . "")) }}
  {{- if and $isRegistry (not (include "consistent-pull-policy.wrongPattern" (printf "%s/*" .))) }}
    {{- . }} names a registry and no image: write {{ . }}/*
  {{- else if or (not $isImage) (regexMatch `[A-Z]|:0[^/]*[*?]` $wildcardHost) }}
    {{- . }} matches no image: write registry/repository or registry/repository:tag, with wildcards (patterns are globs, one an entry; a host with wildcards has lower case)
  {{- end }}
{{- end }}
