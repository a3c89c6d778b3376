//! Image references, compared with the parser of `oci-spec`, except for references that `oci-spec` and the kubelet
//! read differently. `e2e-tests/invalid-image.bats` has those.

use consistent_pull_policy::image::Reference;
use proptest::prelude::*;

/// The kubelet's reading of references that `oci-spec` reads differently.
#[test]
fn references_are_read_as_the_kubelet_reads_them() {
    for (image, repository) in [
        ("REGISTRY/nginx", "REGISTRY/nginx"),
        ("[::1]:5000/a/b", "[::1]:5000/a/b"),
        ("a.b_c/d", "a.b_c/d"),
    ] {
        let read = Reference::parse(image).map(|image| image.repository());
        assert_eq!(read.as_deref(), Ok(repository), "{image}");
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
}
