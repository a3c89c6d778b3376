//! The lists of names, images and patterns for random cases. The lists are short, so that a case
//! often contains the same name twice.

use crate::answers::ANSWERED_DIGESTS;

/// The valid digests in references: `ANSWERED_DIGESTS`, and a digest that no registry answers for a tag.
pub(super) const DIGESTS: [&str; 4] = [
    ANSWERED_DIGESTS[0],
    ANSWERED_DIGESTS[1],
    ANSWERED_DIGESTS[2],
    "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];
/// The digests of the manifests that an image index names, one for each entry.
pub(super) const MANIFEST_DIGESTS: [&str; 6] = [
    "sha256:a100000000000000000000000000000000000000000000000000000000000000",
    "sha256:a200000000000000000000000000000000000000000000000000000000000000",
    "sha256:a300000000000000000000000000000000000000000000000000000000000000",
    "sha256:a400000000000000000000000000000000000000000000000000000000000000",
    "sha256:a500000000000000000000000000000000000000000000000000000000000000",
    "sha256:a600000000000000000000000000000000000000000000000000000000000000",
];
/// Repositories as references spell them. The first four are the same repository in different
/// spellings. Some of the last ones have hosts in unusual spellings.
pub(super) const REPOSITORIES: [&str; 23] = [
    "app",
    "docker.io/library/app",
    "library/app",
    "index.docker.io/library/app",
    "r.example.com/team/app",
    "r.example.com/tools",
    "web",
    "ghcr.io/team/db",
    "quay.io/tools/agent",
    "localhost:5000/a/b",
    "R.example.com/x",
    "docker.io/app",
    "registry-1.docker.io/library/app",
    "R.Example.com/team/app",
    "r.example.com:443/team/app",
    "evil.test/r.example.com/team/app",
    "a_b.example.com/x",
    "r.example.com./team/app",
    "app.example.com/x-y/z__1",
    "r.example.com:5000/team/app",
    "r.example.com:05000/team/app",
    "R.example.com:0443/team/app",
    "index.docker.io:443/library/app",
];
pub(super) const SUFFIXES: [&str; 7] =
    ["", ":latest", ":v1", ":v2", ":16", ":1.29-alpine", ":Latest"];
/// Texts that the kubelet can't read as a reference.
pub(super) const BAD_IMAGES: [&str; 13] = [
    "",
    "NGINX",
    "$(IMG)",
    "app:",
    "http://r.example.com/a",
    "a//b",
    "app@latest",
    "app:v1@sha256:abc",
    "1111111111111111111111111111111111111111111111111111111111111111",
    "ngi nx",
    "ng\u{202e}i\u{200b}nx",
    "a\u{7}b",
    "  ",
];
/// IDs of images on a node, and a repository and a tag that look like an ID.
pub(super) const IMAGE_IDS: [&str; 4] =
    [ANSWERED_DIGESTS[0], "sha256:abc", "sha256:xyz", "docker.io/library/sha256:abc"];
/// Image patterns for settings. The first pattern, `"*"`, is never written into `exempt.images`, because
/// it would exempt every image.
pub(super) const IMAGE_PATTERNS: [&str; 35] = [
    "*",
    "app",
    "app:v*",
    "app:v1",
    "app:latest",
    "*/app",
    "*:latest",
    "*:v?",
    "docker.io/*",
    "docker.io/library/app:v1",
    "index.docker.io/library/app",
    "r.example.com/*",
    "r.example.com/team/app:v?",
    "*/tools",
    "library/*",
    "web",
    "localhost:5000/*",
    "a?p",
    "*v1",
    "R.example.com/x",
    "quay.io/*",
    "ghcr.io/*/db:1?",
    "*.example.com/*",
    "R.Example.com/*",
    "r.example.com:443/*",
    "docker.io/istio/*",
    "r.example.com:*/team/*",
    "registry-1.docker.io/library/app",
    "?.example.com/*",
    "*/r.example.com/*",
    "*.example.com/team/app:v?",
    "r.example.com:0443/tools",
    "r.example.com:5000/*",
    "r.example.com:005000/team/*",
    "sha256:*",
];
pub(super) const APPS: [&str; 6] =
    ["container-0", "container-1", "app", "imagecheck-1", "istio-proxy", "x"];
pub(super) const INITS: [&str; 8] = [
    "imagecheck-0",
    "imagecheck-1",
    "copy-agent",
    "imagepullcheck-0",
    "setup",
    "imagecheck-3",
    "probe-0",
    "istio-init",
];
pub(super) const VOLUMES: [&str; 7] = [
    "workspace",
    "model",
    "imagecheck-0",
    "imagecheck-5",
    "imagepullcheck-0",
    "istio-proxy",
    "probe-1",
];
pub(super) const CONTAINER_PATTERNS: [&str; 8] = [
    "istio-*",
    "app",
    "copy-*",
    "imagepullcheck-*",
    "set?p",
    "*-proxy",
    "container-1",
    "linkerd-*",
];
pub(super) const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
/// A secret in the environment and arguments of containers, and in statuses. This policy may return this
/// text inside the changed object, but never in a message, a warning, an audit annotation or a log.
pub(super) const SECRET: &str = "s3cr3t-value";
