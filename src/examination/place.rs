//! Places: containers and image volumes, with what came in, what they are, and what they should be.

use std::borrow::Cow;

use serde_json::Value;

use super::rule::Rule;
use super::start_order::Start;
use crate::image::{Invalid, PullPolicy, Reference};
use crate::json::{self, Wrong};
use crate::pod::List;
use crate::settings::{ForImage, Settings};
use crate::shown::shown;

/// An entry of a Pod spec that holds an image reference, as it came in.
pub(crate) struct Entry<'o> {
    pub(crate) list: List,
    /// The index in the list of the request.
    pub(crate) index: usize,
    pub(crate) value: &'o Value,
    pub(crate) name: &'o str,
    /// Whether it is a native sidecar: an init container with `restartPolicy: Always` (KEP-753).
    pub(crate) is_native_sidecar: bool,
    /// The names of the volumes that the container mounts.
    pub(crate) volumes: Vec<&'o str>,
    pub(crate) image: &'o str,
    /// The image, parsed.
    pub(crate) reference: Result<Reference<'o>, Invalid>,
    /// The pull policy. If none is set, it is the server default.
    pub(crate) policy: PullPolicy,
    /// Whether a pull policy is set.
    pub(crate) sets_policy: bool,
    /// What the settings say about this image.
    pub(crate) settings: ForImage<'o>,
}

/// A place: what came in, what it is in its Pod, and what it should be.
pub(crate) struct Place<'o> {
    /// What came in.
    pub(crate) entry: Entry<'o>,
    /// What it is: what it does in its Pod.
    pub(crate) role: Role,
    /// When it is pulled, and what starts after its pull.
    pub(crate) start: Start,
    /// The indexes of the containers that mount the volume, exempt or not, in ascending order.
    pub(crate) mounted_by: Vec<usize>,
    /// At UPDATE, the image of this container in the stored object.
    pub(crate) stored_image: Option<&'o str>,
    /// Whether the rules examine it. At UPDATE, only if the place or its image is new.
    pub(crate) is_examined: bool,
    /// What it should be.
    pub(crate) image: Field<Cow<'o, str>>,
    pub(crate) policy: Field<PullPolicy>,
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

/// The value that a place should have.
pub(crate) struct Field<T> {
    pub(crate) now: T,
    /// The first of the rules that changed the value that came in. None if it is still this value.
    pub(crate) changed_by: Option<Rule>,
}

impl<T: PartialEq> Field<T> {
    /// The value that came in.
    pub(super) const fn new(now: T) -> Self {
        Self {
            now,
            changed_by: None,
        }
    }

    fn set(&mut self, now: T, before: &T, rule: Rule) {
        let first = self.changed_by.unwrap_or(rule);
        self.changed_by = (now != *before).then_some(first);
        self.now = now;
    }
}

impl<'o> Entry<'o> {
    /// Reads an entry of a list. `source` is the object that has the image and the pull policy.
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
        let (restart_policy, volumes) = match list {
            List::InitContainers => (
                json::string(value, "restartPolicy")?,
                mounted_volumes(value)?,
            ),
            List::Containers | List::EphemeralContainers => (None, mounted_volumes(value)?),
            List::Volumes => (None, Vec::new()),
        };
        let image = json::string(source, list.image_key())?.unwrap_or_default();
        let policy = pull_policy(source, list.policy_key())?;
        let reference = Reference::parse(image);
        let server_default = PullPolicy::server_default(reference.as_ref().ok());
        let for_image = reference.map(|image| settings.for_image(&image));
        let for_image = for_image.unwrap_or_default();
        Ok(Self {
            list,
            index,
            value,
            name,
            is_native_sidecar: restart_policy == Some("Always"),
            volumes,
            image,
            reference,
            policy: policy.unwrap_or(server_default),
            sets_policy: policy.is_some(),
            settings: for_image,
        })
    }

    /// Whether it is an init container that ends before the next container starts.
    pub(crate) fn ends(&self) -> bool {
        self.list == List::InitContainers && !self.is_native_sidecar
    }

    /// Whether it is an app container that is not exempt.
    pub(crate) fn is_app(&self) -> bool {
        self.list == List::Containers && !self.settings.is_exempt
    }

    /// The path of the entry, e.g. `spec.containers[0]`. `spec` is the path of the Pod spec.
    pub(crate) fn path(&self, spec: &str) -> String {
        self.list.path(spec, self.index)
    }
}

impl Place<'_> {
    /// Changes the image that the place should have.
    pub(crate) fn set_image(&mut self, image: String, rule: Rule) {
        self.image.set(image.into(), &self.entry.image.into(), rule);
    }

    /// Changes the pull policy that the place should have.
    pub(crate) fn set_policy(&mut self, policy: PullPolicy, rule: Rule) {
        self.policy.set(policy, &self.entry.policy, rule);
    }

    /// Whether a rule has changed a value.
    pub(crate) fn is_changed(&self) -> bool {
        self.image.changed_by.is_some() || self.policy.changed_by.is_some()
    }

    /// Whether the rules after *invalid-image* work on this place.
    pub(crate) fn takes_part(&self) -> bool {
        self.is_examined && !matches!(self.role, Role::Exempt | Role::Invalid)
    }

    /// Whether it is an image check.
    pub(crate) fn is_check(&self) -> bool {
        self.role == Role::Check
    }

    /// The image now, in the form in which images are compared: `:latest` is added to a reference
    /// that has neither a tag nor a digest. Two places pull the same image if these texts are
    /// equal.
    pub(crate) fn same_image(&self) -> Cow<'_, str> {
        if self.image.changed_by.is_none() {
            self.same_image_before()
        } else {
            Cow::Borrowed(&*self.image.now)
        }
    }

    /// The image that came in, in the same form.
    pub(crate) fn same_image_before(&self) -> Cow<'_, str> {
        let image = self.entry.image;
        let lacks_version =
            |reference: Reference<'_>| reference.tag().is_none() && reference.digest().is_none();
        if self.entry.reference.is_ok_and(lacks_version) {
            Cow::Owned([image, ":latest"].concat())
        } else {
            Cow::Borrowed(image)
        }
    }

    /// The name, as a sentence shows it. A name of digits only would be read as a number.
    pub(crate) fn shown_name(&self) -> Cow<'_, str> {
        let name = shown(self.entry.name);
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        match self.entry.list {
            _ if !is_number => name,
            List::Volumes => format!("volume {name}").into(),
            List::InitContainers | List::Containers | List::EphemeralContainers => {
                format!("container {name}").into()
            }
        }
    }

    /// The image that came in, as a sentence shows it.
    pub(crate) fn shown_image(&self) -> Cow<'_, str> {
        shown(self.entry.image)
    }

    /// `app pulls nginx with IfNotPresent`
    pub(crate) fn pulls(&self, image: &str) -> String {
        let name = self.shown_name();
        format!("{name} pulls {image} with {}", self.entry.policy.as_str())
    }

    /// `app now pulls nginx with Always instead of IfNotPresent`
    pub(crate) fn now_pulls(&self) -> String {
        let (name, image) = (self.shown_name(), self.shown_image());
        let (now, before) = (self.policy.now.as_str(), self.entry.policy.as_str());
        format!("{name} now pulls {image} with {now} instead of {before}")
    }

    /// `set app to Always`
    pub(crate) fn advice(&self) -> String {
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
