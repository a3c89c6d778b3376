//! A place: a container or an image volume, with what came in, what it should be, and why.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::Value;

use super::finding::{Reason, Rule};
use super::roles::{Carriers, Role};
use crate::image::{Invalid, PullPolicy, Reference};
use crate::json::{self, Wrong};
use crate::pod::{List, Mount};
use crate::settings::{ForImage, Settings};
use crate::shown::shown;

/// A place: an entry of a Pod spec that holds an image reference.
pub(crate) struct Place<'o> {
    /// The list that holds the place.
    pub(crate) list: List,
    /// The index in this list, in the request's object. Of an added place, the index in the returned object.
    pub(crate) index: usize,
    /// The name of the container or volume.
    pub(crate) name: Cow<'o, str>,
    /// The entry of the list. `null` for an added place.
    pub(crate) value: &'o Value,
    /// Whether the place is a native sidecar: an init container with `restartPolicy: Always` (KEP-753).
    pub(crate) is_native_sidecar: bool,
    /// Whether the request brings this place or its image, so that the rules examine it.
    pub(crate) is_examined: bool,
    /// What the place does in its Pod.
    pub(crate) role: Role,
    /// The volumes that the container mounts. They are only read if the Pod has image volumes or may get some.
    pub(crate) mounts: Vec<Mount<'o>>,
    /// The containers that mount the volume.
    pub(crate) carriers: Carriers,
    /// The image as its author wrote it, parsed.
    pub(crate) reference: Result<Reference<'o>, Invalid>,
    /// What the settings say about this image.
    pub(crate) settings: ForImage<'o>,
    /// The image.
    pub(crate) image: Field<'o, Cow<'o, str>>,
    /// The pull policy. If none is set, it is the server default.
    pub(crate) policy: Field<'o, PullPolicy>,
    /// Whether a pull policy is set.
    pub(crate) sets_policy: bool,
}

/// A value that this policy may change.
pub(crate) struct Field<'o, T> {
    /// The value that came in.
    pub(crate) before: T,
    /// The value that it should be.
    pub(crate) now: T,
    /// Why the two differ. None if they don't.
    pub(crate) why: Option<Why<'o>>,
}

/// Why a value changes.
pub(crate) enum Why<'o> {
    /// It is wrong.
    Finding(Rc<dyn Reason + 'o>),
    /// It is not wrong, and this rule replaces it.
    NoFinding(Rule),
}

impl Why<'_> {
    /// The rule that changes the value.
    pub(crate) fn rule(&self) -> Rule {
        match self {
            Self::Finding(reason) => reason.rule(),
            Self::NoFinding(rule) => *rule,
        }
    }
}

impl<'o, T: Clone + PartialEq> Field<'o, T> {
    /// A value that no rule has changed.
    pub(crate) fn new(before: T) -> Self {
        Self { now: before.clone(), before, why: None }
    }

    /// Changes the value. If several rules change it, the reason of the first stays.
    pub(crate) fn set(&mut self, now: T, why: Why<'o>) {
        self.now = now;
        let why = self.why.take().unwrap_or(why);
        self.why = (self.now != self.before).then_some(why);
    }
}

impl<'o> Place<'o> {
    /// Reads an entry of a list. `source` has the image and the pull policy: the container itself, or the member `image` of
    /// a volume.
    ///
    /// # Errors
    /// A value has a wrong shape.
    pub(super) fn read(
        list: List,
        index: usize,
        value: &'o Value,
        source: &'o Value,
        settings: &'o Settings,
    ) -> Result<Self, Wrong<'o>> {
        let name = json::string(value, "name")?.ok_or(Wrong::lacks(value, "name"))?;
        let restart_policy = match list {
            List::InitContainers => json::string(value, "restartPolicy")?,
            _ => None,
        };
        let image = json::string(source, list.image_key())?.unwrap_or_default();
        let policy = pull_policy(source, list.policy_key())?;
        let reference = Reference::parse(image);
        let for_image = reference.map(|image| settings.for_image(&image)).unwrap_or_default();
        let is_exempt = for_image.exempt.is_some()
            || settings.exempt.containers.iter().any(|pattern| pattern.matches(name));
        let server_default = PullPolicy::server_default(reference.as_ref().ok());
        Ok(Self {
            list,
            index,
            name: name.into(),
            value,
            is_native_sidecar: restart_policy == Some("Always"),
            is_examined: true,
            role: match (&reference, is_exempt) {
                (_, true) => Role::Exempt,
                (Err(_), false) => Role::Invalid,
                (Ok(_), false) => Role::Other,
            },
            mounts: Vec::new(),
            carriers: Carriers::default(),
            reference,
            settings: for_image,
            image: Field::new(image.into()),
            policy: Field::new(policy.unwrap_or(server_default)),
            sets_policy: policy.is_some(),
        })
    }

    /// The check that this policy adds for this place. `first_init` is the index of the Pod's first init container.
    pub(crate) fn check(
        &self,
        list: List,
        index: usize,
        name: String,
        first_init: Option<usize>,
    ) -> Self {
        let (before, now) = (self.image.before.clone(), self.image.now.clone());
        Self {
            list,
            index,
            name: name.into(),
            value: &Value::Null,
            is_native_sidecar: false,
            is_examined: true,
            role: Role::Check,
            mounts: Vec::new(),
            carriers: Carriers::of_added(list, first_init),
            reference: self.reference,
            settings: self.settings,
            image: Field { before, now, why: None },
            policy: Field::new(self.policy.now),
            sets_policy: false,
        }
    }

    /// Whether this policy adds the place.
    pub(crate) fn is_added(&self) -> bool {
        self.value.is_null()
    }

    /// Whether the rules after *invalid-image* work on this place.
    pub(crate) fn takes_part(&self) -> bool {
        self.is_examined && !matches!(self.role, Role::Exempt | Role::Invalid)
    }

    /// Whether it is an init container that ends before the next container starts.
    pub(crate) fn ends(&self) -> bool {
        self.list == List::InitContainers && !self.is_native_sidecar
    }

    /// The image now, in the form in which images are compared: `:latest` is added to a reference that has neither a tag nor a
    /// digest. Two places pull the same image if these texts are equal.
    pub(crate) fn same_image(&self) -> Cow<'_, str> {
        if self.image.now == self.image.before {
            self.same_image_before()
        } else {
            Cow::Borrowed(&*self.image.now)
        }
    }

    /// The image that came in, in the same form.
    pub(crate) fn same_image_before(&self) -> Cow<'_, str> {
        let image = &*self.image.before;
        let lacks_version =
            |reference: Reference<'_>| reference.tag().is_none() && reference.digest().is_none();
        if self.reference.is_ok_and(lacks_version) {
            Cow::Owned([image, ":latest"].concat())
        } else {
            Cow::Borrowed(image)
        }
    }

    /// The name, as a sentence shows it.
    pub(crate) fn shown_name(&self) -> Cow<'_, str> {
        shown(&self.name)
    }

    /// The image that came in, as a sentence shows it.
    pub(crate) fn shown_image(&self) -> Cow<'_, str> {
        shown(&self.image.before)
    }

    /// `app pulls nginx with IfNotPresent`
    pub(crate) fn pulls(&self) -> String {
        let policy = self.policy.before.as_str();
        format!("{} pulls {} with {policy}", self.shown_name(), self.shown_image())
    }

    /// `app now pulls nginx with Always instead of IfNotPresent`
    pub(crate) fn now_pulls(&self) -> String {
        let (name, image) = (self.shown_name(), self.shown_image());
        let (now, before) = (self.policy.now.as_str(), self.policy.before.as_str());
        format!("{name} now pulls {image} with {now} instead of {before}")
    }

    /// `set app to Always`
    pub(crate) fn set_policy(&self) -> String {
        format!("set {} to {}", self.shown_name(), self.policy.now.as_str())
    }
}

/// Reads a pull policy. `""` counts as not set, as in the API server.
fn pull_policy<'o>(source: &'o Value, key: &'static str) -> Result<Option<PullPolicy>, Wrong<'o>> {
    match json::string(source, key)? {
        None | Some("") => Ok(None),
        Some(text) => {
            let wrong = Wrong::must_be_one_of(source, key, "Always, IfNotPresent or Never");
            PullPolicy::parse(text).map(Some).ok_or(wrong)
        }
    }
}
