//! What the settings say about images, in `images` and in `registry`.

use std::cell::LazyCell;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::{Settings, value};
use crate::image::{Pattern, Reference};

/// The pull policies that are required or forbidden for some images.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Images {
    /// Containers of these images pull with `Always`. This is for clusters with several tenants:
    /// each pull proves the Pod's own credentials. It takes precedence over `forbidAlways`.
    #[serde(deserialize_with = "value::strings")]
    pub require_always: Vec<Pattern>,
    /// Containers of these images never pull with `Always`, so they start while a registry is
    /// unreachable. `requireAlways` takes precedence. Don't use this together with the plugin
    /// `AlwaysPullImages`.
    #[serde(deserialize_with = "value::strings")]
    pub forbid_always: Vec<Pattern>,
    /// Images that are never examined and never changed.
    #[serde(deserialize_with = "value::strings")]
    pub exempt: Vec<Pattern>,
}

/// Which images this policy looks up in their registries, and what follows from the answers.
#[derive(Debug, Deserialize, Serialize, SmartDefault, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Registry {
    /// Whether this policy asks the registry for the digest behind a tag, and which tags it pins.
    /// Lookups need a longer evaluation timeout.
    pub lookup: Lookup,
    /// The images that are looked up. They are required for lookups: whoever creates a Pod chooses
    /// the hosts of its images, and policy-server connects to these hosts. So name your
    /// registries. `["*"]` means all images.
    #[serde(deserialize_with = "value::strings")]
    pub images: Vec<Pattern>,
    /// The images that are not looked up, even if `images` matches them.
    #[serde(deserialize_with = "value::strings")]
    pub skip_images: Vec<Pattern>,
    /// What happens if the tag, the digest or the repository does not exist.
    #[default(Action::Reject)]
    pub on_not_found: Action,
    /// What happens if the registry answers 401 or 403, if it refuses in any other words, or if the
    /// host doesn't grant lookups. The credentials of policy-server are not those of the Pod.
    #[default(Action::Allow)]
    pub on_denied: Action,
    /// What happens if nobody answers, or not now: no connection, DNS, TLS, a time-out, 408, 429 or
    /// 5xx. Also for an image whose name can't be asked for, and for an image beyond the 20th lookup
    /// of a request.
    #[default(Action::Allow)]
    pub on_unavailable: Action,
}

/// Whether this policy asks the registry for the digest behind a tag, and which tags it pins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Lookup {
    /// The registry is not asked.
    #[default]
    Off,
    /// The registry is asked, and no digest is written into the Pod.
    Verify,
    /// The digest is written into the places of each image that a place pulls with `Always`. Other
    /// images are not asked for.
    PinAlways,
    /// The digest is written into the Pod.
    Pin,
}

impl Lookup {
    /// Whether digests are written into the Pod.
    pub const fn pins(self) -> bool {
        matches!(self, Self::PinAlways | Self::Pin)
    }
}

/// What happens if a lookup fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Action {
    /// The image is a finding without a repair.
    Reject,
    /// The image and its pull policy don't change. There is a warning.
    Allow,
    /// The tag doesn't change, and `Always` becomes `IfNotPresent`, so a node can use an image that
    /// it has. There is a warning.
    UseCached,
}

/// What the settings say about one image: the first pattern of each list that matches it, and
/// whether it is looked up.
#[derive(Clone, Default)]
pub struct ForImage<'s> {
    /// Whether a pattern of `images.exempt` matches.
    pub is_exempt: bool,
    /// The pattern of `images.requireAlways`.
    pub require_always: Option<&'s Pattern>,
    /// The pattern of `images.forbidAlways`.
    pub forbid_always: Option<&'s Pattern>,
    /// Whether the image is looked up, if any is.
    pub is_looked_up: bool,
    /// Whether it is an image ID, which may be an image that `images.requireAlways` means.
    pub is_ambiguous_id: bool,
}

impl Settings {
    /// What the settings say about an image.
    pub(crate) fn for_image<'s>(&'s self, image: &Reference) -> ForImage<'s> {
        let (images, registry) = (&self.images, &self.registry);
        // Most installations name no images, and then the names of the image are not made.
        let names = LazyCell::new(|| image.names());
        let first = |patterns: &'s [Pattern]| {
            let mut patterns = patterns.iter();
            patterns.find(|pattern| pattern.matches(&names))
        };
        ForImage {
            is_exempt: first(&images.exempt).is_some(),
            require_always: first(&images.require_always),
            forbid_always: first(&images.forbid_always),
            is_ambiguous_id: image.is_image_id() && !images.require_always.is_empty(),
            // No registry has an image ID.
            is_looked_up: !image.is_image_id()
                && first(&registry.images).is_some()
                && first(&registry.skip_images).is_none(),
        }
    }
}
