//! All sentences about findings and their repairs.

use super::failed_lookup::why_no_answer;
use super::{
    DisallowingSetting, Finding, MissingPlatform, Reason, Repairability, WaitingContainer,
    WhyNoCheck,
};
use crate::image::InvalidReference;
use crate::pod::PodSpecList;
use crate::pull_policy::PullPolicy;
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength, SentencePiece, UntrustedText};

impl Finding<'_> {
    /// The sentence that says what is wrong and how to correct it.
    pub(crate) fn sentence(&self, length: SentenceLength) -> Sentence<'_> {
        let (name, image) = (self.name(), self.image());
        match &self.reason {
            Reason::InvalidImage(invalid, path) => self.is_invalid(*invalid, UntrustedText(path)),
            Reason::Waiting(waiting) => self.waits(waiting, length),
            Reason::DisallowedPolicy(setting) => self.is_disallowed(*setting, self.set_policy()),
            Reason::ImmutablePolicy(setting) => {
                let way_out = sentence!(
                    "a running Pod's policy can't change, recreate it with {}",
                    self.expected_text()
                );
                self.is_disallowed(*setting, way_out)
            }
            Reason::AlwaysRequiredAndForbidden { require, forbid } => sentence!(
                "{} pulls {}, but {} has {} and {} has {}: take one out of the policy's settings",
                name,
                image,
                "images.requireAlways",
                UntrustedText(require.as_str()),
                "images.forbidAlways",
                UntrustedText(forbid.as_str())
            ),
            Reason::TagToPin(digest) => self.has_tag_to_pin(digest, length),
            Reason::CachedImageAllowed => {
                let (pulls, way_out) = (self.pulls(), self.set_policy());
                sentence!("{} but its registry gives no digest: {}", pulls, way_out)
            }
            Reason::LookupFailed(error) => {
                sentence!("{}'s image {} {}", name, image, why_no_answer(*error))
            }
            Reason::MissingPlatform(platforms) => self.lacks_platform(platforms),
            Reason::StrongerContainer { name, policy } => sentence!(
                "{} but {} pulls it with {}: {}",
                self.pulls(),
                UntrustedText(name),
                policy.as_str(),
                self.set_policy()
            ),
            Reason::AlwaysForbiddenForCheck { name: stronger } => {
                let stronger = UntrustedText(stronger);
                sentence!(
                    "{} may not pull {} with Always ({}), but {} does: set {} to IfNotPresent",
                    name,
                    image,
                    "images.forbidAlways",
                    stronger,
                    stronger
                )
            }
            Reason::CheckAdded {
                name: check,
                written_differently,
                ..
            } => {
                let check = UntrustedText(check);
                let way_out = sentence!("add {} with {}", check, self.expected_text());
                self.has_no_check(*written_differently, way_out)
            }
            Reason::NoCheckAdded {
                why,
                written_differently,
            } => self.gets_no_check(*why, *written_differently),
            Reason::Default(setting) => {
                let (pulls, way_out) = (self.pulls(), self.set_policy());
                sentence!("{}, which nobody chose: {} ({})", pulls, way_out, *setting)
            }
            Reason::ReplacedImage => self.is_outdated(),
            Reason::PolicyOfPinnedImage | Reason::PulledBefore => self.now_pulls(),
        }
    }

    /// The warning about the repair. None if no warning is needed. Defaults and pins need none,
    /// because the author of the settings asked for these changes. `UseCached` needs none, because the
    /// failed lookup has its own warning.
    pub(crate) fn repair_warning(&self) -> Option<Sentence<'_>> {
        match &self.reason {
            Reason::DisallowedPolicy(setting) => {
                Some(sentence!("{} ({})", self.now_pulls(), setting.name))
            }
            Reason::StrongerContainer { name, .. } => {
                let stronger = UntrustedText(name);
                Some(sentence!("{}, as {} needs", self.now_pulls(), stronger))
            }
            Reason::CheckAdded {
                written_differently: Some(other),
                ..
            } => Some(self.has_another_spelling(other)),
            Reason::CheckAdded { name, image, .. } => Some(sentence!(
                "{} was added: it pulls {} with {} before {} does",
                UntrustedText(name),
                UntrustedText(image),
                self.expected_text(),
                self.name()
            )),
            _ => None,
        }
    }

    fn is_invalid<'s>(
        &'s self,
        invalid: InvalidReference,
        path: UntrustedText<'s>,
    ) -> Sentence<'s> {
        if invalid == InvalidReference::Empty {
            return sentence!("{} has no image in {}", self.name(), path);
        }
        sentence!(
            "{} has no valid image in {}: \"{}\" can't be pulled, {}",
            self.name(),
            path,
            self.image(),
            invalid.reason()
        )
    }

    fn waits<'s>(
        &'s self,
        waiting: &'s WaitingContainer<'_>,
        length: SentenceLength,
    ) -> Sentence<'s> {
        let name = self.name();
        let images = SentencePiece::OneOf(&waiting.images);
        let waits = if let Some(container) = waiting.container {
            let container = UntrustedText(container);
            sentence!("{} waits for {}'s image {}", container, name, images)
        } else {
            sentence!("{} waits for {}", name, images)
        };
        let reason = match &waiting.since {
            Some(since) if length == SentenceLength::Full => {
                sentence!("{} since {}", waiting.reason, UntrustedText(since))
            }
            _ => sentence!("{}", waiting.reason),
        };
        let Some(check) = waiting.passed_check else {
            let (found, way_out) = (self.found_text(), waiting.way_out);
            return sentence!("{} with {} ({}): {}", waits, found, reason, way_out);
        };
        let passed = UntrustedText(check.name);
        let way_out = match check.policy {
            PullPolicy::Always => sentence!("set {} to IfNotPresent", name),
            PullPolicy::IfNotPresent | PullPolicy::Never => sentence!("set {} to Always", passed),
        };
        if length == SentenceLength::Line {
            return sentence!("{} ({}), yet {} passed: {}", waits, reason, passed, way_out);
        }
        let why = "the registry no longer has it or can't be reached";
        sentence!(
            "{} ({}) although {} passed with {}: {}; {}",
            waits,
            reason,
            passed,
            check.policy.as_str(),
            why,
            way_out
        )
    }

    fn is_disallowed<'s>(
        &'s self,
        setting: DisallowingSetting<'s>,
        way_out: Sentence<'s>,
    ) -> Sentence<'s> {
        let (pulls, pattern) = (self.pulls(), UntrustedText(setting.pattern.as_str()));
        sentence!(
            "{} but {} has {}: {}",
            pulls,
            setting.name,
            pattern,
            way_out
        )
    }

    /// Names the digest to write. Even a short line has the whole digest.
    fn has_tag_to_pin<'s>(&'s self, digest: &'s str, length: SentenceLength) -> Sentence<'s> {
        let (name, image) = (self.name(), self.image());
        match length {
            SentenceLength::Full => sentence!(
                "{} pulls {} by its tag: set its image to {} with {}",
                name,
                image,
                UntrustedText(self.expected().unwrap_or_default()),
                self.expected_text()
            ),
            SentenceLength::Line => {
                sentence!(
                    "{}: pin {} to @{}",
                    name,
                    image,
                    SentencePiece::Digest(digest)
                )
            }
        }
    }

    fn lacks_platform<'s>(&'s self, platforms: &'s MissingPlatform) -> Sentence<'s> {
        let (name, image) = (self.name(), self.image());
        let has = SentencePiece::List(&platforms.has);
        let lacks = UntrustedText(&platforms.lacks);
        let mut path = sentence!("");
        for key in platforms.pod_spec {
            path = sentence!("{}{}.", path, *key);
        }
        let field = sentence!("{}{}", path, platforms.field);
        let way_out = sentence!("build it for {} or change {}", lacks, field);
        sentence!(
            "{}'s image {} has {} only, but the Pod asks for {}: {}",
            name,
            image,
            has,
            lacks,
            way_out
        )
    }

    fn is_outdated(&self) -> Sentence<'_> {
        let (name, image) = (self.name(), self.image());
        let way_out = match self.place.list {
            PodSpecList::Volumes => "create the Pod anew",
            _ => "change its image as well",
        };
        sentence!(
            "{} still pulls {}, which no container has any more: {}",
            name,
            image,
            way_out
        )
    }

    fn gets_no_check<'s>(
        &'s self,
        why: WhyNoCheck<'s>,
        written_differently: Option<&'s str>,
    ) -> Sentence<'s> {
        let policy = self.expected_text();
        let way_out = match (why, written_differently) {
            (
                WhyNoCheck::NoneWanted | WhyNoCheck::OnlyInPods | WhyNoCheck::Windows,
                Some(other),
            ) => {
                if self.repairability == Repairability::Advice {
                    return self.has_another_spelling(other);
                }
                let way_out = sentence!("write both alike or add a check with {}", policy);
                return self.has_no_check(Some(other), way_out);
            }
            (WhyNoCheck::NoneWanted | WhyNoCheck::OnlyInPods, None) => {
                sentence!("add one with {}", policy)
            }
            (WhyNoCheck::Windows, None) => sentence!("none is added on Windows"),
            (WhyNoCheck::NoImageVolumes { beside }, _) => {
                sentence!("no image volume is added beside {}", beside)
            }
            (WhyNoCheck::NothingToCopy, _) => {
                sentence!("no check can be copied, set imageChecks.template")
            }
            (WhyNoCheck::TemplateNeedsVolume(volume), _) => {
                let volume = UntrustedText(volume);
                sentence!(
                    "the Pod lacks the volume {} of imageChecks.template",
                    volume
                )
            }
            (WhyNoCheck::TooLarge, _) => {
                sentence!("all missing checks together would be larger than 1 MiB")
            }
        };
        self.has_no_check(None, way_out)
    }

    fn has_no_check<'s>(&'s self, other: Option<&'s str>, way_out: Sentence<'s>) -> Sentence<'s> {
        let (name, image) = (self.name(), self.image());
        if let Some(other) = other {
            let other = self.has_another_spelling(other);
            return sentence!("{} has no check of its own, {}, {}", name, other, way_out);
        }
        sentence!(
            "{} pulls {} but no image check pulls it first: {}",
            name,
            image,
            way_out
        )
    }

    fn has_another_spelling<'s>(&'s self, other: &'s str) -> Sentence<'s> {
        sentence!(
            "{} is checked as {}: a node asks the registry again for another spelling",
            self.image(),
            UntrustedText(other)
        )
    }

    fn pulls(&self) -> Sentence<'_> {
        let (name, image) = (self.name(), self.image());
        sentence!("{} pulls {} with {}", name, image, self.found_text())
    }

    fn now_pulls(&self) -> Sentence<'_> {
        sentence!(
            "{} now pulls {} with {} instead of {}",
            self.name(),
            self.image(),
            self.expected_text(),
            self.found_text()
        )
    }

    fn set_policy(&self) -> Sentence<'_> {
        sentence!("set {} to {}", self.name(), self.expected_text())
    }

    fn name(&self) -> UntrustedText<'_> {
        UntrustedText(&self.place.name)
    }

    fn image(&self) -> UntrustedText<'_> {
        UntrustedText(self.place.image_text())
    }

    fn found_text(&self) -> &'static str {
        self.found_policy.map_or("no policy", PullPolicy::as_str)
    }

    /// Empty if the finding proposes no pull policy.
    fn expected_text(&self) -> &'static str {
        self.expected_policy.map_or("", PullPolicy::as_str)
    }
}
