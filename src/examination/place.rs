//! A place: a container or an image volume, with what came in and what it should be.

use std::borrow::Cow;

use serde_json::Value;

use super::rule::Rule;
use super::start_order::Start;
use crate::image::{Invalid, PullPolicy, Reference};
use crate::json::{self, Wrong};
use crate::pod::List;
use crate::settings::{ForImage, Settings};
use crate::shown::shown;

/// A place: an entry of a Pod spec that holds an image reference.
#[derive(Clone)]
pub(crate) struct Place<'o> {
    pub(crate) list: List,
    /// The index in the list of the request. Of an added place, in the list of the returned
    /// object.
    pub(crate) index: usize,
    /// The entry of the request. None for a place that this policy adds.
    pub(crate) entry: Option<&'o Value>,
    pub(crate) name: Cow<'o, str>,
    /// Whether the place is a native sidecar: an init container with `restartPolicy: Always`
    /// (KEP-753).
    pub(crate) is_native_sidecar: bool,
    /// Whether the rules examine it. At UPDATE, only if the place or its image is new.
    pub(crate) is_examined: bool,
    /// At UPDATE, the image of this container in the stored object.
    pub(crate) stored_image: Option<&'o str>,
    /// What the place does in its Pod.
    pub(crate) role: Role,
    /// The names of the volumes that the container mounts.
    pub(crate) volumes: Vec<&'o str>,
    /// When it is pulled, and what starts after its pull.
    pub(crate) start: Start,
    /// The indexes of the containers that mount the volume, exempt or not, in ascending order.
    pub(crate) mounted_by: Vec<usize>,
    /// The image as its author wrote it, parsed.
    pub(crate) reference: Result<Reference<'o>, Invalid>,
    /// What the settings say about this image.
    pub(crate) settings: ForImage<'o>,
    pub(crate) image: Field<Cow<'o, str>>,
    /// The pull policy. If none is set, it is the server default.
    pub(crate) policy: Field<PullPolicy>,
    /// Whether a pull policy is set.
    pub(crate) sets_policy: bool,
}

/// What a place does in its Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is exempt. No rule reports or changes it.
    Exempt,
    /// Its image can't be parsed, or is an image ID that the settings refuse. No later rule reports
    /// or changes it.
    Invalid,
    Check,
    Other,
}

/// A value that this policy may change.
#[derive(Clone)]
pub(crate) struct Field<T> {
    /// The value that came in.
    pub(crate) before: T,
    /// The value that it should be.
    pub(crate) now: T,
    /// The first of the rules that made the two differ. None if they don't.
    pub(crate) changed_by: Option<Rule>,
    /// Whether the API server refuses each change of the value.
    pub(crate) is_immutable: bool,
}

impl<T: Clone + PartialEq> Field<T> {
    /// A value that no rule has changed.
    pub(crate) fn new(before: T) -> Self {
        Self {
            now: before.clone(),
            before,
            changed_by: None,
            is_immutable: false,
        }
    }

    /// Changes the value, unless it is immutable. Returns whether the value is mutable.
    pub(crate) fn set(&mut self, now: T, rule: Rule) -> bool {
        if !self.is_immutable {
            self.now = now;
            let first = self.changed_by.unwrap_or(rule);
            self.changed_by = (self.now != self.before).then_some(first);
        }
        !self.is_immutable
    }
}

impl<'o> Place<'o> {
    /// Reads an entry of a list. `source` has the image and the pull policy: the container itself,
    /// or the member `image` of a volume. The role and the start are not known yet.
    ///
    /// # Errors
    /// A value has a wrong shape.
    pub(super) fn read(
        list: List,
        index: usize,
        entry: &'o Value,
        source: &'o Value,
        settings: &'o Settings,
    ) -> Result<Self, Wrong<'o>> {
        let name = json::string(entry, "name")?.ok_or(Wrong::lacks(entry, "name"))?;
        let restart_policy = match list {
            List::InitContainers => json::string(entry, "restartPolicy")?,
            _ => None,
        };
        let image = json::string(source, list.image_key())?.unwrap_or_default();
        let policy = pull_policy(source, list.policy_key())?;
        let reference = Reference::parse(image);
        let for_image = reference.map(|image| settings.for_image(&image));
        let server_default = PullPolicy::server_default(reference.as_ref().ok());
        Ok(Self {
            list,
            index,
            entry: Some(entry),
            name: name.into(),
            is_native_sidecar: restart_policy == Some("Always"),
            is_examined: true,
            stored_image: None,
            role: Role::Other,
            volumes: match list {
                List::Volumes => Vec::new(),
                _ => mounted_volumes(entry)?,
            },
            start: Start::None,
            mounted_by: Vec::new(),
            reference,
            settings: for_image.unwrap_or_default(),
            image: Field::new(image.into()),
            policy: Field::new(policy.unwrap_or(server_default)),
            sets_policy: policy.is_some(),
        })
    }

    /// An image check that this policy adds for the image of this place.
    pub(crate) fn check(&self, list: List, index: usize, name: String, policy: PullPolicy) -> Self {
        Self {
            list,
            index,
            entry: None,
            name: name.into(),
            is_native_sidecar: false,
            role: Role::Check,
            volumes: Vec::new(),
            start: match list {
                List::InitContainers => Start::Init(index),
                // It doesn't matter when an added volume is pulled.
                _ => Start::None,
            },
            mounted_by: Vec::new(),
            policy: Field::new(policy),
            sets_policy: false,
            ..self.clone()
        }
    }

    /// Whether a rule has changed a value.
    pub(crate) fn is_changed(&self) -> bool {
        self.image.changed_by.is_some() || self.policy.changed_by.is_some()
    }

    /// The place with the returned image and pull policy as those that came in, for sentences.
    pub(crate) fn after(&self) -> Self {
        Self {
            image: Field::new(self.image.now.clone()),
            policy: Field::new(self.policy.now),
            ..self.clone()
        }
    }

    /// Whether this policy adds the place.
    pub(crate) fn is_added(&self) -> bool {
        self.entry.is_none()
    }

    /// Whether the settings exempt the place.
    pub(super) fn is_exempt(&self, settings: &Settings) -> bool {
        let mut names = settings.exempt.containers.iter();
        self.settings.exempt.is_some() || names.any(|pattern| pattern.matches(&self.name))
    }

    /// Whether the rules after *invalid-image* work on this place.
    pub(crate) fn takes_part(&self) -> bool {
        self.is_examined && !matches!(self.role, Role::Exempt | Role::Invalid)
    }

    /// Whether it is an app container that is not exempt.
    pub(crate) fn is_app(&self) -> bool {
        self.list == List::Containers && self.role != Role::Exempt
    }

    /// Whether it is an init container that ends before the next container starts.
    pub(crate) fn ends(&self) -> bool {
        self.list == List::InitContainers && !self.is_native_sidecar
    }

    /// The image now, in the form in which images are compared: `:latest` is added to a reference
    /// that has neither a tag nor a digest. Two places pull the same image if these texts are
    /// equal.
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

    /// The name, as a sentence shows it. A name of digits only would be read as a number.
    pub(crate) fn shown_name(&self) -> Cow<'_, str> {
        let is_number = self.name.bytes().all(|byte| byte.is_ascii_digit());
        match self.list {
            _ if !is_number => shown(&self.name),
            List::Volumes => format!("volume {}", shown(&self.name)).into(),
            _ => format!("container {}", shown(&self.name)).into(),
        }
    }

    /// The image that came in, as a sentence shows it.
    pub(crate) fn shown_image(&self) -> Cow<'_, str> {
        shown(&self.image.before)
    }

    /// `app pulls nginx with IfNotPresent`
    pub(crate) fn pulls(&self) -> String {
        let policy = self.policy.before.as_str();
        format!(
            "{} pulls {} with {policy}",
            self.shown_name(),
            self.shown_image()
        )
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

/// The names of the volumes that a container mounts.
fn mounted_volumes(container: &Value) -> Result<Vec<&str>, Wrong<'_>> {
    let mounts = json::list(container, "volumeMounts")?.iter();
    mounts
        .map(|mount| Ok(json::string(mount, "name")?.unwrap_or_default()))
        .collect()
}

/// Reads a pull policy. `""` counts as not set, as in the API server.
fn pull_policy<'o>(source: &'o Value, key: &'static str) -> Result<Option<PullPolicy>, Wrong<'o>> {
    let read = |value: &Value| match value.as_str()? {
        "" => Some(None),
        text => PullPolicy::parse(text).map(Some),
    };
    let policy = json::typed(source, key, "Always, IfNotPresent or Never", read)?;
    Ok(policy.flatten())
}
