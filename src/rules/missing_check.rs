//! *missing-check*: in a Pod with image checks, every image that a guarded place pulls has to be
//! covered. With `imageChecks.everyPod`, this rule applies to every Pod.
//!
//! A controller may write users' patches and image overrides into the Pod after it has made the
//! checks. An image that is written after the checks has no check. Admission comes later, so this
//! policy sees the image.

mod copied_check;
mod form_and_position;
mod free_names;

use self::form_and_position::{check_form, check_volume_carriers, predecessor};
use self::free_names::free_names;
use crate::examination::Examination;
use crate::examination::added_check::{
    AddedCheck, AddedCheckForm, AddedCheckOwnFields, AddedChecks,
};
use crate::examination::coverage::{Coverage, PulledImage};
use crate::examination::examined_place::ExaminedPlace;
use crate::examination::leniency_of_copy::may_have_had_one_place;
use crate::finding::{Finding, FindingEffect, FindingReason, FindingSubject};
use crate::pull_policy::PullPolicy;
use crate::request::RequestType;
use crate::rule_id::RuleId;
use crate::settings::{MissingCheckAction, Settings};
use crate::shown_text::TextLimit;

/// The largest size of all checks and mounts that are added to a Pod, in bytes of JSON. Without this
/// limit, a user could make the Pod huge: an added check may be a copy of a check that the user wrote.
const ADDITIONS_MAX: usize = 1024 * 1024;

/// Adds the checks of the images that are not covered or reports the images, as `imageChecks.coverage` says.
pub(crate) fn add_missing_checks(examination: &mut Examination<'_>, coverage: &Coverage) {
    let action = examination.settings.image_checks.coverage;
    let uncovered = uncovered_images(examination, coverage);
    if action == MissingCheckAction::Off || uncovered.is_empty() {
        return;
    }
    let why = match checks_to_add(examination, &uncovered) {
        Ok(added) => {
            examination.added = added;
            return;
        }
        Err(why) => why,
    };
    let is_warning = may_have_had_one_place(examination)
        || (action != MissingCheckAction::Reject && why != WhyNoCheck::TooLarge);
    let names_other_spelling = matches!(
        why,
        WhyNoCheck::NoneWanted | WhyNoCheck::OnlyInPods | WhyNoCheck::Windows
    );
    let findings = uncovered.into_iter().filter_map(|image| {
        let place = examination.places.get(image.guarded)?.place;
        let kind = FindingSubject::MissingCheck {
            expected: "an image check".into(),
        };
        let reason = MissingCheckReason {
            added: Err(why),
            written_differently: image.written_differently.filter(|_| names_other_spelling),
        };
        let finding = Finding {
            expected_policy: Some(image.policy),
            ..Finding::not_repairable(place, kind, reason)
        };
        Some(finding.warning_if(is_warning))
    });
    let findings: Vec<_> = findings.collect();
    examination.findings.extend(findings);
}

/// An image that is not covered.
struct UncoveredImage<'p> {
    /// The index of the first guarded place that pulls the image with the strongest pull policy.
    guarded: usize,
    /// The pull policy of this place.
    policy: PullPolicy,
    /// The image reference of a check of the same image in another spelling, if there is one.
    written_differently: Option<&'p str>,
}

/// The images that are not covered, each spelling once, in the order of their first appearance.
fn uncovered_images<'p>(
    examination: &Examination<'p>,
    coverage: &Coverage,
) -> Vec<UncoveredImage<'p>> {
    let uncovered = |pulled: &PulledImage| {
        let (guarded, policy) = pulled.guarded.filter(|_| !coverage.is_covered(pulled))?;
        let other_check = coverage.in_any_spelling(pulled)?.places.first();
        let other_check = other_check.and_then(|check| examination.places.get(*check));
        Some(UncoveredImage {
            guarded,
            policy,
            written_differently: other_check.map(ExaminedPlace::image),
        })
    };
    coverage.images.iter().filter_map(uncovered).collect()
}

/// The checks to add for these images.
///
/// A pod template gets no checks, because nothing removes an added check whose image is no longer used. If
/// this image disappeared from the registry, the workload could not start.
///
/// # Errors
/// The reason why no checks are added.
fn checks_to_add<'p>(
    examination: &Examination<'p>,
    uncovered: &[UncoveredImage<'p>],
) -> Result<AddedChecks<'p>, WhyNoCheck<'p>> {
    let (object, settings) = (examination.object, examination.settings);
    if settings.image_checks.coverage != MissingCheckAction::Fix {
        return Err(WhyNoCheck::NoneWanted);
    }
    let (form, fields_size) = check_form(examination)?;
    if object.request_type != RequestType::PodCreate {
        return Err(WhyNoCheck::OnlyInPods);
    }
    if may_have_had_one_place(examination) {
        return Err(WhyNoCheck::NoneWanted);
    }
    let carriers = check_volume_carriers(&object.pod, settings);
    let mut added = AddedChecks {
        checks: Vec::with_capacity(uncovered.len()),
        predecessor: predecessor(examination),
        carriers,
    };
    let mut size: usize = 0;
    for (image, name) in uncovered.iter().zip(free_names(examination, &form)) {
        let Some(examined) = examination.places.get(image.guarded) else {
            continue;
        };
        let policy = image.policy;
        let check = AddedCheckOwnFields {
            image: examined.image_after().to_owned(),
            name,
            policy,
        };
        let own_size = (form.summary(&check)).map_or(0, |summary| summary.get().len());
        size = (size.saturating_add(fields_size))
            .saturating_add(own_size.saturating_add(1))
            .saturating_add(size_of_mounts(&form, &check, added.carriers.len()));
        if size > ADDITIONS_MAX {
            return Err(WhyNoCheck::TooLarge);
        }
        let kind = FindingSubject::MissingCheck {
            expected: format!("{} with {}", check.name, policy.as_str()).into(),
        };
        let reason = MissingCheckReason {
            added: Ok((check.name.clone(), check.image.clone())),
            written_differently: image.written_differently,
        };
        added.checks.push(AddedCheck {
            own_fields: check,
            form: form.clone(),
            guarded: image.guarded,
            finding: Finding {
                found_policy: None,
                expected_policy: Some(policy),
                effect: FindingEffect::Repairable,
                ..Finding::not_repairable(examined.place, kind, reason)
            },
        });
    }
    Ok(added)
}

/// The size of the mounts of a check in the Pod, in bytes of JSON.
fn size_of_mounts(form: &AddedCheckForm, check: &AddedCheckOwnFields, carriers: usize) -> usize {
    if !form.is_image_volume() {
        return 0;
    }
    let mount = serde_json::to_string(&check.mount()).unwrap_or_default();
    mount.len().saturating_add(1).saturating_mul(carriers)
}

/// Why an image that is not covered gets no check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhyNoCheck<'p> {
    /// The settings ask for no added checks, or this object gets none.
    NoneWanted,
    /// The object is a pod template. Its Pods get the check.
    OnlyInPods,
    /// The API server refuses some fields of Linux containers in a Windows Pod.
    Windows,
    /// The added check would be an image volume, and the Pod's nodes may be unable to mount it.
    NoImageVolumes {
        /// The field of the Pod spec because of which they may be unable to do so.
        beside: &'static str,
    },
    /// The Pod has no check that can be copied and no check volume, and there is no template.
    NothingToCopy,
    /// The template mounts this volume, and the Pod doesn't have it. The API server would refuse the
    /// Pod. The Pod has no check that can be copied and no check volume.
    TemplateNeedsVolume(&'p str),
    /// The added checks together would be too large.
    TooLarge,
}

/// An image is not covered.
#[derive(Debug)]
struct MissingCheckReason<'p> {
    /// The name and the image of the added check, or why none is added.
    added: Result<(String, String), WhyNoCheck<'p>>,
    /// The reference of an existing check that has the same image in another spelling. None if the sentence names
    /// what hinders a new check instead.
    written_differently: Option<&'p str>,
}

impl FindingReason for MissingCheckReason<'_> {
    fn rule(&self) -> RuleId {
        RuleId::MissingCheck
    }

    fn sentence(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        let (name, image) = (finding.name(limit), finding.image(limit));
        let policy = finding.expected_policy_text();
        let way_out = match (&self.added, self.written_differently) {
            (Ok((check, _)), _) => format!("add {} with {policy}", limit.show(check)),
            (Err(_), Some(_)) => format!("write both alike or add a check with {policy}"),
            (Err(why), None) => why.way_out(policy, limit),
        };
        let Some(other) = self.written_differently else {
            return format!("{name} pulls {image} but no image check pulls it first: {way_out}");
        };
        let other = limit.show(other);
        let spelling = format!(
            "{image} is checked as {other}: a node asks the registry again for another spelling"
        );
        if finding.effect == FindingEffect::OnlyWarning {
            return spelling;
        }
        format!("{name} has no check of its own, {spelling}, {way_out}")
    }

    fn warns_of_repair(&self) -> bool {
        self.added.is_ok()
    }

    fn repair_warning(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        let Ok((check, image)) = &self.added else {
            return self.sentence(finding, limit);
        };
        let (check, image) = (limit.show(check), limit.show(image));
        let (name, policy) = (finding.name(limit), finding.expected_policy_text());
        let spelling = self.written_differently.map(|other| {
            let other = limit.show(other);
            format!(" ({other} is another spelling)")
        });
        let spelling = spelling.unwrap_or_default();
        format!("{check} was added: it pulls {image} with {policy} before {name} does{spelling}")
    }

    fn is_expected_in_template(&self, settings: &Settings) -> bool {
        self.added == Err(WhyNoCheck::OnlyInPods) && settings.image_checks.every_pod
    }
}

impl WhyNoCheck<'_> {
    /// The advice about an image that gets no check. `policy` is the pull policy of the missing check.
    fn way_out(self, policy: &str, limit: TextLimit) -> String {
        match self {
            Self::NoneWanted | Self::OnlyInPods => format!("add one with {policy}"),
            Self::Windows => "none is added on Windows".to_owned(),
            Self::NoImageVolumes { beside } => format!("no image volume is added beside {beside}"),
            Self::NothingToCopy => "no check can be copied, set imageChecks.template".to_owned(),
            Self::TemplateNeedsVolume(volume) => {
                let volume = limit.show(volume);
                format!("the Pod lacks the volume {volume} of imageChecks.template")
            }
            Self::TooLarge => "all missing checks together would be larger than 1 MiB".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::answers_for_tests::{answer, lines, message, pod, warnings};

    const PLACES: &str = "init imagecheck-0 app:1 Always, app a app:1 Always, app b db:2 Always";
    const OTHER_SPELLING: &str = "init imagecheck-0 docker.io/library/db:2 Always, init x app:1 Always, app a app:1 Always, app b db:2 Always";

    fn coverage(mode: &str, coverage: &str) -> Value {
        json!({"mode": mode, "imageChecks": {"coverage": coverage}})
    }

    #[test]
    fn sentences() {
        assert_eq!(
            message(PLACES, &coverage("Reject", "Fix")),
            "b pulls db:2 but no image check pulls it first: add imagecheck-1 with Always"
        );
        assert_eq!(
            warnings(PLACES, &coverage("Fix", "Fix")),
            "imagecheck-1 was added: it pulls db:2 with Always before b does"
        );
        assert_eq!(
            message(OTHER_SPELLING, &coverage("Fix", "Reject")),
            "b has no check of its own, db:2 is checked as docker.io/library/db:2: a node asks the registry \
             again for another spelling, write both alike or add a check with Always"
        );
        assert_eq!(
            warnings(OTHER_SPELLING, &coverage("Fix", "Warn")),
            "db:2 is checked as docker.io/library/db:2: a node asks the registry again for another spelling"
        );
    }

    /// The warnings about a Pod that gets no check.
    fn not_added(edit: impl Fn(&mut Value)) -> String {
        let mut request = pod(PLACES);
        edit(&mut request["object"]["spec"]);
        lines(&answer(&request, &coverage("Fix", "Fix")))
    }

    #[test]
    fn the_sentence_says_why_no_check_is_added() {
        let sentence = |why: &str| format!("b pulls db:2 but no image check pulls it first: {why}");
        assert_eq!(
            warnings(PLACES, &coverage("Fix", "Warn")),
            sentence("add one with Always")
        );
        let windows = not_added(|spec| spec["os"] = json!({"name": "windows"}));
        assert_eq!(windows, sentence("none is added on Windows"));
        let nothing_to_copy =
            not_added(|spec| spec["initContainers"][0]["command"] = json!(["true"]));
        assert_eq!(
            nothing_to_copy,
            sentence("no check can be copied, set imageChecks.template")
        );
        let volume = json!({"imageChecks": {"coverage": "Fix", "as": "ImageVolume"}});
        let mut request = pod(PLACES);
        request["object"]["spec"]["hostUsers"] = json!(false);
        assert_eq!(
            lines(&answer(&request, &volume)),
            sentence("no image volume is added beside hostUsers: false")
        );
        let template =
            json!({"command": ["/x/y"], "volumeMounts": [{"name": "x", "mountPath": "/x"}]});
        let template =
            json!({"imageChecks": {"coverage": "Fix", "everyPod": true, "template": template}});
        assert_eq!(
            warnings("init i app:1 Always, app b db:2 Always", &template),
            sentence("the Pod lacks the volume x of imageChecks.template")
        );
        let large = json!(["/tools/true", "x".repeat(1024 * 1024)]);
        let mut request = pod(PLACES);
        request["object"]["spec"]["initContainers"][0]["command"] = large;
        assert_eq!(
            answer(&request, &coverage("Fix", "Fix"))["message"],
            sentence("all missing checks together would be larger than 1 MiB")
        );
    }
}
