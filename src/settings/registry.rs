//! The settings of lookups, in `registry`: for all images, and for the images of an override.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value;
use crate::image::{Names, Pattern};

/// Which images this policy looks up in their registries, and what follows from the answers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Registry {
    /// Whether this policy asks the registry for the digest behind each tag. Lookups need a longer evaluation timeout.
    pub lookup: Lookup,
    /// The images that are looked up. They are required for lookups: whoever creates a Pod chooses the hosts of its
    /// images, and policy-server connects to these hosts. So name your registries. `["*"]` stands for all images.
    #[serde(deserialize_with = "value::list")]
    pub images: Vec<Pattern>,
    /// The images that are not looked up, even if `images` matches them.
    #[serde(deserialize_with = "value::list")]
    pub skip_images: Vec<Pattern>,
    /// What happens if the tag or the repository does not exist.
    pub on_not_found: Action,
    /// What happens if the registry answers 401 or 403. The credentials of policy-server are not those of the Pod.
    pub on_denied: Action,
    /// What happens if the registry answers 429.
    pub on_rate_limited: Action,
    /// What happens if there is no connection, no DNS, a TLS error, a time-out, or an error of the registry itself (5xx).
    pub on_unreachable: Action,
    /// What happens after any other answer, if the host refuses the lookup, and with an image beyond the 20th lookup of a
    /// request.
    pub on_unknown: Action,
    /// Other settings for some images. The first entry whose `images` match the image decides. If this entry leaves out a
    /// key, the value in `registry` applies.
    pub overrides: Vec<Override>,
    /// Whether the platforms of an image are compared with the architecture and the operating system that the Pod asks
    /// for.
    pub platform: Platform,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            lookup: Lookup::Off,
            images: Vec::new(),
            skip_images: Vec::new(),
            on_not_found: Action::Reject,
            on_denied: Action::KeepTag,
            on_rate_limited: Action::KeepTag,
            on_unreachable: Action::KeepTag,
            on_unknown: Action::KeepTag,
            overrides: Vec::new(),
            platform: Platform::Off,
        }
    }
}

/// Whether this policy asks the registry for the digest behind a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Lookup {
    /// The registry is not asked.
    #[default]
    Off,
    /// The registry is asked, and no digest is written into the Pod.
    Verify,
    /// The registry is asked, and the digest is written into the Pod.
    Pin,
}

/// What happens if a lookup fails.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
pub enum Action {
    /// The image is a finding without a repair.
    Reject,
    /// The image and its pull policy don't change. There is a warning.
    KeepTag,
    /// The tag doesn't change, and `Always` becomes `IfNotPresent`, so a node can use an image that it has. There is a
    /// warning.
    UseCached,
}

/// Settings for the lookups of some images. If a key is not set, the value in `registry` applies.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Override {
    /// The images that this entry is for. They are required.
    #[serde(deserialize_with = "value::list")]
    #[schemars(length(min = 1))]
    pub images: Vec<Pattern>,
    /// Whether this policy asks the registry for the digests of these images.
    pub lookup: Option<Lookup>,
    /// What happens if the tag or the repository does not exist.
    pub on_not_found: Option<Action>,
    /// What happens if the registry answers 401 or 403.
    pub on_denied: Option<Action>,
    /// What happens if the registry answers 429.
    pub on_rate_limited: Option<Action>,
    /// What happens if there is no connection, no DNS, a TLS error, a time-out, or an error of the registry itself (5xx).
    pub on_unreachable: Option<Action>,
    /// What happens after any other answer, or if there is none for another reason.
    pub on_unknown: Option<Action>,
}

/// Whether the platforms of an image are compared with those that the Pod asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Platform {
    /// They are not compared.
    #[default]
    Off,
    /// An image without such a platform is a warning, in every mode.
    Warn,
    /// An image without such a platform is a finding without a repair.
    Reject,
}

/// How one image is looked up, and what happens after each kind of failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageLookup<'s> {
    /// Whether the digest is written into the Pod.
    pub(crate) pins: bool,
    /// The settings for all images.
    pub(crate) registry: &'s Registry,
    /// The settings for this image. They come first.
    pub(crate) own: Option<&'s Override>,
}

impl Registry {
    /// Whether any image may be looked up.
    pub(crate) fn looks_up(&self) -> bool {
        let lookups = self.overrides.iter().filter_map(|entry| entry.lookup);
        lookups
            .chain([self.lookup])
            .any(|lookup| lookup != Lookup::Off)
    }

    /// How an image is looked up. None if it is not.
    pub(super) fn for_image(&self, names: &Names) -> Option<ImageLookup<'_>> {
        names.first_match(&self.images)?;
        if names.first_match(&self.skip_images).is_some() {
            return None;
        }
        let own = self
            .overrides
            .iter()
            .find(|entry| names.first_match(&entry.images).is_some());
        let lookup = own.and_then(|own| own.lookup).unwrap_or(self.lookup);
        (lookup != Lookup::Off).then_some(ImageLookup {
            pins: lookup == Lookup::Pin,
            registry: self,
            own,
        })
    }
}
