//! Compares this policy's reference parser with that of `oci-spec`, which the promises use. Both read all texts of at
//! most five characters of `ALPHABET`.

use consistent_pull_policy::image;
use consistent_pull_policy_promises::image::Reference;

const ALPHABET: [char; 12] = ['a', 'F', '0', '.', ':', '/', '@', '-', '_', '[', ']', ' '];
const LENGTH: usize = 5;

/// Every text with these characters, up to the length.
fn texts() -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut start = 0;
    for _ in 0..LENGTH {
        let end = texts.len();
        for index in start..end {
            texts.extend(ALPHABET.map(|letter| format!("{}{letter}", texts[index])));
        }
        start = end;
    }
    texts
}

/// Whether `oci-spec` may read a text differently. Nodes use `distribution/reference`, which reads the text before
/// the first slash as a host if it has an upper-case letter, and accepts IPv6 addresses. `oci-spec` does neither.
fn is_read_differently(text: &str) -> bool {
    let first = text.split_once('/').map_or("", |(first, _)| first);
    first.chars().any(char::is_uppercase) || first.starts_with('[')
}

#[test]
fn two_parsers_read_the_same_references() {
    let mut compared = 0;
    for text in texts().iter().filter(|text| !is_read_differently(text)) {
        let expected = Reference::parse(text).map(|image| (image.name(), image.tag));
        let read = image::Reference::parse(text).ok().map(|image| {
            let latest = image.digest().is_none().then_some("latest");
            (image.repository(), image.tag().or(latest).map(str::to_owned))
        });
        assert_eq!(read, expected, "{text:?}");
        compared += 1;
    }
    assert!(compared > 200_000, "{compared}");
}
