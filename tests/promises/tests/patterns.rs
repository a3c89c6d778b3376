//! Compares this policy's image patterns with those of the promises.

use consistent_pull_policy::image;
use consistent_pull_policy_promises::generate::{image_patterns, images};
use consistent_pull_policy_promises::image::Reference;
use consistent_pull_policy_promises::pattern::names_image;

#[test]
fn both_readings_of_a_pattern_match_the_same_images() {
    // Some of the images are invalid, and no pattern matches them.
    let images: Vec<_> = images()
        .into_iter()
        .filter_map(|image| {
            let names = image::Names::of(&image::Reference::parse(&image).ok()?);
            Some((names, Reference::parse(&image)?, image))
        })
        .collect();
    let mut matches = 0;
    for written in image_patterns() {
        let pattern = image::Pattern::try_from(written.clone()).expect("a valid pattern");
        for (names, reference, image) in &images {
            let expected = names_image(&written, reference);
            assert_eq!(pattern.matches(names), expected, "{written} {image}");
            matches += usize::from(expected);
        }
    }
    assert!(matches > 1_000, "{matches}");
}
