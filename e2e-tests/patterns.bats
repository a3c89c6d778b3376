# Patterns: globs over normalised image names, and over container names.

load lib

sha=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

# match PATTERN EXPECTED: the pattern matches exactly the expected images of the Pod. The findings
# of images.forbidAlways show which ones.
match() {
  evaluate "$(jq -c -n --arg pattern "$1" '{mode: "Reject", images: {forbidAlways: [$pattern]}}')"
  same "images that $1 matches" "$2" "$(jq -r '[.[].image] | join(", ")' <<<"$findings")"
}

@test "a pattern is matched against the normalised registry/repository and registry/repository:tag" {
  pod "app a nginx Always, app b docker.io/library/nginx:1.25 Always, app c buildkite/agent:3 Always, app d ghcr.io/buildkite/agent:3 Always, app e localhost:5000/nginx:1 Always, app f nginx@$sha Always"
  while fields pattern expected; do
    match "$pattern" "$expected"
  done <<ROWS
    nginx                      | nginx, docker.io/library/nginx:1.25, nginx@$sha
    nginx:latest               | nginx
    nginx:1.25                 | docker.io/library/nginx:1.25
    nginx:1.2?                 | docker.io/library/nginx:1.25
    nginx:*                    | nginx, docker.io/library/nginx:1.25
    ngin?                      | nginx, docker.io/library/nginx:1.25, nginx@$sha
    ngin                       |
    ngin??                     |
    docker.io/nginx            | nginx, docker.io/library/nginx:1.25, nginx@$sha
    docker.io/library/nginx    | nginx, docker.io/library/nginx:1.25, nginx@$sha
    index.docker.io/library/nginx | nginx, docker.io/library/nginx:1.25, nginx@$sha
    docker.io/*                | nginx, docker.io/library/nginx:1.25, buildkite/agent:3, nginx@$sha
    docker.io/library/*        | nginx, docker.io/library/nginx:1.25, nginx@$sha
    library/*                  | nginx, docker.io/library/nginx:1.25, nginx@$sha
    buildkite/*                | buildkite/agent:3
    buildkite/agent            | buildkite/agent:3
    ghcr.io/*                  | ghcr.io/buildkite/agent:3
    ghcr.io/buildkite/agent:*  | ghcr.io/buildkite/agent:3
    ghcr.io/buildkite          |
    gh*/agent                  |
    *.io/*/agent               | buildkite/agent:3, ghcr.io/buildkite/agent:3
    localhost:5000/*           | localhost:5000/nginx:1
    localhost:5000/nginx       | localhost:5000/nginx:1
    localhost:*/*              | localhost:5000/nginx:1
    *:latest                   | nginx
    */nginx                    | nginx, docker.io/library/nginx:1.25, localhost:5000/nginx:1, nginx@$sha
    *:3                        | buildkite/agent:3, ghcr.io/buildkite/agent:3
    *                          | nginx, docker.io/library/nginx:1.25, buildkite/agent:3, ghcr.io/buildkite/agent:3, localhost:5000/nginx:1, nginx@$sha
ROWS
}

@test "a registry host is matched in lower case, without the port 443, and docker.io by its other names" {
  pod "app a Registry.Example.com/a:1 Always, app b registry.example.com:443/b:1 Always, app c registry.example.com:5000/c:1 Always, app d registry-1.docker.io/library/nginx:1 Always, app e evil.io/a.example.com/e:1 Always, app f registry.example.com:0443/f:1 Always"
  while fields pattern expected; do
    match "$pattern" "$expected"
  done <<'ROWS'
    registry.example.com/*         | Registry.Example.com/a:1, registry.example.com:443/b:1, registry.example.com:0443/f:1
    Registry.Example.com:443/*     | Registry.Example.com/a:1, registry.example.com:443/b:1, registry.example.com:0443/f:1
    registry.example.com:*/*       | Registry.Example.com/a:1, registry.example.com:443/b:1, registry.example.com:5000/c:1, registry.example.com:0443/f:1
    registry.example.com:5000/*    | registry.example.com:5000/c:1
    *.example.com/*                | Registry.Example.com/a:1, registry.example.com:443/b:1, registry.example.com:0443/f:1
    *.example.com:*/*              | Registry.Example.com/a:1, registry.example.com:443/b:1, registry.example.com:5000/c:1, registry.example.com:0443/f:1
    *xample.com/*                  | Registry.Example.com/a:1, registry.example.com:443/b:1, registry.example.com:0443/f:1
    *a.example?com/*               |
    */e                            | evil.io/a.example.com/e:1
    evil*                          |
    *vil.io/*                      | evil.io/a.example.com/e:1
    nginx                          | registry-1.docker.io/library/nginx:1
    docker.io/*                    | registry-1.docker.io/library/nginx:1
    registry-1.docker.io/library/* | registry-1.docker.io/library/nginx:1
ROWS
}

@test "a pattern that can match nothing is a settings error that says what to write" {
  while fields pattern problem; do
    invalid "$(jq -c -n --arg pattern "$pattern" '{images: {requireAlways: [$pattern]}}')" \
      "images.requireAlways[0] \"$pattern\" $problem"
  done <<'ROWS'
    registry.example.com   | names a registry, but no image in it: write registry.example.com/* for all its images
    registry.example.com/  | names a registry, but no image in it: write registry.example.com/* for all its images
    localhost:*            | names a registry, but no image in it: write localhost:*/* for all its images
    ghcr.io/Team/*         | has upper case in a repository, so no image can match it: write ghcr.io/team/*
    NGINX                  | has upper case in a repository, so no image can match it: write nginx
    /nginx                 | begins with a slash, so no image can match it: write */nginx
    ghcr.io/team/          | ends with a slash, so no image can match it: write ghcr.io/team/*
    nginx:                 | ends with a colon, so no image can match it: write nginx
    a//b                   | has nothing between two slashes, so no image can match it: write a/b
    docker.io/ngin?        | leaves out the namespace, so no image can match it: write docker.io/library/ngin?
    my.app:v1              | names a registry, but no image in it: write docker.io/library/my.app:v1 for an image of this name
    [::1]:5000             | names a registry, but no image in it: write [::1]:5000/* for all its images
    *:443/team/*           | has the port 443, which is dropped before an image is matched, so no image can match it: write */team/*
    *.example.com:0443/*   | has the port 443, which is dropped before an image is matched, so no image can match it: write *.example.com/*
    *.Example.com/*        | has upper case in a host with a wildcard, so no image can match it: write *.example.com/*
    nginx:a/b              | can match no image: names are registry/repository[:tag], with lower-case letters and digits parted by . _ - or / in the repository, and letters, digits, _ . - in the tag
ROWS
}

@test "a container pattern is matched against the whole name of a container" {
  pod 'init setup app:1 Always, app main app:1 Always, app main-2 app:1 Always, volume data app:1 Always'
  while fields pattern expected; do
    evaluate "$(jq -c -n --arg pattern "$pattern" \
      '{mode: "Reject", images: {forbidAlways: ["*"]}, exempt: {containers: [$pattern]}}')"
    same "containers that $pattern leaves" "$expected" "$(jq -r '[.[].container] | join(", ")' <<<"$findings")"
  done <<'ROWS'
    main   | main-2, setup, data
    main*  | setup, data
    main-? | main, setup, data
    ?ain   | main-2, setup, data
    *a*    | setup
    mai    | main, main-2, setup, data
    *      |
ROWS
}
