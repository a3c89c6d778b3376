//! A pull: an entry of a Pod spec that holds an image reference, as it came in and as it is now.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::{Map, Value, json};
use smart_default::SmartDefault;

use super::spec::List;
use crate::image::{Invalid, PullPolicy, Reference};
use crate::json::{self, InvalidField};
use crate::sanitize::sanitize;
use crate::settings::{ForImage, Settings};

/// A moment of a Pod's start: when this number of init containers of the request has started. A
/// later moment is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub usize);

impl Moment {
    /// All app containers start.
    pub const APPS: Self = Self(usize::MAX);
}

/// A container of any kind or an image volume. The rules change its image and its pull policy. The
/// default is a pull without an entry in the request.
#[derive(Clone, SmartDefault)]
pub struct Pull<'o> {
    /// The position in the Pod.
    pub position: usize,
    #[default(List::Containers)]
    pub list: List,
    /// The index in the list: that of the request, or of an added check in the returned object.
    pub index: usize,
    /// The entry of the request.
    #[default(&Value::Null)]
    pub value: &'o Value,
    /// Of a check that a rule has added: the fields that all of these have.
    pub added: Option<Rc<Map<String, Value>>>,
    pub name: Cow<'o, str>,
    /// The image that came in.
    pub written_image: &'o str,
    /// This image, parsed.
    #[default(Err(Invalid::EMPTY))]
    pub reference: Result<Reference<'o>, Invalid>,
    /// The image that a rule has written in its place.
    pub new_image: Option<String>,
    /// The pull policy that came in. None if none was set.
    pub written_policy: Option<PullPolicy>,
    /// The pull policy now.
    #[default(PullPolicy::IfNotPresent)]
    pub policy: PullPolicy,
    /// What the settings say about the image that came in.
    pub settings: ForImage<'o>,
    /// Whether it is an init container that ends before the next container starts. A native sidecar
    /// doesn't: it is an init container with `restartPolicy: Always` (KEP-753).
    pub ends: bool,
    /// Whether it is an image check.
    pub is_check: bool,
    /// When it is pulled. None if it is not pulled while the Pod starts.
    pub moment: Option<Moment>,
    /// The positions of the containers that mount the volume, in ascending order.
    pub mounted_by: Vec<usize>,
    /// At UPDATE, the image of this container in the stored object.
    pub stored_image: Option<&'o str>,
    /// Whether the request adds it or changes its image. At CREATE, every pull is new.
    #[default = true]
    pub is_new: bool,
}

impl<'o> Pull<'o> {
    /// Reads an entry of a list. `source` is the object that has the image and the pull policy.
    /// The fields that depend on other entries or on the request are filled in later.
    pub fn read(
        list: List,
        index: usize,
        value: &'o Value,
        source: &'o Value,
        settings: &'o Settings,
    ) -> Result<Self, InvalidField<'o>> {
        let name = json::string(value, "name")?;
        let name = name.ok_or(InvalidField::Missing(value, "name"))?;
        let ends =
            list == List::InitContainers && json::string(value, "restartPolicy")? != Some("Always");
        let image = json::string(source, list.image_key())?.unwrap_or_default();
        let reference = Reference::parse(image);
        let for_image = reference.map(|image| settings.for_image(&image));
        let mut pull = Self {
            list,
            index,
            name: name.into(),
            value,
            written_image: image,
            reference,
            written_policy: pull_policy(source, list.policy_key())?,
            settings: for_image.unwrap_or_default(),
            ends,
            ..Self::default()
        };
        pull.policy = pull.policy_before();
        Ok(pull)
    }

    /// The name, the image and the pull policy of a check that a rule has added, as its entry has
    /// them.
    pub fn summary(&self) -> Value {
        let (name, image, policy) = (&self.name, self.image(), self.policy.as_str());
        match self.list {
            List::Volumes => {
                json!({"name": name, "image": {"reference": image, "pullPolicy": policy}})
            }
            _ => json!({"name": name, "image": image, "imagePullPolicy": policy}),
        }
    }

    /// The entry of a check that a rule has added.
    pub fn entry(&self) -> Value {
        let mut entry = self.summary();
        if let (Value::Object(members), Some(fields)) = (&mut entry, &self.added) {
            members.extend(Map::clone(fields));
        }
        entry
    }

    /// The pull policy that came in, or else the server default.
    pub fn policy_before(&self) -> PullPolicy {
        let server_default = || PullPolicy::server_default(self.reference.as_ref().ok());
        self.written_policy.unwrap_or_else(server_default)
    }

    /// Whether it is an app container that is not exempt.
    pub fn is_app(&self) -> bool {
        self.list == List::Containers && !self.settings.is_exempt
    }

    /// Whether it takes part in the rules: it is not exempt, and its image can be parsed and is no
    /// image ID that the settings refuse.
    pub fn is_valid(&self) -> bool {
        !self.settings.is_exempt && self.reference.is_ok() && !self.settings.is_ambiguous_id
    }

    /// Whether the rules after *invalid-image* examine it.
    pub fn is_examined(&self) -> bool {
        self.is_new && self.is_valid()
    }

    /// Lets a node use the image that it has: `Always` becomes `IfNotPresent`, except where
    /// `images.requireAlways` matches. Returns whether the pull policy has changed.
    pub fn lower(&mut self) -> bool {
        let is_lowered =
            self.policy == PullPolicy::Always && self.settings.require_always.is_none();
        if is_lowered {
            self.policy = PullPolicy::IfNotPresent;
        }
        is_lowered
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
        let lacks_version = |image: Reference| image.tag.is_none() && image.digest.is_none();
        if self.reference.is_ok_and(lacks_version) {
            [self.written_image, ":latest"].concat().into()
        } else {
            self.written_image.into()
        }
    }

    /// The path of the entry, e.g. `spec.containers[0]`, and of a field in it, e.g. `.volumeMounts`.
    /// `spec` is the path of the Pod spec, and `index` the index in the list.
    pub fn path(&self, spec: &str, index: usize, field: &str) -> String {
        let index = index.to_string();
        [spec, ".", self.list.name(), "[", &index, "]", field].concat()
    }

    /// The path of the image or of the pull policy, by its key.
    pub fn field_path(&self, spec: &str, index: usize, key: &str) -> String {
        let parent = match self.list {
            List::Volumes => ".image.",
            _ => ".",
        };
        self.path(spec, index, &[parent, key].concat())
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
}

/// Reads a pull policy. `""` counts as not set, as in the API server.
fn pull_policy<'o>(source: &'o Value, key: &str) -> Result<Option<PullPolicy>, InvalidField<'o>> {
    let read = |value: &Value| match value.as_str()? {
        "" => Some(None),
        text => text.parse().ok().map(Some),
    };
    let policy = json::typed(source, key, "Always, IfNotPresent or Never", read)?;
    Ok(policy.flatten())
}
