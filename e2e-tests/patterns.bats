# Patterns: globs over normalised image names, and over container names.

load lib

sha=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

# match PATTERN EXPECTED: the pattern matches exactly the expected images of the Pod. The findings
# of images.forbidAlways show which images it matches.
match() {
  evaluate "$(in_jq -c -n --arg pattern "$1" '{mode: "Reject", images: {forbidAlways: [$pattern]}}')"
  same "images that $1 matches" "$2" "$(in_jq -r '[.[].image] | join(", ")' <<<"$findings")"
}

@test "a pattern is matched against the normalised registry/repository and registry/repository:tag" {
  pod "app a nginx Always, app b docker.io/library/nginx:1.25 Always, app c buildkite/agent:3 Always, app d ghcr.io/buildkite/agent:3 Always, app e localhost:5000/nginx:1 Always, app f nginx@$sha Always"
  while fields pattern expected; do
    match "$pattern" "$expected"
  done <<ROWS
    nginx                      | nginx, docker.io/library/nginx:1.25, nginx@$sha
    nginx:latest               | nginx
    nginx:1.25                 | docker.io/library/nginx:1.25
    nginx:*                    | nginx, docker.io/library/nginx:1.25
    ngin?                      | nginx, docker.io/library/nginx:1.25, nginx@$sha
    docker.io/library/nginx    | nginx, docker.io/library/nginx:1.25, nginx@$sha
    docker.io/*                | nginx, docker.io/library/nginx:1.25, buildkite/agent:3, nginx@$sha
    library/*                  | nginx, docker.io/library/nginx:1.25, nginx@$sha
    buildkite/*                | buildkite/agent:3
    ghcr.io/*                  | ghcr.io/buildkite/agent:3
    ghcr.io/buildkite/agent:*  | ghcr.io/buildkite/agent:3
    gh*/agent                  |
    *.io/*/agent               | buildkite/agent:3, ghcr.io/buildkite/agent:3
    localhost:5000/*           | localhost:5000/nginx:1
    localhost:5000/nginx       | localhost:5000/nginx:1
    *:latest                   | nginx
    */nginx                    | nginx, docker.io/library/nginx:1.25, localhost:5000/nginx:1, nginx@$sha
    *:3                        | buildkite/agent:3, ghcr.io/buildkite/agent:3
    *                          | nginx, docker.io/library/nginx:1.25, buildkite/agent:3, ghcr.io/buildkite/agent:3, localhost:5000/nginx:1, nginx@$sha
ROWS
}

@test "the registry of an image is matched in lower case, without :443 and leading zeros of its port, and registry-1.docker.io is docker.io" {
  images='Registry.Example.com/a:1 registry.example.com:443/b:1 REGISTRY.example.com:0443/c:1 registry.example.com:5000/d:1 registry.example.com/e:1 registry-1.docker.io/library/f:1 docker.io/library/g:1 registry.example.com:8443/h:1 localhost:443/i:1 [2001:DB8::1]:443/j:1 registry-1.docker.io:443/x/k:1 registry-1.docker.io/l:1 registry.example.com:05000/m:1'
  # The name of each container is the last path component of its image, without the tag.
  pod "$(for image in $images; do name=${image##*/}; echo -n ", app ${name%:1} $image Always"; done | cut -c 3-)"
  while fields pattern expected; do
    evaluate "$(in_jq -c -n --arg pattern "$pattern" '{mode: "Reject", images: {forbidAlways: [$pattern]}}')"
    same "containers that $pattern matches" "$expected" "$(in_jq -r '[.[].container] | join(" ")' <<<"$findings")"
  done <<'ROWS'
    registry.example.com/*       | a b c e
    registry.example.com:443/*   | a b c e
    registry.example.com:0443/*  | a b c e
    registry.example.com:5000/*  | d m
    registry.example.com:005000/* | d m
    *.example.com:5000/*         | d m
    registry.example.com:*/*     | a b c d e h m
    *.example.com/*              | a b c e
    r*.example.com*/*            | a b c d e h m
    docker.io/*                  | f g k l
    library/*                    | f g
    l                            |
    localhost/*                  | i
    [2001:db8::1]/*              | j
    *::1]/*                      | j
    A_b.c/*                      |
ROWS
}

@test "a wildcard before the first slash doesn't match a slash if this text also has a dot or a colon" {
  images='a.example.com/a:1 evil.io/a.example.com/b:1 evil.io/x/a.example.com/c:1 a.example.com/evil.io/d:1 example.com/e:1 x.a.example.com/f:1 nginx a.example.com:5000/h:1 123.dkr.ecr.eu-west-1.amazonaws.com/i:1 evil.io/123.dkr.ecr.eu-west-1.amazonaws.com/j:1'
  pod "$(for image in $images; do name=${image##*/}; echo -n ", app ${name%:1} $image Always"; done | cut -c 3-)"
  while fields pattern expected; do
    evaluate "$(in_jq -c -n --arg pattern "$pattern" '{mode: "Reject", images: {forbidAlways: [$pattern]}}')"
    same "containers that $pattern matches" "$expected" "$(in_jq -r '[.[].container] | join(" ")' <<<"$findings")"
  done <<'ROWS'
    *.example.com/*              | a d f
    ?.example.com/*              | a d
    *example.com/*               | a d e f
    *.com/*                      | a d e f i
    *.io/*                       | b c nginx j
    *.example.com:5000/*         | h
    *:5000/*                     | h
    *.dkr.ecr.*.amazonaws.com/*  | i
    *                            | a b c d e f nginx h i j
    */*                          | a b c d e f nginx h i j
    */b                          | b
    *y/*                         | nginx
ROWS
}

@test "a pattern that can match nothing is a settings error that says what to write" {
  while fields pattern words; do
    invalid "$(in_jq -c -n --arg pattern "$pattern" '{images: {requireAlways: [$pattern]}}')" \
      "images.requireAlways[0] $pattern $words"
  done <<'ROWS'
    registry.example.com   | registry registry.example.com/*
    ghcr.io/Team/*         | write ghcr.io/team/*
    NGINX                  | write nginx
    /nginx                 | write */nginx
    ghcr.io/team/          | write ghcr.io/team/*
    nginx:                 | write nginx
    a//b                   | write a/b
    docker.io/ngin?        | write docker.io/library/ngin?
    nginx:a/b              | can match no image
    registry.example.com:5000 | registry registry.example.com:5000/*
    *.example.com            | registry *.example.com/*
    [::1]                    | registry [::1]/*
    registry.example.com:443 | registry registry.example.com:443/*
    localhost:v1             | registry docker.io/library/localhost:v1
    *:443/team/*             | write */team/*
    *.example.com:0443/*     | write *.example.com/*
    *.example.com:05000/*    | write *.example.com:5000/*
    *.Example.com/*          | write *.example.com/*
    *Registry/a              | write *registry/a
    registry-1.docker.io/nginx | write docker.io/library/nginx
    my.app:v1                | registry docker.io/library/my.app:v1
    :latest                  | write *:latest
ROWS
}

@test "a pattern is no error if an image can match it, however its wildcards have to be filled" {
  pod 'app a app:1 Always'
  evaluate '{"images":{"forbidNever":["*","*A","*_","a?A","*:*:*","A/*","Registry/a?","*::*","*::*A","*::1]/*","*]*","*[*","*:*:*:*/*","[::?]:*/*","?::?/a","*]?a","*::*1/a","a_b.c/d","A_b.c/*","docker.io/a*:1","docker.io/a-*:1","????????????.dkr.ecr.*.amazonaws.com/*"]}}'
  untouched
  for pattern in 'Team_A/*' 'a:443:443/*' 'A_b/?' '*A/a' 'a_b:1/a' '*/_a' '*.-a/*' '*:443/*' '[a]/b' '*//*' '*::' '*::*]' 'nginx:1:2' 'nginx:.a' '-a.b/*' \
    'ghcr.io/a..b' 'ghcr.io/a_._b' '$(IMAGE)' 'a,b' '[::1/*'; do
    invalid "{\"images\":{\"forbidNever\":[\"$pattern\"]}}" "images.forbidNever[0] $pattern"
  done
}

@test "a container pattern is matched against the whole name of a container" {
  pod 'init setup app:1 Always, app main app:1 Always, app main-2 app:1 Always, volume data app:1 Always'
  while fields pattern expected; do
    evaluate "$(in_jq -c -n --arg pattern "$pattern" \
      '{mode: "Reject", images: {forbidAlways: ["*"]}, exempt: {containers: [$pattern]}}')"
    same "containers that $pattern leaves" "$expected" "$(in_jq -r '[.[].container] | join(", ")' <<<"$findings")"
  done <<'ROWS'
    main   | setup, main-2, data
    main*  | setup, data
    main-? | setup, main, data
    ?ain   | setup, main-2, data
    *a*    | setup
    mai    | setup, main, main-2, data
    *      |
ROWS
}
