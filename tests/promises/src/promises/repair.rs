//! Promises about the difference between the Pod that came in and the Pod that `Fix` returned.

use super::lookups::is_looked_up;
use super::{Kept, OfRepair, Repaired, hold, minimal, record, valid, warnings};
use crate::image::{PullPolicy, Reference, on_node, shared_name};
use crate::json::text;
use crate::words::Place;

pub(super) const PROMISES: [OfRepair; 8] = [
    ("only-repairs-change", minimal::only_repairs_change),
    ("valid-stays-valid", valid::stays_valid),
    ("each-new-pull-policy-has-a-reason", policies_have_reasons),
    ("no-check-is-weak", checks_are_strong),
    ("only-tags-are-pinned", only_tags_are_pinned),
    (
        "only-missing-checks-are-added",
        only_missing_checks_are_added,
    ),
    (
        "the-record-lists-the-differences",
        record::lists_the_differences,
    ),
    (
        "what-was-not-repaired-is-in-the-annotation",
        warnings::are_in_the_annotation,
    ),
];

impl Repaired<'_> {
    /// Whether a place of the new Pod was added.
    pub(super) fn is_added(&self, new: &Place) -> bool {
        let mut places = self.old.places.iter();
        !places.any(|old| old.list == new.list && old.name == new.name)
    }

    /// The places that were there before, each as it came in and as it was returned.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&Place<'_>, &Place<'_>)> {
        let kept = self.new.places.iter().filter(|new| !self.is_added(new));
        self.old.places.iter().zip(kept)
    }

    fn matches(&self, key: &str, place: &Place) -> bool {
        self.settings()
            .matches(&format!("images.{key}"), place.image)
    }

    /// Whether *registry* replaces the `Always` of a place, because its digest names one content.
    fn is_pinned_already(&self, old: &Place) -> bool {
        ["Pin", "PinAlways"].contains(&self.settings().lookup())
            && old.has_digest()
            && is_looked_up(self.settings(), old.image)
    }

    /// Whether the answer lists each failed lookup. A list that is cut doesn't say which images
    /// pull with the cached image.
    fn has_all_lookups(&self) -> bool {
        self.observed
            .list("lookups")
            .iter()
            .all(|lookup| lookup["more"].is_null())
    }

    /// Whether a lookup of this image failed, with this action if one is given. The answer shows
    /// long images without their middle.
    fn failed_with(&self, action: Option<&str>, place: &Place) -> bool {
        let image = shared_name(place.image).unwrap_or_default();
        let is_image = |shown: &str| match shown.split_once("...") {
            Some((start, end)) => image.starts_with(start) && image.ends_with(end),
            None => shared_name(shown).as_ref() == Some(&image),
        };
        let mut lookups = self.observed.list("lookups").into_iter();
        lookups.any(|lookup| {
            action.is_none_or(|action| lookup["action"] == action)
                && is_image(text(&lookup["image"]))
        })
    }

    /// Whether a place of this image, in whatever spelling, has `Always` before *registry*.
    fn is_pulled_with_always(&self, image: &Place) -> bool {
        let mut places = self.old.examined();
        places.any(|place| {
            let is_always = place.pull_policy == PullPolicy::Always
                && !self.matches("forbidAlways", place)
                || self.matches("requireAlways", place);
            is_always && shared_name(place.image) == shared_name(image.image)
        })
    }

    /// Whether another rule than *pull-once* has a reason to replace `Always`.
    fn is_lowered_before_pull_once(&self, old: &Place, new: &Place) -> bool {
        self.matches("forbidAlways", old) && !self.matches("requireAlways", old)
            || old.image != new.image
            || self.is_pinned_already(old)
            || self.failed_with(Some("UseCached"), old)
    }

    /// The strongest pull policy that these places of the request with this image had before
    /// *pull-once*.
    fn strongest_before_pull_once(
        &self,
        image: &Place,
        counts: impl Fn(&Place) -> bool,
    ) -> Option<PullPolicy> {
        let policies = self.pairs().filter_map(|(old, new)| {
            let is_counted = new.is_same_image(image) && !new.is_exempt && counts(new);
            let is_spared = old.pull_policy == PullPolicy::Always
                && !self.is_lowered_before_pull_once(old, new);
            let policy = if is_spared {
                PullPolicy::Always
            } else {
                new.pull_policy
            };
            is_counted.then_some(policy)
        });
        policies.max()
    }

    /// The pull policy that *weak-check* demands of an image check.
    fn demanded(&self, check: &Place) -> Option<PullPolicy> {
        let pod = &self.new;
        let is_measured = |place: &Place| !pod.is_check(place) && pod.starts_after(place, check);
        pod.is_check(check)
            .then(|| self.strongest_before_pull_once(check, is_measured))?
    }
}

/// Each pull policy that differs has one of the reasons that the rules give.
fn policies_have_reasons(repaired: &Repaired) -> Kept {
    if !repaired.has_all_lookups() {
        return Ok(());
    }
    for (old, new) in repaired.pairs() {
        let is_raised = new.pull_policy > old.pull_policy;
        let is_lowered_to = |to| new.pull_policy == to && old.pull_policy > to;
        let is_required = repaired.matches("requireAlways", old);
        let raises = is_raised
            && (is_required && new.pull_policy == PullPolicy::Always
                || Some(new.pull_policy) == repaired.demanded(new));
        let is_pulled = || repaired.new.has_checks() && repaired.new.is_pulled_before(new);
        let lowers = !is_required
            && is_lowered_to(PullPolicy::IfNotPresent)
            && (repaired.is_lowered_before_pull_once(old, new) || is_pulled());
        let is_same = old.pull_policy == new.pull_policy
            && (old.written == new.written || old.image != new.image);
        hold(is_same || raises || lowers, || {
            format!("{old:?} became {new:?}")
        })?;
    }
    Ok(())
}

/// An image check is as strong as everything with its image that starts after it, other checks
/// apart.
fn checks_are_strong(repaired: &Repaired) -> Kept {
    let mut places = repaired.new.places.iter();
    let weak = places.find(|place| repaired.demanded(place) > Some(place.pull_policy));
    hold(weak.is_none() || !repaired.has_all_lookups(), || {
        format!("{weak:?}")
    })
}

/// An image that differs has got the digest that its registry answered for its tag. A pinned place
/// pulls with `Always` exactly if `requireAlways` says so.
fn only_tags_are_pinned(repaired: &Repaired) -> Kept {
    for (old, new) in repaired.pairs().filter(|(old, new)| old.image != new.image) {
        let Some(reference) = Reference::parse(old.image) else {
            return Err(format!("{old:?} became {new:?}"));
        };
        let digest = repaired.case.answers.digest(old.image);
        let pinned = digest.map(|digest| format!("{}@{digest}", on_node(old.image)));
        // A place with this digest may be stronger: then *weak-check* raises the pinned check.
        let is_raised = repaired.demanded(new) == Some(PullPolicy::Always);
        let is_required = repaired.matches("requireAlways", old);
        let is_always = new.pull_policy == PullPolicy::Always;
        let is_right = !old.is_exempt
            && reference.digest.is_none()
            && is_looked_up(repaired.settings(), old.image)
            && (repaired.settings().lookup() == "Pin" || repaired.is_pulled_with_always(old))
            && pinned.is_ok_and(|pinned| pinned == new.image)
            && (is_always || !is_required)
            && (!is_always || is_required || is_raised);
        hold(is_right, || format!("{old:?} became {new:?}"))?;
    }
    Ok(())
}

/// A check is added with `onMissing: Add`, once for the image of a place that needs a check, and as
/// strong as the strongest place that pulls this image. Its name is the first prefix and a number.
fn only_missing_checks_are_added(repaired: &Repaired) -> Kept {
    if !repaired.has_all_lookups() {
        return Ok(());
    }
    let settings = repaired.settings();
    let before = repaired.new.without(|place| repaired.is_added(place));
    let added: Vec<_> = repaired
        .new
        .places
        .iter()
        .filter(|new| repaired.is_added(new))
        .collect();
    let is_once = |check: &Place| added.iter().filter(|one| one.is_same_image(check)).count() == 1;
    for check in &added {
        let number = check.name.strip_prefix(settings.name_prefixes()[0]);
        let mut needing = before.needing_checks();
        let is_needed = needing.any(|place| place.is_same_image(check));
        let is_pulled = |place: &Place| repaired.new.is_pulled(place);
        let strength = repaired.strongest_before_pull_once(check, is_pulled);
        let is_right = settings.on_missing() == "Add"
            && before.may_lack_checks()
            && is_needed
            && is_once(check)
            && strength == Some(check.pull_policy)
            && number.is_some_and(|number| number.parse::<usize>().is_ok())
            && check.is_container() != settings.as_volumes();
        hold(is_right, || format!("{check:?} was added"))?;
    }
    Ok(())
}
