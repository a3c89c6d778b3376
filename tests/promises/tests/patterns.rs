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

/// A legal pattern has a witness: an image that parses, and that it matches.
fn has_witness(written: &str) -> bool {
    let pattern = image::Pattern::try_from(written.to_owned()).expect("a legal pattern");
    let fills = ["a", "1", "a:a", "a/a", "1:1", "a.a/a"];
    let mut samples = fills.into_iter().flat_map(|star| {
        ["a", "1"].into_iter().flat_map(move |letter| {
            let all = written.replace('?', letter);
            let last = all.rfind('*').map(|at| {
                let (before, after) = all.split_at(at);
                [before, star, &after[1..]].concat().replace('*', letter)
            });
            let first = all.replacen('*', star, 1).replace('*', letter);
            let (parts, part) = all.split_at(all.rfind('/').unwrap_or(0));
            let tag = part.replacen('*', star, 1);
            let tag = [parts, &tag].concat().replace('*', letter);
            [Some(first), last, Some(tag)].into_iter().flatten()
        })
    });
    samples.any(|sample| {
        Reference::parse(&sample).is_some()
            && image::Reference::parse(&sample)
                .is_ok_and(|image| pattern.matches(&image::Names::of(&image)))
    })
}

#[test]
fn each_legal_pattern_of_a_few_characters_matches_an_image() {
    const ALPHABET: [char; 11] = ['a', 'B', '0', '.', ':', '/', '*', '?', '-', '_', '|'];
    let mut texts = vec![String::new()];
    let mut legal = 0;
    for _ in 0..4 {
        let longer = |text: &String| ALPHABET.map(|letter| format!("{text}{letter}"));
        texts = texts.iter().flat_map(longer).collect();
        for text in &texts {
            if image::Pattern::try_from(text.clone()).is_ok() {
                assert!(has_witness(text), "{text}");
                legal += 1;
            }
        }
    }
    assert!(legal > 1_000, "{legal}");
}

#[test]
fn an_image_with_a_run_replaced_by_a_wildcard_is_a_legal_pattern() {
    for written in images() {
        let Some(image) = Reference::parse(&written).filter(|image| image.digest.is_none()) else {
            continue;
        };
        // In a host, a wildcard has lower case beside it.
        let start = written.rfind('/').map_or(0, |at| at + 1);
        for from in start..written.len() {
            for to in from + 1..=written.len() {
                let pattern = [&written[..from], "*", &written[to..]].concat();
                // Such a pattern starts like a registry.
                if !pattern.contains('/') && pattern.contains(['.', '[']) {
                    continue;
                }
                let read = image::Pattern::try_from(pattern.clone());
                assert!(read.is_ok(), "{pattern} {read:?}");
                assert!(names_image(&pattern, &image), "{pattern} {written}");
            }
        }
    }
}
