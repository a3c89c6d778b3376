//! *outdated-check*: at UPDATE of a Pod, warns of an image check whose image no app container has any more.
//!
//! `kubectl set image` changes the image of a container, and not the image of its check. If the check
//! waits for a misspelt tag, it goes on waiting, and the Pod never starts.

use std::collections::BTreeSet;

use crate::examination::Examination;
use crate::examination::image_check_results::ImageCheckResults;
use crate::examination::role;
use crate::finding::{Finding, FindingEffect, FindingReason, FindingSubject};
use crate::image::{ImageIdentity, Reference};
use crate::pod_spec::PodSpecList;
use crate::request::RequestType;
use crate::rule_id::RuleId;
use crate::shown_text::TextLimit;

/// Reports each check whose image an app container had before, written alike, if no app container has this image
/// now and the check has not passed.
pub(crate) fn report(examination: &mut Examination<'_>) {
    let (object, settings) = (examination.object, examination.settings);
    if object.request_type != RequestType::PodUpdate {
        return;
    }
    let pod = &object.pod;
    let stored = &examination.stored_places;
    // The images before the change, of the containers whose image has changed.
    let images_before = pod.list(PodSpecList::Containers).filter_map(|place| {
        let before = stored.get(&(place.list, &*place.name))?.image_text();
        let reference = Reference::parse(before).ok()?;
        (before != place.image_text()).then_some((reference.identity(), reference.written()))
    });
    let mut before: BTreeSet<(ImageIdentity<'_>, &str)> = BTreeSet::new();
    before.extend(images_before);
    if before.is_empty() {
        return;
    }
    let candidates = pod.places.iter().filter_map(|place| {
        let image = Reference::parse(place.image_text()).ok()?;
        let is_exempt = settings.exempt.covers(&place.name, Some(image));
        let had_image = before.contains(&(image.identity(), image.written()));
        (had_image && !is_exempt).then_some((place, image.identity()))
    });
    let mut candidates: Vec<_> = candidates.collect();
    let mut unused: BTreeSet<ImageIdentity<'_>> = BTreeSet::new();
    unused.extend(candidates.iter().map(|(_, image)| *image));
    for place in pod.list(PodSpecList::Containers) {
        if let Ok(image) = Reference::parse(place.image_text()) {
            unused.remove(&image.identity());
        }
    }
    candidates.retain(|(_, image)| unused.contains(image));
    let mounters = pod.mounters();
    let status = object.status();
    let passed = ImageCheckResults::of(&mounters, &status);
    let places = candidates.into_iter().map(|(place, _)| place);
    let outdated = places
        .filter(|place| role::is_unused_image_check(place, &mounters, settings))
        .filter(|place| !passed.has_passed(place));
    for check in outdated {
        examination.findings.push(Finding {
            effect: FindingEffect::OnlyWarning,
            ..Finding::not_repairable(check, FindingSubject::Image, OutdatedCheckReason)
        });
    }
}

/// No app container has the image of this check any more.
#[derive(Debug)]
struct OutdatedCheckReason;

impl FindingReason for OutdatedCheckReason {
    fn rule(&self) -> RuleId {
        RuleId::OutdatedCheck
    }

    fn sentence(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        let way_out = match finding.place.list {
            PodSpecList::Volumes => "create the Pod anew",
            _ => "change its image as well",
        };
        let (name, image) = (finding.name(limit), finding.image(limit));
        format!("{name} still pulls {image}, which no app container has any more: {way_out}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::answers_for_tests::{answer, lines, pod};

    #[test]
    fn sentences() {
        let mut request =
            pod("init imagecheck-0 app:1 Always, volume imagecheck-1 app:1 Always, app a app:2");
        request["object"]["spec"]["containers"][0]["volumeMounts"] =
            json!([{"name": "imagecheck-1", "mountPath": "/x"}]);
        request["oldObject"] = request["object"].clone();
        request["oldObject"]["spec"]["containers"][0]["image"] = json!("app:1");
        request["operation"] = json!("UPDATE");
        assert_eq!(
            lines(&answer(&request, &json!({}))),
            "imagecheck-0 still pulls app:1, which no app container has any more: change its image as well\n\
             imagecheck-1 still pulls app:1, which no app container has any more: create the Pod anew"
        );
    }
}
