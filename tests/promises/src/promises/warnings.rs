//! What was found and not repaired is in the Pod's annotation `consistent-pull-policy/warnings`, as
//! far as 16 KiB go. The sentences of an earlier installation stay before it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::answer::LIST_BYTES;
use super::{Kept, Repaired, WARNINGS, hold};
use crate::json::{entries_in, text};

/// The sentences of the annotation. There are none if it is not a list of texts.
fn sentences(object: &Value) -> Vec<String> {
    let list = entries_in(&object["metadata"]["annotations"][WARNINGS]).unwrap_or_default();
    let texts: Option<Vec<String>> = list
        .iter()
        .map(|entry| entry.as_str().map(str::to_owned))
        .collect();
    texts.unwrap_or_default()
}

pub(super) fn are_in_the_annotation(repaired: &Repaired) -> Kept {
    let [before, after] =
        [repaired.before, repaired.after].map(|pod| &pod["metadata"]["annotations"]);
    let (earlier, all) = (sentences(repaired.before), sentences(repaired.after));
    let details = || {
        format!(
            "the annotation was {}, and is {}",
            before[WARNINGS], after[WARNINGS]
        )
    };
    if before[WARNINGS] == after[WARNINGS] {
        return hold(has_each(repaired, &all), details);
    }
    let Some(new) = all.strip_prefix(&*earlier) else {
        return Err(details());
    };
    let distinct: BTreeSet<&String> = new.iter().chain(&earlier).collect();
    let earlier_distinct: BTreeSet<&String> = earlier.iter().collect();
    let lines = repaired.observed.warnings();
    let is_a_warning =
        |sentence: &String| lines.iter().any(|line| text(line).starts_with(sentence));
    let is_right = !new.is_empty()
        && text(&after[WARNINGS]).len() <= LIST_BYTES
        && distinct.len() == earlier_distinct.len() + new.len()
        && (lines.len() == 10 || new.iter().all(is_a_warning));
    hold(is_right && has_each(repaired, &all), details)
}

/// Whether the sentences name the image of each missing check that was not added, of each stale
/// check and of each lookup that failed, if it is written in ordinary letters.
fn has_each(repaired: &Repaired, sentences: &[String]) -> bool {
    let is_unrepaired = |finding: &&Value| match text(&finding["rule"]) {
        "missing-check" => finding["expected"] == "an image check",
        "stale-check" => true,
        _ => false,
    };
    let findings = repaired.observed.list("findings");
    let lookups = repaired.observed.list("lookups");
    let annotations = repaired.after["metadata"]["annotations"].as_object();
    let sizes = annotations
        .into_iter()
        .flatten()
        .map(|(key, text)| key.len() + text.to_string().len());
    // Near a limit, sentences are left out.
    if sizes.sum::<usize>() > LIST_BYTES / 2 {
        return true;
    }
    let mut unrepaired = findings.iter().filter(is_unrepaired).chain(&lookups);
    unrepaired.all(|entry| {
        let image = text(&entry["image"]);
        // A pinned image is 72 characters longer, and a text with more than 200 characters is cut.
        let is_ordinary = image.len() < 128 && image.chars().all(|c| c.is_ascii_graphic());
        !is_ordinary || sentences.iter().any(|sentence| sentence.contains(image))
    })
}
