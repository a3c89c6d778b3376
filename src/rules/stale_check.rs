//! *stale-check*: an image check whose image nothing else in the Pod has. The Pod waits for an
//! image that it doesn't use.
//!
//! `kubectl set image` changes the image of a container, and not that of its check. A controller
//! writes checks before a patch replaces an image. A node that reboots runs init containers again,
//! so a check that has passed once can still hold up the Pod.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::examination::{Effect, Examination, Place, Reason, Rule, Subject};
use crate::pod::List;
use crate::request::Operation;

/// Warns of each check whose image no place that is no check has, neither as it came in nor now.
pub(super) fn report(examination: &mut Examination<'_>) {
    let is_update = examination.request.operation == Operation::PodUpdate;
    for index in stale(examination) {
        let (subject, effect) = (Subject::Image(None), Effect::OnlyWarning);
        let reason = Stale { is_update };
        examination
            .findings
            .add(index, Rule::StaleCheck, subject, effect, reason);
    }
}

/// The indexes of the stale checks.
fn stale(examination: &Examination<'_>) -> Vec<usize> {
    let mut stale = Vec::new();
    if !examination.has_checks() {
        return stale;
    }
    let mut now: BTreeSet<Cow<'_, str>> = BTreeSet::new();
    let mut before: BTreeSet<Cow<'_, str>> = BTreeSet::new();
    for place in &examination.places {
        if !place.is_check() {
            now.insert(place.same_image());
            if place.is_changed() {
                before.insert(place.same_image_before());
            }
        }
    }
    for (index, place) in examination.places.iter().enumerate() {
        if place.is_check() {
            let (image, image_before) = (place.same_image(), place.same_image_before());
            // *registry* may have pinned the check, beside an exempt place that keeps its tag.
            let tag = image.split_once('@').map(|(tag, _)| tag);
            let mut images = [&image, &image_before].into_iter();
            if !images.any(|image| now.contains(image) || before.contains(image))
                && !tag.is_some_and(|tag| now.contains(tag))
            {
                stale.push(index);
            }
        }
    }
    stale
}

/// No other place has the image of this check.
#[derive(Debug)]
struct Stale {
    /// Whether the Pod exists already.
    is_update: bool,
}

impl Reason for Stale {
    fn problem(&self, place: &Place<'_>, image: &str) -> String {
        let name = place.shown_name();
        format!("{name} pulls {image}, which nothing else in the Pod names in this way")
    }

    fn help(&self, place: &Place<'_>) -> String {
        match place.entry.list {
            _ if !self.is_update => "write both alike, or take the check out".to_owned(),
            List::Volumes => "create the Pod anew, because its volumes can't change".to_owned(),
            List::InitContainers | List::Containers | List::EphemeralContainers => {
                format!("change the image of {} too", place.shown_name())
            }
        }
    }
}
