//! Compares this policy's reference parser with the grammar that the promises use, and with the
//! parser of `oci-spec`. All of them read all texts of at most five characters of `ALPHABET`.

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

/// Whether `oci-spec` may read a text differently. Nodes use `distribution/reference`, which reads
/// the text before the first slash as a host if it has an upper-case letter, and accepts IPv6
/// addresses. `oci-spec` does neither.
fn is_read_differently(text: &str) -> bool {
    let first = text.split_once('/').map_or("", |(first, _)| first);
    first.chars().any(char::is_uppercase) || first.starts_with('[')
}

#[test]
fn three_parsers_read_the_same_references() {
    for text in texts() {
        let expected = Reference::parse(&text).map(|image| image.normalised());
        let read = image::Reference::parse(&text).ok();
        let read = read.map(|image| image.as_written());
        assert_eq!(read, expected, "{text:?}");
        if !is_read_differently(&text) {
            let other = text.parse::<oci_spec::distribution::Reference>().ok();
            let other = other.map(|image| image.whole());
            assert_eq!(other, expected, "{text:?}");
        }
    }
}
