//! *stale-check*: an image check whose image nothing else in the Pod has. The Pod waits for an image that it doesn't use.
//!
//! `kubectl set image` changes the image of a container, and not that of its check. A controller writes checks before a patch
//! replaces an image. A node that reboots runs init containers again, so a check that has passed once can still hold up the
//! Pod.

use std::collections::{BTreeMap, BTreeSet};

use crate::examination::{Effect, Examination, Place, Reason, Role, Rule, Subject};
use crate::image::Reference;
use crate::pod::List;
use crate::request::Operation;
use crate::shown::shown;

/// Warns of each check whose image no other place has, neither as it came in nor now.
pub(super) fn find(examination: &mut Examination<'_>) {
    if !examination.has_checks() || examination.request.operation == Operation::EphemeralUpdate {
        return;
    }
    let is_check = |place: &&Place<'_>| place.role == Role::Check;
    let others = || examination.places.iter().filter(|place| !is_check(place));
    let now = others()
        .filter(|place| place.is_changed())
        .map(Place::same_image);
    let used: BTreeSet<_> = others().map(Place::same_image_before).chain(now).collect();
    let exempt = others().filter(|place| place.role == Role::Exempt);
    let exempt: BTreeSet<_> = exempt.map(Place::same_image_before).collect();
    let is_stale = |check: &Place<'_>| {
        let images = [check.same_image_before(), check.same_image()];
        // `Pin` gives a check a digest, and an exempt place keeps its tag.
        let has_exempt_tag = images
            .iter()
            .filter_map(|image| image.split_once('@'))
            .any(|(tag, _)| exempt.contains(tag));
        !has_exempt_tag && !images.iter().any(|image| used.contains(image))
    };
    let checks = examination
        .places
        .iter()
        .enumerate()
        .filter(|(_, place)| is_check(place) && is_stale(place));
    let stale: Vec<_> = checks.collect();
    if stale.is_empty() {
        return;
    }
    // As the images are now, so that a second run has the same sentence about a pinned image.
    let normalised = |place: &Place<'_>| match place.image.changed_by {
        None => place.reference.ok().map(|image| image.normalised()),
        Some(_) => Reference::parse(&place.image.now)
            .ok()
            .map(|image| image.normalised()),
    };
    // Only the names of the stale checks are kept, because a Pod can have many other images.
    let mut spellings: BTreeMap<String, Option<String>> = stale
        .iter()
        .filter_map(|(_, check)| Some((normalised(check)?, None)))
        .collect();
    for place in others() {
        if let Some(spelling) = normalised(place).and_then(|image| spellings.get_mut(&image)) {
            *spelling = Some(shown(&place.image.now).into_owned());
        }
    }
    let is_update = examination.request.operation == Operation::PodUpdate;
    for (index, check) in stale {
        let other_spelling = normalised(check).and_then(|image| spellings.get(&image)?.clone());
        let reason = Stale {
            other_spelling,
            is_update,
        };
        examination.findings.add(
            index,
            Rule::StaleCheck,
            Subject::Image,
            Effect::OnlyWarning,
            reason,
        );
    }
}

/// No other place has the image of this check.
#[derive(Debug)]
struct Stale {
    /// The image of a place that has it in another spelling, as a sentence shows it.
    other_spelling: Option<String>,
    /// Whether the Pod exists already.
    is_update: bool,
}

impl Reason for Stale {
    fn problem(&self, place: &Place<'_>) -> String {
        let (name, image) = (place.shown_name(), place.shown_image());
        format!("{name} pulls {image}, which nothing else in the Pod uses")
    }

    fn help(&self, place: &Place<'_>) -> String {
        match &self.other_spelling {
            Some(other) => {
                format!(
                    "write {} like {}, because a node takes them for two images",
                    place.shown_image(),
                    other
                )
            }
            None if !self.is_update => {
                format!("take {} out, or correct its image", place.shown_name())
            }
            None if place.list == List::Volumes => {
                "create the Pod anew, because its volumes can't change".to_owned()
            }
            None => format!("change the image of {} too", place.shown_name()),
        }
    }
}
