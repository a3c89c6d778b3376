//! Compares the specification's reference parser with the parser of this policy and with that of `oci-spec`. All
//! parsers read all strings of at most five characters of `ALPHABET`. `oci-spec` may read those that `deliberate`
//! names differently.

use consistent_pull_policy::image;
use consistent_pull_policy_spec::image::Reference;
use consistent_pull_policy_spec::spaces::texts;

const ALPHABET: [char; 12] = ['a', 'F', '0', '.', ':', '/', '@', '-', '_', '[', ']', ' '];
const LENGTH: usize = 5;

/// The reason why the two parsers may read this text differently. `None` if the parsers must agree.
fn deliberate(text: &str) -> Option<&'static str> {
    let first = text.split_once('/').map(|(first, _)| first);
    match first {
        // `first` is the text before the first slash. Nodes use `distribution/reference`, which reads
        // `first` as a host if `first` has an upper-case letter. `oci-spec` reads `first` as a host only
        // if `first` is `localhost` or has a dot or a colon.
        Some(first) if first.chars().any(char::is_uppercase) => Some("upper-case host"),
        // `oci-spec` doesn't accept IPv6 addresses.
        Some(first) if first.starts_with('[') => Some("IPv6"),
        _ => None,
    }
}

#[test]
fn this_policy_and_oci_spec_read_the_same_references() {
    let mut texts = texts(&ALPHABET, LENGTH);
    for text in &texts {
        let specified = Reference::parse(text).map(|image| (image.name(), image.name_and_tag()));
        let read = image::Reference::parse(text).ok();
        let read = read.map(|image| (image.repository(), image.repository_and_tag()));
        assert_eq!(read, specified, "{text:?}");
    }
    texts.retain(|text| deliberate(text).is_none());
    assert!(texts.len() > 200_000);
    let differ = texts.iter().filter_map(|text| {
        let ours = Reference::parse(text).map(|image| image.normalised());
        let theirs = text.parse::<oci_spec::distribution::Reference>().ok();
        let theirs = theirs.map(|image| image.whole());
        (ours != theirs).then(|| format!("{text:?}: {ours:?}, oci-spec {theirs:?}"))
    });
    let differ: Vec<String> = differ.take(20).collect();
    assert!(differ.is_empty(), "{differ:#?}");
}
