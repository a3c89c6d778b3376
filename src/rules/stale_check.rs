//! *stale-check*: an image check whose image nothing else in the Pod has. The Pod waits for an image that it doesn't use.
//!
//! `kubectl set image` changes the image of a container, and not that of its check. A controller writes checks before a patch
//! replaces an image. A node that reboots runs init containers again, so a check that has passed once can still hold up the
//! Pod.

use std::collections::{BTreeMap, BTreeSet};

use crate::examination::{Examination, Finding, Place, Reason, Role, Rule};
use crate::pod::List;
use crate::request::Type;
use crate::shown::shown;

/// Warns of each check whose image no other place has, neither as it came in nor now.
pub(super) fn report(examination: &mut Examination<'_>) {
    if !examination.has_checks() || examination.request.r#type == Type::EphemeralUpdate {
        return;
    }
    let (checks, others): (Vec<_>, Vec<_>) = examination
        .places
        .iter()
        .enumerate()
        .partition(|(_, place)| place.role == Role::Check);
    let mut used = BTreeSet::new();
    let mut spellings = BTreeMap::new();
    for (_, place) in &others {
        used.extend([place.same_image_before(), place.same_image()]);
        if let Ok(image) = &place.reference {
            spellings
                .entry(image.normalised())
                .or_insert_with(|| place.image.before.to_string());
        }
    }
    let mut findings = Vec::new();
    for (index, check) in checks {
        if used.contains(&check.same_image_before()) || used.contains(&check.same_image()) {
            continue;
        }
        let normalised = check.reference.map(|image| image.normalised());
        let other_spelling = normalised
            .ok()
            .and_then(|image| spellings.get(&image).cloned());
        let is_update = examination.request.r#type == Type::PodUpdate;
        let reason = Stale {
            other_spelling,
            is_update,
        };
        findings.push(Finding::about_image(index, check, reason).warning_if(true));
    }
    examination.findings.append(&mut findings);
}

/// No other place has the image of this check.
#[derive(Debug)]
struct Stale {
    /// The image of a place that has it in another spelling.
    other_spelling: Option<String>,
    /// Whether the Pod exists already.
    is_update: bool,
}

impl Reason for Stale {
    fn rule(&self) -> Rule {
        Rule::StaleCheck
    }

    fn problem(&self, place: &Place<'_>) -> String {
        let (name, image) = (place.shown_name(), place.shown_image());
        format!("{name} pulls {image}, which nothing else in the Pod uses")
    }

    fn help(&self, place: &Place<'_>) -> String {
        match &self.other_spelling {
            Some(other) => format!(
                "write {} like {}, because a node takes them for two images",
                place.shown_image(),
                shown(other)
            ),
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
