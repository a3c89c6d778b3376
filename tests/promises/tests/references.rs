//! Compares this policy's reference parser with the grammar that the promises use. Both read all
//! texts of at most five characters of `ALPHABET`.

use consistent_pull_policy::image;
use consistent_pull_policy_promises::image::Reference;

const ALPHABET: [char; 12] = ['a', 'F', '0', '.', ':', '/', '@', '-', '_', '[', ']', ' '];
const LENGTH: usize = 5;

#[test]
fn two_parsers_read_the_same_references() {
    let mut texts = vec![String::new()];
    for _ in 0..=LENGTH {
        for text in &texts {
            let expected = Reference::parse(text).map(|image| image.normalised());
            let read = image::Reference::parse(text).ok();
            let read = read.map(|image| image.lookup_name());
            assert_eq!(read, expected, "{text:?}");
        }
        let longer = texts
            .iter()
            .flat_map(|text| ALPHABET.map(|c| format!("{text}{c}")));
        texts = longer.collect();
    }
}
