//! Tests of globs and patterns. Most tests compare the code with a simpler definition, or with all
//! names of a list.

use proptest::prelude::*;

use super::*;

/// The names of many images: of all valid references that consist of one of a few registries or none,
/// a path of at most four characters, and perhaps a tag and a digest.
fn images() -> &'static [ImageNamesForPatterns] {
    use std::sync::LazyLock;
    static IMAGES: LazyLock<Vec<ImageNamesForPatterns>> = LazyLock::new(|| {
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
                        images.extend(
                            Reference::parse(&image)
                                .ok()
                                .map(|r| ImageNamesForPatterns::of(&r)),
                        );
                    }
                }
            }
        }
        images
    });
    &IMAGES
}

fn image_pattern(written: &str) -> ImagePattern {
    ImagePattern::unchecked(written.to_owned())
}

/// Whether a pattern is no error, or is an error only because it is nearly always meant as a registry.
fn is_accepted(pattern: &ImagePattern) -> bool {
    let problem = pattern.problem();
    problem.is_none_or(|problem| problem.starts_with("names a registry"))
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

/// A text as the name of an image. The text after the last colon is a tag if it has no slash, and if
/// the text before the colon has a slash.
fn image_name(text: &str) -> ImageNamesForPatterns {
    match text.rsplit_once(':') {
        Some((repository, tag)) if repository.contains('/') && !tag.contains('/') => {
            ImageNamesForPatterns {
                repository: repository.to_owned(),
                with_tag: Some(text.to_owned()),
            }
        }
        _ => ImageNamesForPatterns {
            repository: text.to_owned(),
            with_tag: None,
        },
    }
}

/// Compares all pairs of patterns. The names have the letters of the patterns and one more letter,
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
        .map(ImagePattern::unchecked)
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
        let is_exact = !earlier.glob.contains('?') && !earlier.glob.starts_with("*:*/");
        for (later, by_later) in patterns.iter().zip(&matched) {
            let counterexample = by_later
                .iter()
                .zip(by_earlier)
                .position(|(later, earlier)| *later && !*earlier)
                .and_then(|index| names.get(index));
            if earlier.hides(later) {
                assert!(
                    counterexample.is_none(),
                    "{earlier:?} {later:?}: {counterexample:?}"
                );
            } else if is_exact {
                assert!(counterexample.is_some(), "{earlier:?} {later:?}");
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

    /// The texts have the letters of the globs and one more letter, which represents all others.
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
    fn no_image_matches_a_pattern_that_is_refused(written in "(a.a/|a:1/|docker.io/|\\*|)[aA.:/*?_1-]{1,5}") {
        let pattern = image_pattern(&written);
        if !is_accepted(&pattern) {
            for image in images() {
                prop_assert!(!pattern.matches(image), "{:?}", image);
            }
        }
    }

    /// Each pattern is made from a name: wildcards replace some characters or stand before them. Names
    /// with an IPv6 address are left out: three or more wildcards may be a part of its punctuation.
    #[test]
    fn a_pattern_that_matches_an_image_is_accepted(
        image in 0..images().len(),
        with_tag in any::<bool>(),
        wild in proptest::collection::vec(0..8_u8, 0..10),
    ) {
        let image = &images()[image];
        let name = image.with_tag.as_ref().filter(|_| with_tag).unwrap_or(&image.repository);
        let mut wild = wild.into_iter();
        let written: String = name
            .chars()
            .map(|c| match wild.next() {
                Some(0) => "*".to_owned(),
                Some(1) => "?".to_owned(),
                Some(2) => format!("*{c}"),
                _ => c.to_string(),
            })
            .collect();
        let pattern = image_pattern(&written);
        if pattern.matches(image) && !name.starts_with('[') {
            prop_assert!(is_accepted(&pattern), "{}", written);
        }
    }
}
