//! Tests of image references. The oracle is the parser of `oci-spec`, except for references that
//! `oci-spec` and the kubelet read differently.

use consistent_pull_policy::image::{InvalidReference, Reference};
use proptest::prelude::*;

const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn normalised(image: &str) -> String {
    let reference =
        Reference::parse(image).unwrap_or_else(|invalid| panic!("{image}: {}", invalid.reason()));
    match (reference.repository_and_tag(), reference.digest()) {
        (Some(name), Some(digest)) => format!("{name}@{digest}"),
        (Some(name), None) => name,
        (None, digest) => format!("{}@{}", reference.repository(), digest.unwrap_or_default()),
    }
}

#[test]
fn references_are_normalised() {
    let cases = [
        ("nginx", "docker.io/library/nginx:latest".to_owned()),
        ("nginx:1.25", "docker.io/library/nginx:1.25".to_owned()),
        (
            "docker.io/nginx",
            "docker.io/library/nginx:latest".to_owned(),
        ),
        (
            "docker.io/library/nginx",
            "docker.io/library/nginx:latest".to_owned(),
        ),
        (
            "index.docker.io/library/nginx:latest",
            "docker.io/library/nginx:latest".to_owned(),
        ),
        (
            "index.docker.io/nginx",
            "docker.io/library/nginx:latest".to_owned(),
        ),
        ("library/nginx", "docker.io/library/nginx:latest".to_owned()),
        ("library/a/b", "docker.io/library/a/b:latest".to_owned()),
        (
            "buildkite/agent:3",
            "docker.io/buildkite/agent:3".to_owned(),
        ),
        (
            "ghcr.io/buildkite/agent:3",
            "ghcr.io/buildkite/agent:3".to_owned(),
        ),
        ("localhost/a", "localhost/a:latest".to_owned()),
        ("localhost:5000/a/b", "localhost:5000/a/b:latest".to_owned()),
        ("[::1]:5000/a/b", "[::1]:5000/a/b:latest".to_owned()),
        ("[fe80::1]/a", "[fe80::1]/a:latest".to_owned()),
        ("127.0.0.1:5000/a", "127.0.0.1:5000/a:latest".to_owned()),
        ("REGISTRY/nginx", "REGISTRY/nginx:latest".to_owned()),
        (
            "Registry.Example.com/nginx",
            "Registry.Example.com/nginx:latest".to_owned(),
        ),
        ("a.b_c/d", "a.b_c/d:latest".to_owned()),
        ("a--b__c.d/e", "a--b__c.d/e:latest".to_owned()),
    ];
    for (image, expected) in cases {
        assert_eq!(normalised(image), expected, "{image}");
    }
    let digest = format!("sha256:{HEX}");
    assert_eq!(
        normalised(&format!("nginx@{digest}")),
        format!("docker.io/library/nginx@{digest}")
    );
    assert_eq!(
        normalised(&format!("nginx:1.25@{digest}")),
        format!("docker.io/library/nginx:1.25@{digest}")
    );
}

/// The API server accepts many of these images. The kubelet then reports `InvalidImageName`.
#[test]
fn invalid_references_are_refused_with_their_mistake() {
    let cases = [
        ("", InvalidReference::Empty),
        ("  ", InvalidReference::Empty),
        ("ngi nx", InvalidReference::Space),
        (" nginx", InvalidReference::Space),
        ("nginx\n", InvalidReference::Space),
        ("NGINX", InvalidReference::UpperCase),
        ("NGINX:latest", InvalidReference::UpperCase),
        ("example.com/Team/app", InvalidReference::UpperCase),
        ("nginx:", InvalidReference::Tag),
        ("nginx::latest", InvalidReference::Tag),
        ("nginx:.x", InvalidReference::Tag),
        ("nginx:a:b", InvalidReference::Tag),
        ("nginx@latest", InvalidReference::Digest),
        ("nginx:latest@sha256:abc", InvalidReference::Digest),
        (
            "nginx@md5:0123456789abcdef0123456789abcdef",
            InvalidReference::Digest,
        ),
        ("nginx@", InvalidReference::Digest),
        ("http://reg/nginx:latest", InvalidReference::Scheme),
        ("$(IMG)", InvalidReference::Variable),
        ("repo/${IMG}:1", InvalidReference::Variable),
        ("{{.Image}}", InvalidReference::Variable),
        ("{{ .Values.image }}:1", InvalidReference::Variable),
        ("a//b:latest", InvalidReference::Repository),
        ("a/", InvalidReference::Repository),
        ("/a", InvalidReference::Repository),
        ("-nginx:latest", InvalidReference::Repository),
        ("nginx-", InvalidReference::Repository),
        ("a..b", InvalidReference::Repository),
        ("a___b", InvalidReference::Repository),
        ("a._b", InvalidReference::Repository),
        ("nginx,redis", InvalidReference::Repository),
        ("localhost:port/a", InvalidReference::Registry),
        ("localhost:/a", InvalidReference::Registry),
        (":5000/a", InvalidReference::Registry),
        ("-host.com/a", InvalidReference::Registry),
        ("host..com/a", InvalidReference::Registry),
        ("[::1/a", InvalidReference::Registry),
        ("[::g]:1/a", InvalidReference::Registry),
        ("[]:1/a", InvalidReference::Registry),
        ("[::1]x/a", InvalidReference::Registry),
        ("foo_bar:5000/a", InvalidReference::Registry),
        (HEX, InvalidReference::ImageId),
    ];
    for (image, expected) in cases {
        assert_eq!(Reference::parse(image).err(), Some(expected), "{image:?}");
    }
    let upper_digest = format!("nginx@sha256:{}", HEX.to_uppercase());
    assert_eq!(
        Reference::parse(&upper_digest).err(),
        Some(InvalidReference::Digest)
    );
}

#[test]
fn tags_have_at_most_128_and_repositories_at_most_255_bytes() {
    assert!(Reference::parse(&format!("nginx:{}", "t".repeat(128))).is_ok());
    assert_eq!(
        Reference::parse(&format!("nginx:{}", "t".repeat(129))).err(),
        Some(InvalidReference::Tag)
    );
    assert!(Reference::parse(&format!("example.com/{}", "r".repeat(255))).is_ok());
    assert_eq!(
        Reference::parse(&format!("example.com/{}", "r".repeat(256))).err(),
        Some(InvalidReference::Long)
    );
    // `a.b_c` is no host in the grammar. So it is a part of the repository, and its bytes count.
    assert!(Reference::parse(&format!("a.b_c/{}", "r".repeat(249))).is_ok());
    assert_eq!(
        Reference::parse(&format!("a.b_c/{}", "r".repeat(250))).err(),
        Some(InvalidReference::Long)
    );
    assert!(Reference::parse(&"r".repeat(247)).is_ok());
    assert_eq!(
        Reference::parse(&"r".repeat(248)).err(),
        Some(InvalidReference::Long)
    );
}

#[test]
fn references_of_the_same_image_have_the_same_identity() {
    let digest = format!("sha256:{HEX}");
    let other = format!("sha256:{}", HEX.replace('0', "f"));
    let same = [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx", "index.docker.io/library/nginx:latest"),
        (&*format!("nginx:1@{digest}"), &*format!("nginx:2@{digest}")),
        (
            &*format!("nginx@{digest}"),
            &*format!("docker.io/nginx:x@{digest}"),
        ),
        ("example.com/a:latest", "example.com/a"),
    ]
    .map(|(a, b)| (a.to_owned(), b.to_owned()));
    for (a, b) in same {
        let (left, right) = (Reference::parse(&a).unwrap(), Reference::parse(&b).unwrap());
        assert_eq!(left.identity(), right.identity(), "{a} {b}");
    }
    let different = [
        ("nginx:1.25", "nginx:1.26"),
        ("nginx", "example.com/library/nginx"),
        ("nginx", "team/nginx"),
        ("nginx:1", &*format!("nginx:1@{digest}")),
        (&*format!("nginx@{digest}"), &*format!("nginx@{other}")),
        (&*format!("nginx@{digest}"), &*format!("redis@{digest}")),
        // In each of the following pairs, a pattern that matches one reference also matches the other.
        // For a node, the two references are different images.
        ("example.com/nginx", "example.com:443/nginx"),
        ("example.com/nginx", "Example.com/nginx"),
        ("nginx", "registry-1.docker.io/library/nginx"),
    ]
    .map(|(a, b)| (a.to_owned(), b.to_owned()));
    for (a, b) in different {
        let (left, right) = (Reference::parse(&a).unwrap(), Reference::parse(&b).unwrap());
        assert_ne!(left.identity(), right.identity(), "{a} {b}");
    }
}

/// Whether `oci-spec` may read a reference differently from the kubelet.
fn oracle_differs(image: &str) -> bool {
    let first = image.split('/').next().unwrap_or_default();
    let (_, digest) = image.split_once('@').unwrap_or((image, "sha256:"));
    // The first part of `REGISTRY/nginx` is a registry for the kubelet, and a namespace for
    // `oci-spec`.
    (image.contains('/') && first.bytes().any(|byte| byte.is_ascii_uppercase()))
        // `oci-spec` refuses IPv6 registries.
        || image.contains('[')
        // `a.b_c` in `a.b_c/d` is a registry for `oci-spec`, and a part of the repository for the kubelet.
        || first.contains('_')
        // `oci-spec` accepts upper-case hexadecimal digits.
        || digest.bytes().any(|byte| byte.is_ascii_uppercase())
        // Digests with other algorithms than these three are not compared.
        || !["sha256:", "sha384:", "sha512:"].iter().any(|algorithm| digest.starts_with(algorithm))
        // 64 hexadecimal digits alone are an image ID for the kubelet.
        || (image.len() == 64 && image.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn compare(image: &str) -> Result<(), TestCaseError> {
    if oracle_differs(image) {
        return Ok(());
    }
    let ours = Reference::parse(image);
    let theirs = oci_spec::distribution::Reference::try_from(image);
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            prop_assert_eq!(
                ours.repository(),
                format!("{}/{}", theirs.registry(), theirs.repository())
            );
            prop_assert_eq!(ours.digest(), theirs.digest());
            let tag = ours.tag().or(ours.digest().is_none().then_some("latest"));
            prop_assert_eq!(tag, theirs.tag());
        }
        (Err(_), Err(_)) => {}
        (ours, theirs) => prop_assert!(false, "{image:?}: {ours:?} {theirs:?}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn likely_references_are_read_as_oci_spec_reads_them(
        registry in "(docker\\.io/|index\\.docker\\.io/|localhost/|localhost:5000/|example\\.com/|my-reg\\.io:443/|ab/|)",
        path in "[a-z0-9]{1,3}([._-]{0,3}[a-zA-Z0-9]{1,2}){0,2}(/[a-z0-9]{1,3}){0,2}",
        tag in "(:[A-Za-z0-9_.-]{0,4}|:latest|)",
        digest in "(@sha256:[0-9a-f]{63,65}|@sha512:[0-9a-f]{128}|)",
    ) {
        compare(&[registry, path, tag, digest].concat())?;
    }

    #[test]
    fn short_texts_are_read_as_oci_spec_reads_them(image in "[a-cA0:/@._$ -]{0,12}") {
        compare(&image)?;
    }

    #[test]
    fn no_text_makes_the_parser_panic(image in any::<String>()) {
        let _ = Reference::parse(&image);
    }
}
