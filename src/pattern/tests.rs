//! Tests of globs, patterns and the grammar of image names. They compare each of these with a
//! simpler definition of the same thing.

use proptest::prelude::*;

use super::*;

/// The names of many images: all valid references that consist of one of a few registries, a path
/// of at most four characters, and one of a few tags and digests.
fn images() -> &'static [ImageName] {
    use std::sync::LazyLock;
    static IMAGES: LazyLock<Vec<ImageName>> = LazyLock::new(|| {
        let digest = format!("sha256:{}", "a".repeat(64));
        let mut paths = vec![String::new()];
        for length in 0..4 {
            let longer: Vec<String> = paths
                .iter()
                .filter(|path| path.len() == length)
                .flat_map(|path| "a.-_/".chars().map(move |c| format!("{path}{c}")))
                .collect();
            paths.extend(longer);
        }
        let mut images = Vec::new();
        for registry in [
            "",
            "a.a/",
            "A.a:0443/",
            "A/",
            "a:1/",
            "localhost/",
            "[::A]:1/",
            "a.a_a/",
            "registry-1.docker.io/a/",
        ] {
            for path in &paths {
                for tag in ["", ":a", ":A.a"] {
                    for image in [
                        format!("{registry}{path}{tag}"),
                        format!("{registry}{path}{tag}@{digest}"),
                    ] {
                        images.extend(Reference::parse(&image).ok().map(|r| ImageName::of(&r)));
                    }
                }
            }
        }
        images
    });
    &IMAGES
}

fn image_pattern(written: &str) -> ImagePattern {
    ImagePattern::try_from(written.to_owned())
        .unwrap_or_else(|problem| panic!("\"{written}\" {problem}"))
}

fn container_pattern(written: &str) -> ContainerPattern {
    ContainerPattern::try_from(written.to_owned())
        .unwrap_or_else(|problem| panic!("\"{written}\" {problem}"))
}

#[test]
fn a_pattern_is_shown_as_it_is_written() {
    for written in ["nginx", "a*", "team/?*"] {
        let pattern = image_pattern(written);
        assert_eq!(pattern.as_str(), written);
        assert_eq!(String::from(pattern), written);
    }
    for written in ["app", "imagecheck-*", "?"] {
        let pattern = container_pattern(written);
        assert_eq!(pattern.as_str(), written);
        assert_eq!(String::from(pattern), written);
    }
}

#[test]
fn a_glob_matches_the_whole_text() {
    let cases = [
        ("", "", true),
        ("", "a", false),
        ("a", "a", true),
        ("a", "ab", false),
        ("*", "", true),
        ("*", "anything/at:all", true),
        ("a*", "a", true),
        ("a*c", "abbc", true),
        ("a*c", "abcb", false),
        ("a*b*c", "a-b-b-c", true),
        ("*ab", "aab", true),
        ("?", "", false),
        ("?", "x", true),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
        ("*?", "x", true),
        ("**", "", true),
        ("imagecheck-?", "imagecheck-10", false),
    ];
    for (glob, text, expected) in cases {
        assert_eq!(glob_matches(glob, text), expected, "{glob} {text}");
    }
}

#[test]
fn a_pattern_is_matched_with_the_normalised_name_of_an_image() {
    let cases = [
        ("nginx", "nginx", true),
        ("nginx", "nginx:1.25", true),
        ("nginx", "docker.io/library/nginx:1.25", true),
        ("nginx", "index.docker.io/library/nginx", true),
        ("nginx", "bitnami/nginx", false),
        ("nginx", "ghcr.io/library/nginx", false),
        ("nginx:latest", "nginx", true),
        ("nginx:1.*", "nginx:1.25", true),
        ("nginx:1.*", "nginx:2.0", false),
        ("nginx:*", "nginx", true),
        ("nginx:RC*", "nginx:RC1", true),
        ("docker.io/nginx", "nginx", true),
        ("index.docker.io/nginx", "nginx", true),
        ("docker.io/*", "nginx", true),
        ("docker.io/*", "buildkite/agent:3", true),
        ("docker.io/*", "ghcr.io/a", false),
        ("buildkite/*", "buildkite/agent", true),
        ("buildkite/*", "ghcr.io/buildkite/agent", false),
        ("*", "ghcr.io/a/b/c:1", true),
        ("*/nginx", "ghcr.io/team/nginx:1", true),
        ("*/nginx", "nginx", true),
        ("*/nginx", "ghcr.io/a/b/nginx", true),
        ("*oo/x", "ghcr.io/team/foo/x", true),
        ("*:latest", "nginx", true),
        ("*:latest", "nginx:1", false),
        ("*.example.com/*", "reg.example.com/a", true),
        ("*.example.com/*", "example.com/a", false),
        // A wildcard in a host with a `.` or `:` matches no slash.
        ("*.example.com/*", "evil.io/a.example.com/b", false),
        ("*:5000/*", "evil.io:5000/a", true),
        ("*:5000/*", "evil.io/a:5000", false),
        ("r?example.com/*", "r/example.com/a", false),
        (
            "*.dkr.ecr.*.amazonaws.com/*",
            "1.dkr.ecr.eu-west-1.amazonaws.com/a/b:v1",
            true,
        ),
        (
            "*.dkr.ecr.*.amazonaws.com/*",
            "1.dkr.ecr.evil.io/b.amazonaws.com/a",
            false,
        ),
        ("localhost:5000/*", "localhost:5000/a/b:v1", true),
        ("localhost:5000/*", "localhost:5001/a", false),
        ("localhost:*/*", "localhost:5001/a", true),
        ("localhost:*/*", "localhost/a", true),
        ("r.example.com:*/*", "r.example.com/a", true),
        ("r.example.com:*/*", "R.example.com:443/a", true),
        ("r.example.com:*/*", "r.example.com.evil.io/a", false),
        ("*:*/a", "r.example.com/a", true),
        ("*:*/a", "r.example.com/b/a", false),
        // Hosts are compared in lower case and without the port 443.
        ("Registry.example.com/*", "Registry.example.com/a", true),
        ("registry.example.com/*", "Registry.Example.com/a", true),
        ("Registry.Example.com:443/*", "registry.example.com/a", true),
        ("registry.example.com/*", "registry.example.com:443/a", true),
        (
            "registry.example.com/*",
            "registry.example.com:00443/a:v1",
            true,
        ),
        (
            "registry.example.com/a:v1",
            "REGISTRY.example.com:443/a:v1",
            true,
        ),
        (
            "registry.example.com:0443/*",
            "registry.example.com/a",
            true,
        ),
        (
            "registry.example.com/*",
            "registry.example.com:4430/a",
            false,
        ),
        (
            "registry.example.com/*",
            "registry.example.com:1443/a",
            false,
        ),
        ("*.example.com/*", "Registry.Example.com:443/a", true),
        ("a/*", "A/b", false),
        ("A/*", "a:443/b", true),
        ("a:443/*", "A/b", true),
        ("[::a]/b", "[::A]:443/b", true),
        ("nginx", "registry-1.docker.io/library/nginx:1.25", true),
        ("nginx", "Registry-1.Docker.io:443/library/nginx", true),
        ("nginx", "INDEX.docker.io/library/nginx", true),
        ("nginx", "docker.io:443/library/nginx", true),
        ("docker.io/*", "registry-1.docker.io/a/b", true),
        ("registry-1.docker.io/library/nginx", "nginx", true),
        ("registry-1.docker.io/*", "a/b", true),
        // Only `docker.io` and `index.docker.io` leave out `library/`.
        ("nginx", "registry-1.docker.io/nginx", false),
        ("docker.io/*", "registry-1.docker.io/nginx", true),
        ("[::1]:5000/*", "[::1]:5000/a", true),
        ("ghcr.io/a/?", "ghcr.io/a/b", true),
        ("ghcr.io/?eam/*:V?", "ghcr.io/team/app:V1", true),
    ];
    for (pattern, image, expected) in cases {
        let patterns = [image_pattern(pattern)];
        let reference = Reference::parse(image).expect(image);
        let matched = first_match(&patterns, &reference);
        assert_eq!(matched, patterns.first().filter(|_| expected), "{image}");
    }
}

#[test]
fn an_image_with_a_digest_has_only_the_tag_that_is_written() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let matches = |pattern: &str, image: &str| {
        first_match(
            &[image_pattern(pattern)],
            &Reference::parse(image).expect(image),
        )
        .is_some()
    };
    assert!(matches("nginx", &format!("nginx@{digest}")));
    assert!(!matches("nginx:latest", &format!("nginx@{digest}")));
    assert!(matches("nginx:1.25", &format!("nginx:1.25@{digest}")));
}

/// If an error proposes a pattern, this pattern is valid.
#[test]
fn the_error_for_a_pattern_that_matches_nothing_proposes_another() {
    let registry = "names a registry, but no image in it: write ";
    let port = "has the port 443, which is dropped before an image is matched, so no image can match \
                it: write ";
    let host = "has upper case in a host with a wildcard, so no image can match it: write ";
    let namespace = "leaves out the namespace, so no image can match it: write ";
    let shape = "can match no image: names are registry/repository[:tag], with lower-case letters \
                 and digits parted by . _ - or / in the repository, and letters, digits, _ . - in \
                 the tag";
    let cases = [
        (
            "registry.example.com",
            registry,
            "registry.example.com/* for all its images",
        ),
        (
            "registry.example.com/",
            registry,
            "registry.example.com/* for all its images",
        ),
        (
            "registry.example.com:5000",
            registry,
            "registry.example.com:5000/* for all its images",
        ),
        (
            "registry.example.com:",
            registry,
            "registry.example.com/* for all its images",
        ),
        (
            "*.example.com",
            registry,
            "*.example.com/* for all its images",
        ),
        ("docker.io", registry, "docker.io/* for all its images"),
        ("localhost", registry, "localhost/* for all its images"),
        ("localhost/", registry, "localhost/* for all its images"),
        ("localhost:*", registry, "localhost:*/* for all its images"),
        (
            "localhost:5000",
            registry,
            "localhost:5000/* for all its images",
        ),
        (
            "registry:5000/",
            registry,
            "registry:5000/* for all its images",
        ),
        ("[::1]:5000", registry, "[::1]:5000/* for all its images"),
        ("[::1]", registry, "[::1]/* for all its images"),
        ("[::1]:v1", registry, "[::1]/* for all its images"),
        (
            "*.Example.com:443",
            registry,
            "*.example.com/* for all its images",
        ),
        (
            "registry.example.com:443",
            registry,
            "registry.example.com:443/* for all its images",
        ),
        (
            "localhost:v1",
            registry,
            "docker.io/library/localhost:v1 for an image of this name",
        ),
        ("*:443/team/*", port, "*/team/*"),
        ("*.example.com:0443/*", port, "*.example.com/*"),
        ("registry*:443/a:v1", port, "registry*:*/a:v1"),
        ("*.Example.com/*", host, "*.example.com/*"),
        ("*.Example.com/Team:V1", host, "*.example.com/team:V1"),
        ("Registry*/a", host, "registry*:*/a"),
        ("*Registry/a", host, "*registry/a"),
        (
            "registry-1.docker.io/nginx",
            namespace,
            "docker.io/library/nginx",
        ),
        (
            "my.app:v1",
            registry,
            "docker.io/library/my.app:v1 for an image of this name",
        ),
        ("*.app:v1", registry, "*/*.app:v1 for an image of this name"),
        (
            "ghcr.io/Team/*",
            "has upper case in a repository, so no image can match it: write ",
            "ghcr.io/team/*",
        ),
        (
            "ghcr.io/team/App:V1",
            "has upper case in a repository, so no image can match it: write ",
            "ghcr.io/team/app:V1",
        ),
        (
            "NGINX",
            "has upper case in a repository, so no image can match it: write ",
            "nginx",
        ),
        (
            "docker.io/NGINX",
            "has upper case in a repository, so no image can match it: write ",
            "docker.io/nginx",
        ),
        (
            "*/Team/*",
            "has upper case in a repository, so no image can match it: write ",
            "*/team/*",
        ),
        (
            "/nginx",
            "begins with a slash, so no image can match it: write ",
            "*/nginx",
        ),
        (
            "nginx:",
            "ends with a colon, so no image can match it: write ",
            "nginx",
        ),
        (
            "ghcr.io/a:",
            "ends with a colon, so no image can match it: write ",
            "ghcr.io/a",
        ),
        (
            ":latest",
            "begins with a colon, so no image can match it: write ",
            "*:latest",
        ),
        (
            "a//b",
            "has nothing between two slashes, so no image can match it: write ",
            "a/b",
        ),
        (
            "*//b",
            "has nothing between two slashes, so no image can match it: write ",
            "*/b",
        ),
        (
            "ghcr.io/team/",
            "ends with a slash, so no image can match it: write ",
            "ghcr.io/team/*",
        ),
        (
            "team/",
            "ends with a slash, so no image can match it: write ",
            "team/*",
        ),
        (
            "*/",
            "ends with a slash, so no image can match it: write ",
            "*/*",
        ),
        (
            "docker.io/ngin?",
            "leaves out the namespace, so no image can match it: write ",
            "docker.io/library/ngin?",
        ),
        ("nginx:a/b", shape, ""),
        ("nginx:1:2", shape, ""),
        ("nginx:.a", shape, ""),
        ("-a.b/*", shape, ""),
        ("ghcr.io/a..b", shape, ""),
        ("ghcr.io/a_._b", shape, ""),
        ("$(IMAGE)", shape, ""),
        ("a,b", shape, ""),
        ("[::1/*", shape, ""),
    ];
    for (pattern, problem, instead) in cases {
        let error = ImagePattern::try_from(pattern.to_owned()).expect_err(pattern);
        let expected = format!("{problem}{instead}");
        assert_eq!(error.to_string(), expected, "{pattern}");
        if let Some(instead) = instead.split(' ').next().filter(|text| !text.is_empty()) {
            image_pattern(instead);
        }
    }
    let cases = [
        (
            "istio-",
            "matches no container's name, as none ends with -: write istio-*",
        ),
        (
            "-proxy",
            "matches no container's name, as none begins with -: write *-proxy",
        ),
        (
            &"a".repeat(64),
            "matches no container's name, as none is longer than 63 characters",
        ),
    ];
    for (pattern, problem) in cases {
        let error = ContainerPattern::try_from(pattern.to_owned()).expect_err(pattern);
        assert_eq!(error.to_string(), problem, "{pattern}");
    }
}

#[test]
fn a_pattern_hides_each_pattern_that_matches_only_a_part_of_its_images() {
    let cases = [
        ("*", "ghcr.io/a", true),
        ("docker.io/*", "nginx", true),
        ("docker.io/*", "docker.io/*", true),
        ("docker.io/*", "buildkite/*", true),
        ("docker.io/library/*", "buildkite/*", false),
        ("nginx", "nginx:1.*", true),
        ("nginx:*", "nginx", false),
        ("nginx:1.*", "nginx:1.25", true),
        ("nginx:1.25", "nginx:1.*", false),
        ("ghcr.io/*", "*", false),
        ("ghcr.io/a/?", "ghcr.io/a/b", true),
        ("ghcr.io/a/?", "ghcr.io/a/*", false),
        ("*.example.com/*", "r.example.com/team/*", true),
        ("*host", "myhost:5000/*", false),
        // The two kinds of wildcards.
        ("*.example.com/*", "*.team.example.com/*", true),
        ("*.example.com/*", "*/a.example.com/*", false),
        ("*", "*.example.com:*/*", true),
        ("*/*", "*.example.com/*", true),
        ("*/nginx", "*.example.com/nginx:1.*", true),
        ("*/nginx", "*.example.com/*", false),
        ("*.example.com/*", "*/nginx", false),
        ("*.example.com/*", "*", false),
        ("*.example.com/nginx", "*.example.com/nginx:1.*", true),
        ("*.example.com/nginx:*", "*.example.com/nginx", false),
        // `host:*` also matches the host without a port.
        ("r.example.com:*/*", "r.example.com/a", true),
        ("r.example.com:*/*", "r.example.com:5000/a", true),
        ("r.example.com:*/*", "r.example.com:5*/a", true),
        ("r.example.com:5*/*", "r.example.com:*/a", false),
        ("r.example.com/*", "r.example.com:*/a", false),
        ("*:*/*", "*.example.com:*/a", true),
        ("*.com:*/*", "*.example.com/a", true),
        // Hosts are compared in one spelling.
        ("r.example.com/*", "R.Example.com:443/a", true),
        ("registry-1.docker.io/*", "nginx", true),
    ];
    for (earlier, later, expected) in cases {
        let hides = image_pattern(earlier).hides(&image_pattern(later));
        assert_eq!(hides, expected, "{earlier} {later}");
    }
}

#[test]
fn a_pattern_matches_numbered_names_if_it_matches_any_of_them() {
    let cases = [
        ("imagecheck-*", true),
        ("imagecheck-1", true),
        ("imagecheck-??*", true),
        ("imagecheck-??????????", true),
        ("image*12345", true),
        ("*", true),
        ("*0", true),
        ("i*-*-7", false),
        ("imagecheck", false),
        ("imagecheck?", false),
        // A number has no leading zero.
        ("imagecheck-0", true),
        ("imagecheck-0*", true),
        ("imagecheck-01", false),
        ("imagecheck-0?", false),
        ("*-01*", false),
        ("*01", true),
        ("imagecheck-a", false),
        ("imagecheck-*a", false),
        ("imagepullcheck-*", false),
        ("*a", false),
    ];
    for (pattern, expected) in cases {
        let matches = container_pattern(pattern).matches_numbered("imagecheck-");
        assert_eq!(matches, expected, "{pattern}");
    }
}

/// The definition of a glob, as a recursive function that may be slow.
fn oracle(glob: &[u8], text: &[u8]) -> bool {
    match (glob, text) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => {
            oracle(rest, text)
                || text
                    .split_first()
                    .is_some_and(|(_, text)| oracle(glob, text))
        }
        ([wanted, glob @ ..], [byte, text @ ..]) => {
            (*wanted == b'?' || wanted == byte) && oracle(glob, text)
        }
        _ => false,
    }
}

/// The definition of an image pattern that is normalised: a recursive function that may be slow.
fn image_oracle(glob: &str, name: &str) -> bool {
    fn matches(glob: &[u8], name: &[u8], in_host: bool) -> bool {
        let wildcard_matches = |byte: u8| !(in_host && byte == b'/');
        match (glob, name) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => {
                matches(rest, name, in_host)
                    || name.split_first().is_some_and(|(byte, name)| {
                        wildcard_matches(*byte) && matches(glob, name, in_host)
                    })
            }
            ([b'?', glob @ ..], [byte, name @ ..]) => {
                wildcard_matches(*byte) && matches(glob, name, in_host)
            }
            ([wanted, glob @ ..], [byte, name @ ..]) => {
                wanted == byte && matches(glob, name, in_host && *wanted != b'/')
            }
            _ => false,
        }
    }
    let first = glob.split('/').next().unwrap_or_default();
    let is_host = glob.contains('/') && first.contains(['*', '?']) && first.contains(['.', ':']);
    let mut globs = vec![glob.to_owned()];
    if is_host && first.ends_with(":*") {
        globs.push(glob.replacen(":*/", "/", 1));
    }
    globs
        .iter()
        .any(|glob| matches(glob.as_bytes(), name.as_bytes(), is_host))
}

/// A text as the name of an image. The text after a colon is a tag if there is no slash after it,
/// and a slash before it.
fn image_name(text: &str) -> ImageName {
    match text.rsplit_once(':') {
        Some((repository, tag)) if repository.contains('/') && !tag.contains('/') => ImageName {
            repository: repository.to_owned(),
            with_tag: Some(text.to_owned()),
        },
        _ => ImageName {
            repository: text.to_owned(),
            with_tag: None,
        },
    }
}

#[test]
fn an_image_pattern_agrees_with_the_definition_of_its_two_kinds_of_wildcards() {
    let names = texts("a.:/", 4);
    for glob in texts("a.:/*?", 4) {
        // A pattern that begins with `*` is not completed, so the enumerated text is the glob.
        let pattern = ImagePattern::normalise(format!("*{glob}"));
        for name in &names {
            let image = ImageName {
                repository: name.clone(),
                with_tag: None,
            };
            let expected = image_oracle(pattern.glob(), name);
            assert_eq!(pattern.matches(&image), expected, "*{glob} {name}");
        }
    }
}

/// Each pattern is compared with each. The names have the letters of the patterns and one more,
/// which represents all other letters.
#[test]
fn a_pattern_hides_another_if_it_matches_every_image_of_the_other() {
    let hosts = [
        "*", "**", "*a", "*.a", "?.a", "a.*", "a.?", "a.a", "a.a:*", "a.a:?", "*:*", "*.*",
        "*.a:*", "*a:*", "*?:*", "a*.a", "a:*", "a:a", "a?:a", "*.a:a",
    ];
    let paths = [
        "/*", "/a", "/?", "/*a", "/*/a", "/a/*", "/a:*", "/a:a", "/*:a",
    ];
    let patterns: Vec<ImagePattern> = hosts
        .iter()
        .flat_map(|host| paths.iter().map(move |path| format!("{host}{path}")))
        .chain(["*", "**", "*a", "*:a", "**:a", "*a:a", "*a:*"].map(str::to_owned))
        .map(ImagePattern::normalise)
        .collect();
    let mut names = Vec::new();
    for host in texts("ab.:", 4)
        .into_iter()
        .chain(["a.b:a", "b.a:a", "b.a:b", "a.a:ab", "a.a:a", "a.a:b"].map(str::to_owned))
    {
        for path in [
            "", "/a", "/b", "/ab", "/a/a", "/b/a", "/a/b", "/b/b", "/a:a", "/b:a", "/a:b",
            "/a/b:a", "/a/a:a", "/a/a/a", "/.a/a", "/a.a/a", "/b.a/b", "/a.b/a",
        ] {
            names.push(image_name(&format!("{host}{path}")));
        }
    }
    let matched: Vec<Vec<bool>> = patterns
        .iter()
        .map(|pattern| names.iter().map(|name| pattern.matches(name)).collect())
        .collect();
    for (earlier, by_earlier) in patterns.iter().zip(&matched) {
        let is_exact = !earlier.glob().contains('?') && !earlier.glob().starts_with("*:*/");
        for (later, by_later) in patterns.iter().zip(&matched) {
            let counterexample = by_later
                .iter()
                .zip(by_earlier)
                .position(|(later, earlier)| *later && !*earlier)
                .and_then(|index| names.get(index));
            if earlier.hides(later) {
                assert!(
                    counterexample.is_none(),
                    "{earlier} {later}: {counterexample:?}"
                );
            } else if is_exact {
                assert!(counterexample.is_some(), "{earlier} {later}");
            }
        }
    }
}

/// All texts that consist of these characters, up to a length.
fn texts(characters: &str, length: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..length {
        last = last
            .iter()
            .flat_map(|text| characters.chars().map(move |c| format!("{text}{c}")))
            .collect();
        all.extend_from_slice(&last);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn glob_matches_agrees_with_the_definition_of_a_glob(glob in "[ab*?]{0,8}", text in "[ab]{0,10}") {
        prop_assert_eq!(glob_matches(&glob, &text), oracle(glob.as_bytes(), text.as_bytes()));
    }

    /// The texts have the letters of the globs and one more, which represents all other letters.
    #[test]
    fn a_glob_subsumes_another_if_it_matches_every_text_of_the_other(
        earlier in "[ab*?]{0,5}",
        later in "[ab*?]{0,5}",
    ) {
        let counterexample = texts("abc", 5)
            .into_iter()
            .find(|text| glob_matches(&later, text) && !glob_matches(&earlier, text));
        if subsumes(&earlier, &later) {
            prop_assert_eq!(counterexample, None);
        } else if !earlier.contains('?') {
            prop_assert!(counterexample.is_some(), "{} {}", earlier, later);
        }
    }

    #[test]
    fn a_pattern_matches_every_image_of_a_pattern_that_it_hides(
        earlier in "(a.a/|a:1/|\\*|)[a.:/*?]{1,4}",
        later in "(a.a/|a:1/|\\*|)[a.:/*?]{1,4}",
    ) {
        if let (Ok(earlier), Ok(later)) =
            (ImagePattern::try_from(earlier), ImagePattern::try_from(later))
            && earlier.hides(&later)
        {
            for image in images() {
                prop_assert!(!later.matches(image) || earlier.matches(image), "{:?}", image);
            }
        }
    }

    #[test]
    fn matches_numbered_agrees_with_trying_every_number(
        glob in "[ab*?01-]{1,5}",
        prefix in "a[ab1-]{0,2}",
    ) {
        if let Ok(pattern) = ContainerPattern::try_from(glob) {
            let matches = texts("012", 6)
                .iter()
                .filter(|digits| *digits == "0" || digits.starts_with(['1', '2']))
                .any(|digits| pattern.matches(&format!("{prefix}{digits}")));
            prop_assert_eq!(pattern.matches_numbered(&prefix), matches);
        }
    }

    #[test]
    fn no_image_matches_a_pattern_that_is_refused(written in "(a.a/|a:1/|docker.io/|\\*|)[aA.:/*?_1-]{0,5}") {
        if !written.is_empty()
            && instead_of_registry(&written).is_none()
            && ImagePattern::try_from(written.clone()).is_err()
        {
            let pattern = ImagePattern::normalise(written);
            for image in images() {
                prop_assert!(!pattern.matches(image), "{:?}", image);
            }
        }
    }

    #[test]
    fn the_grammar_accepts_every_name_that_the_parser_returns(
        registry in "(docker\\.io/|localhost/|localhost:[0-9]{1,2}/|[a-zA-Z]{1,2}([.-][a-z0-9]{1,2}){0,2}(:5)?/|a\\.b[_-]{1,3}c/|\\[[0-9a-f:]{1,5}\\](:5)?/|)",
        path in "[a-z0-9]{1,3}([._-]{0,3}[a-z0-9]{1,2}){0,2}(/[a-z0-9]{1,3}){0,2}",
        tag in "(:[A-Za-z0-9_.-]{0,4}|)",
    ) {
        if let Ok(reference) = Reference::parse(&[registry, path, tag].concat()) {
            let name = ImageName::of(&reference);
            prop_assert!(image_name_grammar::can_match(&name.repository), "{}", name.repository);
            let with_tag = name.with_tag.expect("there is no digest");
            prop_assert!(image_name_grammar::can_match(&with_tag), "{}", with_tag);
        }
    }

    #[test]
    fn the_parser_returns_every_name_that_the_grammar_accepts(name in "(docker\\.io/|a\\.[ab_.-]{0,3}/|[aA][.:-]?[1a]?/|\\[a?:[a:]?\\]?(:[15])?/)[a._/-]{1,6}(:[aA._:-]{0,3})?") {
        if image_name_grammar::can_match(&name) {
            // A host of one word is a host only if it is written with a port or in upper case.
            let with_port = name.replacen('/', ":443/", 1);
            let has_this_name = [&name, &with_port].into_iter().any(|written| {
                Reference::parse(written).is_ok_and(|reference| {
                    let normal = ImageName::of(&reference);
                    name == normal.repository || Some(&name) == normal.with_tag.as_ref()
                })
            });
            prop_assert!(has_this_name, "{}", name);
        }
    }

    /// Each glob is made from a name: wildcards replace some of its characters.
    #[test]
    fn the_grammar_accepts_every_glob_that_matches_a_name(
        image in 0..images().len(),
        with_tag in any::<bool>(),
        wild in proptest::collection::vec(0..8_u8, 0..30),
    ) {
        let image = &images()[image];
        let name = image.with_tag.as_ref().filter(|_| with_tag).unwrap_or(&image.repository);
        let mut wild = wild.into_iter().chain(std::iter::repeat(7));
        let glob: String = name
            .chars()
            .map(|c| match wild.next() {
                Some(0) => "*".to_owned(),
                Some(1) => "?".to_owned(),
                Some(2) => format!("*{c}"),
                _ => c.to_string(),
            })
            .collect();
        prop_assert!(image_name_grammar::can_match(&glob), "{} {}", glob, name);
        prop_assert!(glob_matches(&glob, name));
        if let Some((host, path)) = split_host(&glob)
            && let Some((host_of_name, path_of_name)) = split_host(name)
            && glob_matches(host, host_of_name)
            && glob_matches(path, path_of_name)
        {
            prop_assert!(image_name_grammar::can_match_host_and_path(host, path), "{} {}", glob, name);
        }
    }
}
