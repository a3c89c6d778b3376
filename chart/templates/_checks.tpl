{{/* Checks of the whole settings: those that the schema of a part can't make. The module makes the
     same checks, but only when a policy server starts with the settings. */}}
{{- define "consistent-pull-policy.check" }}
  {{- $problems := list }}
  {{- $imageChecks := .imageChecks | default dict }}
  {{- $exempt := .exempt | default dict }}
  {{- $registry := .registry | default dict }}

  {{- /* The lists of patterns. */}}
  {{- range $section, $lists := dict "images" .images "registry" $registry "exempt" (pick $exempt "images") }}
    {{- range $key, $list := $lists }}
      {{- range $pattern := kindIs "slice" $list | ternary $list list }}
        {{- with include "consistent-pull-policy.mistake" $pattern }}
          {{- $problems = append $problems (printf "%s.%s: %s %s" $section $key $pattern .) }}
        {{- end }}
      {{- end }}
    {{- end }}
  {{- end }}
  {{- range $path, $list := dict "exempt.containers" $exempt.containers "imageChecks.after" $imageChecks.after }}
    {{- range without ($list | default list) "" }}
      {{- if not (regexMatch "^[a-z0-9*?-]+$" .) }}
        {{- $problems = append $problems (printf "%s: %s matches no container's name: it takes lower-case letters, digits, -, * and ?" $path .) }}
      {{- end }}
    {{- end }}
  {{- end }}
  {{- $prefixes := without ($imageChecks.namePrefixes | default list) "" }}
  {{- range $prefixes }}
    {{- if not (regexMatch "^[a-z0-9][a-z0-9-]{0,57}$" .) }}
      {{- $problems = append $problems (printf "imageChecks.namePrefixes: %s can't start a container's name: it takes 1 to 58 lower-case letters, digits and -, and begins with no -" .) }}
    {{- end }}
  {{- end }}

  {{- /* Settings that need each other, or contradict each other. */}}
  {{- $addsChecks := eq (toString $imageChecks.coverage) "Fix" }}
  {{- $addsContainers := and $addsChecks (eq ($imageChecks.as | default "InitContainer") "InitContainer") }}
  {{- if and $addsContainers $imageChecks.everyPod (not $imageChecks.template) }}
    {{- $problems = append $problems "imageChecks.template is required with coverage: Fix and everyPod: true, unless imageChecks.as is ImageVolume" }}
  {{- end }}
  {{- if and $imageChecks.template (not $imageChecks.template.command) }}
    {{- $problems = append $problems "imageChecks.template.command is required: without it, a check would run the image's own program" }}
  {{- end }}
  {{- if and (include "consistent-pull-policy.looksUp" .) (not (without ($registry.images | default list) "")) }}
    {{- $problems = append $problems "registry.images is required for lookups: name your registries, e.g. registry.example.com/*" }}
  {{- end }}
  {{- if $addsChecks }}
    {{- $prefix := first $prefixes | default "imagecheck-" }}
    {{- range without ($exempt.containers | default list) "" }}
      {{- $line := printf "(?m)^%s$" (. | replace "*" ".*" | replace "?" ".") }}
      {{- if regexMatch $line (include "consistent-pull-policy.checkNames" $prefix) }}
        {{- $problems = append $problems (printf "exempt.containers: %s matches the checks that coverage: Fix adds (%s and a number): name other containers" . $prefix) }}
      {{- end }}
    {{- end }}
  {{- end }}

  {{- if $problems }}
    {{- fail (printf "settings.%s" (join "\nsettings." $problems)) }}
  {{- end }}
{{- end }}

{{/* More names than the added checks of one Pod can have, a line each. */}}
{{- define "consistent-pull-policy.checkNames" }}
  {{- $prefix := . }}
  {{- range until 10000 }}
    {{- printf "%s%d\n" $prefix . }}
  {{- end }}
{{- end }}

{{/* What is wrong with a pattern of images, or nothing. */}}
{{- define "consistent-pull-policy.mistake" }}
  {{- $hasHost := contains "/" . }}
  {{- $host := $hasHost | ternary (regexFind "^[^/]*" .) "" }}
  {{- $repository := regexReplaceAll `:[^:/\]]*$` (trimPrefix (printf "%s/" $host) .) "" }}
  {{- $isRegistry := and (not $hasHost) (regexMatch `\.|^localhost$|^\[` $repository) }}
  {{- $wildcardHost := regexMatch `[*?]` $host | ternary $host "" }}
  {{- $label := `[[:alnum:]]([[:alnum:]-]*[[:alnum:]])?` }}
  {{- $isHost := regexMatch (printf `^(%s(\.%s)*|\[[[:xdigit:]:]+\])(:[0-9]+)?$` $label $label) $host }}
  {{- $isPart := regexMatch `^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*$` $host }}
  {{- if regexMatch `[\s\v\x{85}\pZ]` . }}has white space
  {{- else if contains "@" . }}has a digest, which doesn't count: write {{ regexFind "^[^@]*" . }}
  {{- else if contains "://" . }}has a URL scheme: write the rest
  {{- else if regexMatch `//|/:|:/|^[/:]|[/:]$` . }}has an empty part: write registry/repository or registry/repository:tag
  {{- else if $isRegistry }}names a registry and no image: write {{ . }}/*
  {{- else if and $hasHost (not (or $wildcardHost $isHost $isPart)) }}begins with neither a host nor a part of a repository: write registry/repository or registry/repository:tag
  {{- else if regexMatch `[A-Z]` (print $wildcardHost $repository) }}has upper case in its repository or beside a wildcard: write {{ lower . }}
  {{- end }}
{{- end }}
