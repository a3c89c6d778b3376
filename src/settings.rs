//! The settings: reading and checking them, every problem with its path.
//!
//! A cluster operator sees a settings error once, in the status of a `ClusterAdmissionPolicy` or
//! in a terminal; so all problems are reported together, each with what is allowed there.

mod form;

use std::borrow::Cow;

use self::form::Form;
use crate::container_schema;
use crate::image::Reference;
use crate::json::Reader;
use crate::pattern::ImagePattern;
use crate::pull_policy::PullPolicy;

/// What happens to a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// What can be repaired is repaired, the rest is rejected.
    #[default]
    Fix,
    /// Every finding is rejected; no object is ever changed.
    Reject,
    /// Every finding is a warning.
    Warn,
}

/// What happens when an image of a Pod with image checks is not covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coverage {
    /// Nothing.
    Off,
    /// A warning, in every mode.
    #[default]
    Warn,
    /// A finding without a repair.
    Reject,
    /// A finding whose repair adds the check.
    Fix,
}

/// In mode Fix, what happens to a pod template with a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Templates {
    /// Nothing.
    Off,
    /// It is accepted with warnings; its Pods are repaired when they are created.
    #[default]
    Warn,
    /// It is repaired.
    Fix,
}

/// Whether registries are asked for the digests behind tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookupMode {
    /// They are not.
    #[default]
    Off,
    /// They are, and an answer is all that is needed.
    Verify,
    /// They are, and the digest is written into the Pod.
    Pin,
}

/// What happens when a lookup fails in a certain way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// It is a finding without a repair.
    Reject,
    /// Image and policy stay as they are.
    KeepTag,
    /// The tag stays, and its containers and checks take what the node has.
    UseCached,
}

impl OnFailure {
    /// The value as it stands in the settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reject => "Reject",
            Self::KeepTag => "KeepTag",
            Self::UseCached => "UseCached",
        }
    }
}

/// A pull policy for containers whose author chose none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultPolicy {
    /// The same for every image.
    Policy(PullPolicy),
    /// `Always` for a tag, `IfNotPresent` for a digest: what a digest names never changes.
    AlwaysUnlessDigest,
}

/// `imageChecks`
#[derive(Clone, Debug)]
pub struct ImageChecks<'a> {
    /// An init container whose name starts with one of these is an image check.
    pub name_prefixes: Vec<Cow<'a, str>>,
    /// What happens when an image is not covered.
    pub coverage: Coverage,
    /// Coverage for Pods without any image check, too.
    pub every_pod: bool,
    /// What an added check looks like in a Pod that has none to copy: the text of a container
    /// without name, image and pull policy.
    pub template: Option<&'a [u8]>,
    /// Globs for the init containers that have to run before an added check.
    pub after: Vec<Cow<'a, str>>,
}

/// `defaults`
#[derive(Clone, Debug)]
pub struct Defaults {
    /// For every container whose author chose none.
    pub image_pull_policy: Option<DefaultPolicy>,
    /// For image checks, before `image_pull_policy`.
    pub image_check_pull_policy: Option<DefaultPolicy>,
    /// Whether a policy equal to the server default counts as not chosen.
    pub replace_server_defaults: bool,
}

/// `images`
#[derive(Clone, Debug, Default)]
pub struct Images<'a> {
    /// Containers of these pull with `Always`.
    pub require_always: Vec<ImagePattern<'a>>,
    /// Containers of these never pull with `Always`.
    pub forbid_always: Vec<ImagePattern<'a>>,
}

/// `registry`
#[derive(Clone, Debug)]
pub struct Registry<'a> {
    /// Whether registries are asked.
    pub lookup: LookupMode,
    /// The images that are looked up; none given is all of them.
    pub images: Vec<ImagePattern<'a>>,
    /// The images that are not.
    pub skip_images: Vec<ImagePattern<'a>>,
    /// The tag or repository does not exist.
    pub on_not_found: OnFailure,
    /// 401 or 403.
    pub on_denied: OnFailure,
    /// 429.
    pub on_rate_limited: OnFailure,
    /// No connection, DNS, TLS, time-out, 5xx.
    pub on_unreachable: OnFailure,
    /// Any other answer.
    pub on_unknown: OnFailure,
    /// Lookups in one request.
    pub max_lookups: usize,
}

impl Registry<'_> {
    /// Whether what registries answer can change a pull policy.
    #[must_use]
    pub fn may_change_policies(&self) -> bool {
        self.lookup == LookupMode::Pin
            || [
                self.on_not_found,
                self.on_denied,
                self.on_rate_limited,
                self.on_unreachable,
                self.on_unknown,
            ]
            .contains(&OnFailure::UseCached)
    }

    /// Whether this image is one to look up.
    #[must_use]
    pub fn names(&self, reference: &Reference<'_>) -> bool {
        use crate::pattern::first_match;
        (self.images.is_empty() || first_match(&self.images, reference).is_some())
            && first_match(&self.skip_images, reference).is_none()
    }
}

/// `exempt`
#[derive(Clone, Debug, Default)]
pub struct Exempt<'a> {
    /// Globs for the names of containers.
    pub containers: Vec<Cow<'a, str>>,
    /// Images.
    pub images: Vec<ImagePattern<'a>>,
}

/// The settings of the policy, checked.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// What happens to a finding.
    pub mode: Mode,
    /// How image checks are recognised, and what they have to cover.
    pub image_checks: ImageChecks<'a>,
    /// Whether containers take the image that an init container has pulled.
    pub pull_once: bool,
    /// The pull policy of containers whose author chose none.
    pub defaults: Defaults,
    /// Images with a rule of their own.
    pub images: Images<'a>,
    /// What is asked of registries.
    pub registry: Registry<'a>,
    /// What happens to a pod template with a finding.
    pub templates: Templates,
    /// What is never examined and never changed.
    pub exempt: Exempt<'a>,
    /// Whether a repaired object carries a record of its changes.
    pub record_changes: bool,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            image_checks: ImageChecks {
                name_prefixes: vec!["imagecheck-".into(), "imagepullcheck-".into()],
                coverage: Coverage::default(),
                every_pod: false,
                template: None,
                after: Vec::new(),
            },
            pull_once: true,
            defaults: Defaults {
                image_pull_policy: None,
                image_check_pull_policy: None,
                replace_server_defaults: true,
            },
            images: Images::default(),
            registry: Registry {
                lookup: LookupMode::default(),
                images: Vec::new(),
                skip_images: Vec::new(),
                on_not_found: OnFailure::Reject,
                on_denied: OnFailure::KeepTag,
                on_rate_limited: OnFailure::KeepTag,
                on_unreachable: OnFailure::KeepTag,
                on_unknown: OnFailure::KeepTag,
                max_lookups: 10,
            },
            templates: Templates::default(),
            exempt: Exempt::default(),
            record_changes: true,
        }
    }
}

impl<'a> Settings<'a> {
    /// Reads the settings of a request. They were checked when the policy was loaded, so the
    /// template of a check is taken as it is.
    ///
    /// # Errors
    /// Every problem, each with the path to it.
    pub fn read(text: &'a [u8]) -> Result<Self, Vec<String>> {
        let form = Form::of(text);
        if form.problems.is_empty() {
            Ok(form.settings)
        } else {
            Err(form.problems)
        }
    }

    /// Checks the settings, the template of a check included.
    ///
    /// # Errors
    /// Every problem, each with the path to it.
    pub fn check(text: &'a [u8]) -> Result<(), Vec<String>> {
        let mut form = Form::of(text);
        if let Some(template) = form.template {
            container_schema::check(
                &mut Reader::at(text, template),
                "imageChecks.template",
                &mut form.problems,
            );
        }
        form.check_together();
        if form.problems.is_empty() {
            Ok(())
        } else {
            Err(form.problems)
        }
    }
}
