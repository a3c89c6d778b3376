//! The names, images and patterns of random cases. There are few of them, so that a case often
//! contains the same name twice. A list is one text with a word for each entry.

use crate::answers::ANSWERED_DIGESTS;

/// The valid digests in references: `ANSWERED_DIGESTS`, and a digest that no registry answers for a
/// tag.
pub(super) const DIGESTS: [&str; 4] = [
    ANSWERED_DIGESTS[0],
    ANSWERED_DIGESTS[1],
    ANSWERED_DIGESTS[2],
    "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];
/// One repository in four spellings, and another one.
pub(super) const USUAL_REPOSITORIES: &str = "app docker.io/library/app library/app \
    index.docker.io/library/app r.example.com/team/app";
/// Other repositories. Some have hosts in unusual spellings.
pub(super) const OTHER_REPOSITORIES: &str = "r.example.com/tools web ghcr.io/team/db \
    quay.io/tools/agent localhost:5000/a/b R.example.com/x [::1]:5000/a/b docker.io/app \
    registry-1.docker.io/library/app R.Example.com/team/app r.example.com:443/team/app \
    evil.test/r.example.com/team/app a_b.example.com/x r.example.com./team/app \
    app.example.com/x-y/z__1 r.example.com:5000/team/app r.example.com:05000/team/app \
    R.example.com:0443/team/app index.docker.io:443/library/app REGISTRY/team/app";
/// What stands behind a repository. The first three are picked more often.
pub(super) const SUFFIXES: [&str; 7] = [
    "",
    ":latest",
    ":v1",
    ":v2",
    ":16",
    ":1.29-alpine",
    ":Latest",
];
/// Texts that the kubelet can't read as a reference.
pub(super) const BAD_IMAGES: &str = "NGINX $(IMG) app: http://r.example.com/a a//b app@latest \
    app:v1@sha256:abc 1111111111111111111111111111111111111111111111111111111111111111";
/// More of them, with white space, or with characters that nobody sees.
pub(super) const ODD_IMAGES: [&str; 5] = ["", "  ", "ngi nx", "ng\u{202e}i\u{200b}nx", "a\u{7}b"];
/// IDs of images on a node, and a repository and a tag that look like an ID.
pub(super) const IMAGE_IDS: [&str; 4] = [
    ANSWERED_DIGESTS[0],
    "sha256:abc",
    "sha256:xyz",
    "docker.io/library/sha256:abc",
];
/// The parts of image patterns: a host (or none), a repository, a tag. Any host fits any repository
/// and any tag.
pub(super) const PATTERN_HOSTS: &str = "docker.io/ docker.i?/ *.io/ index.docker.io/ \
    registry-1.docker.io:443/ */ *:443/ *:05000/ *:*/ r.example.com/ R.Example.com:0443/ \
    r.example.com:5000/ r.example.com:05000/ r.example.com:*/ *.example.com/ *.example.com:443/ \
    ?.example.com:0443/ r.*:05000/ r.*:443/ *example.com:*/ localhost:5000/ [::?]:05000/ [::1]:*/";
pub(super) const PATTERN_REPOSITORIES: &str =
    "app a* * a?p library/app library/* team/app team/* */app t*p";
pub(super) const PATTERN_TAGS: [&str; 5] = ["", ":v1", ":v*", ":*", ":latest"];
/// Other image patterns for settings, apart from `*`.
pub(super) const IMAGE_PATTERNS: &str = "app app:v* app:v1 app:latest */app *:latest *:v? \
    docker.io/* docker.io/library/app:v1 index.docker.io/library/app r.example.com/* \
    r.example.com/team/app:v? */tools library/* web localhost:5000/* a?p *v1 R.example.com/x \
    quay.io/* ghcr.io/*/db:1? *.example.com/* R.Example.com/* r.example.com:443/* \
    docker.io/istio/* cr.l5d.io/* r.example.com:*/team/* registry-1.docker.io/library/app ?.example.com/* \
    */r.example.com/* *.example.com/team/app:v? r.example.com:0443/tools r.example.com:5000/* \
    r.example.com:005000/team/* sha256:*";
pub(super) const APPS: &str = "container-0 container-1 app imagecheck-1 istio-proxy x";
pub(super) const INITS: &str = "imagecheck-0 imagecheck-1 copy-agent imagepullcheck-0 setup \
    imagecheck-3 probe-0 istio-init";
pub(super) const VOLUMES: &str = "workspace model imagecheck-0 imagecheck-5 imagepullcheck-0 \
    istio-proxy probe-1";
pub(super) const CONTAINER_PATTERNS: &str =
    "istio-* app copy-* imagepullcheck-* set?p *-proxy container-1 linkerd-*";
pub(super) const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
/// A secret in the environment and arguments of containers. This policy may return this text inside
/// the changed object, but never in a message, a warning, an audit annotation or a log.
pub(super) const SECRET: &str = "s3cr3t-value";
