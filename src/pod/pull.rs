//! A pull: an entry of a Pod spec that holds an image reference, as it came in and as it is now.

use std::borrow::Cow;

use serde_json::Value;

use super::spec::List;
use super::start_order::Start;
use crate::image::PullPolicy::{Always, IfNotPresent};
use crate::image::{Invalid, PullPolicy, Reference};
use crate::json::{self, InvalidField};
use crate::sanitize::sanitize;
use crate::settings::{ForImage, Settings};

/// A container of any kind or an image volume. The rules change its image and its pull policy.
pub struct Pull<'o> {
    pub list: List,
    /// The index in the list: that of the request, or of an added check in the returned object.
    pub index: usize,
    /// The entry of the request.
    pub value: &'o Value,
    /// The entry of a check that a rule has added.
    pub added: Option<Value>,
    pub name: Cow<'o, str>,
    /// The image that came in.
    pub written_image: &'o str,
    /// This image, parsed.
    pub reference: Result<Reference<'o>, Invalid>,
    /// The image that a rule has written in its place.
    pub new_image: Option<String>,
    /// The pull policy that came in. None if none was set.
    pub written_policy: Option<PullPolicy>,
    /// The pull policy that came in, or else the server default.
    pub policy_before: PullPolicy,
    /// The pull policy now.
    pub policy: PullPolicy,
    /// What the settings say about the image that came in.
    pub settings: ForImage<'o>,
    /// Whether it is a native sidecar: an init container with `restartPolicy: Always` (KEP-753).
    pub is_native_sidecar: bool,
    /// Whether it is an image check.
    pub is_check: bool,
    /// When it is pulled, and what starts after it.
    pub start: Start,
    /// At UPDATE, the image of this container in the stored object.
    pub stored_image: Option<&'o str>,
    /// Whether the request adds it or changes its image. At CREATE, every pull is new.
    pub is_new: bool,
}

impl<'o> Pull<'o> {
    /// Reads an entry of a list. `source` is the object that has the image and the pull policy.
    /// The fields that depend on other entries or on the request are filled in later.
    ///
    /// # Errors
    /// A value has a wrong shape.
    pub fn read(
        list: List,
        index: usize,
        value: &'o Value,
        source: &'o Value,
        settings: &'o Settings,
    ) -> Result<Self, InvalidField<'o>> {
        let name = json::string(value, "name")?.ok_or(InvalidField::missing(value, "name"))?;
        let restart_policy = match list {
            List::InitContainers => json::string(value, "restartPolicy")?,
            _ => None,
        };
        let image = json::string(source, list.image_key())?.unwrap_or_default();
        let reference = Reference::parse(image);
        let written_policy = pull_policy(source, list.policy_key())?;
        let server_default = || PullPolicy::server_default(reference.as_ref().ok());
        let policy = written_policy.unwrap_or_else(server_default);
        let for_image = reference.map(|image| settings.for_image(&image));
        Ok(Self {
            value,
            written_image: image,
            reference,
            written_policy,
            settings: for_image.unwrap_or_default(),
            is_native_sidecar: restart_policy == Some("Always"),
            ..Self::new(list, index, name.into(), policy)
        })
    }

    /// A pull without an entry of the request.
    pub fn new(list: List, index: usize, name: Cow<'o, str>, policy: PullPolicy) -> Self {
        Self {
            list,
            index,
            value: &Value::Null,
            added: None,
            name,
            written_image: "",
            reference: Err(Invalid::EMPTY),
            new_image: None,
            written_policy: None,
            policy_before: policy,
            policy,
            settings: ForImage::default(),
            is_native_sidecar: false,
            is_check: false,
            start: Start::default(),
            stored_image: None,
            is_new: true,
        }
    }

    /// Whether it is an init container that ends before the next container starts.
    pub fn ends(&self) -> bool {
        self.list == List::InitContainers && !self.is_native_sidecar
    }

    /// Whether it is an app container that is not exempt.
    pub fn is_app(&self) -> bool {
        self.list == List::Containers && !self.settings.is_exempt
    }

    /// Whether its image can't be parsed, or is an image ID that the settings refuse.
    pub fn is_invalid(&self) -> bool {
        !self.settings.is_exempt && (self.reference.is_err() || self.settings.is_ambiguous_id)
    }

    /// Whether the rules after *invalid-image* examine it.
    pub fn is_examined(&self) -> bool {
        self.is_new && !self.settings.is_exempt && !self.is_invalid()
    }

    /// The image now.
    pub fn image(&self) -> &str {
        self.new_image.as_deref().unwrap_or(self.written_image)
    }

    /// The image now, in the form in which images are compared: `:latest` is added to a reference
    /// that has neither a tag nor a digest. Two pulls have the same image if these texts are equal.
    pub fn same_image(&self) -> Cow<'_, str> {
        match &self.new_image {
            Some(image) => image.into(),
            None => self.same_image_before(),
        }
    }

    /// The image that came in, in the same form.
    pub fn same_image_before(&self) -> Cow<'o, str> {
        let lacks_version = |image: Reference<'_>| image.tag.is_none() && image.digest.is_none();
        if self.reference.is_ok_and(lacks_version) {
            [self.written_image, ":latest"].concat().into()
        } else {
            self.written_image.into()
        }
    }

    /// Replaces `Always` with `IfNotPresent`, unless `images.requireAlways` matches. Returns whether
    /// it did.
    pub fn lower(&mut self) -> bool {
        let is_lowered = self.policy == Always && self.settings.require_always.is_none();
        if is_lowered {
            self.policy = IfNotPresent;
        }
        is_lowered
    }

    /// The path of the entry, e.g. `spec.containers[0]`, at an index of its list. `spec` is the
    /// path of the Pod spec.
    pub fn path(&self, spec: &str, index: usize) -> String {
        format!("{spec}.{}[{index}]", self.list.name())
    }

    /// The path of the image or of the pull policy, by its key.
    pub fn field_path(&self, spec: &str, index: usize, key: &str) -> String {
        let entry = self.path(spec, index);
        [&entry, ".", self.list.source_path(), key].concat()
    }

    /// The name for a sentence. A name of digits only would be read as a number.
    pub fn label(&self) -> Cow<'_, str> {
        let name = sanitize(&self.name);
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        match self.list {
            _ if !is_number => name,
            List::Volumes => format!("volume {name}").into(),
            _ => format!("container {name}").into(),
        }
    }

    /// `app pulls nginx with IfNotPresent`: what came in. `image` is as the sentence shows it.
    pub fn pulls(&self, image: &str) -> String {
        let (name, policy) = (self.label(), self.policy_before.as_str());
        format!("{name} pulls {image} with {policy}")
    }

    /// `app now pulls nginx with Always instead of IfNotPresent`
    pub fn now_pulls(&self) -> String {
        let (name, image) = (self.label(), sanitize(self.written_image));
        let (now, before) = (self.policy.as_str(), self.policy_before.as_str());
        format!("{name} now pulls {image} with {now} instead of {before}")
    }

    /// `set app to Always`
    pub fn advice(&self) -> String {
        format!("set {} to {}", self.label(), self.policy.as_str())
    }
}

/// Reads a pull policy. `""` counts as not set, as in the API server.
fn pull_policy<'o>(
    source: &'o Value,
    key: &'static str,
) -> Result<Option<PullPolicy>, InvalidField<'o>> {
    let read = |value: &Value| match value.as_str()? {
        "" => Some(None),
        text => PullPolicy::parse(text).map(Some),
    };
    let policy = json::typed(source, key, "Always, IfNotPresent or Never", read)?;
    Ok(policy.flatten())
}
