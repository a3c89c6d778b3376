//! The settings of lookups, in `registry`: for all images, and for the images of an override.

#[cfg(not(target_arch = "wasm32"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read;
use crate::image::Reference;
use crate::lookup::FailureClass;
use crate::pattern::{ImageNamesForPatterns, ImagePattern};

/// Which images this policy looks up in their registries, and what follows from the answers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RegistryLookupSettings {
    /// Whether this policy asks the registry for the digest behind each tag. With lookups, this
    /// policy needs a longer evaluation timeout.
    pub lookup: VerifyOrPin,
    /// The images that are looked up. This is required with `lookup` other than `Off` and with
    /// `platform`: whoever creates a Pod chooses the hosts of its images, and policy-server connects
    /// to these hosts. So name the registries. `["*"]` stands for all images.
    pub images: Vec<ImagePattern>,
    /// The images that are not looked up, even if `images` matches them.
    pub skip_images: Vec<ImagePattern>,
    /// The action if the tag or the repository does not exist.
    pub on_not_found: LookupFailureAction,
    /// The action if the registry answers 401 or 403. The credentials of policy-server are not
    /// those of the Pod.
    pub on_denied: LookupFailureAction,
    /// The action if the registry answers 429.
    pub on_rate_limited: LookupFailureAction,
    /// The action if there is no connection, no DNS, a TLS error, a time-out, or an error of the
    /// registry itself (5xx).
    pub on_unreachable: LookupFailureAction,
    /// The action for any other answer.
    pub on_unknown: LookupFailureAction,
    /// The largest number of lookups in one request. Images beyond this number count as
    /// unreachable, with a warning that the limit is reached.
    #[serde(deserialize_with = "read::max_lookups")]
    #[cfg_attr(not(target_arch = "wasm32"), schemars(range(min = 1, max = 100)))]
    pub max_lookups: usize,
    /// Other settings for some images. The first entry whose `images` match the image decides. If
    /// this entry leaves out a key, the value in `registry` applies.
    pub overrides: Vec<ImageLookupOverride>,
    /// The reaction to an image that does not exist for the architecture and the operating system
    /// that the Pod asks for.
    pub platform: MissingPlatformAction,
}

impl Default for RegistryLookupSettings {
    fn default() -> Self {
        Self {
            lookup: VerifyOrPin::default(),
            images: Vec::new(),
            skip_images: Vec::new(),
            on_not_found: LookupFailureAction::Reject,
            on_denied: LookupFailureAction::KeepTag,
            on_rate_limited: LookupFailureAction::KeepTag,
            on_unreachable: LookupFailureAction::KeepTag,
            on_unknown: LookupFailureAction::KeepTag,
            max_lookups: 10,
            overrides: Vec::new(),
            platform: MissingPlatformAction::default(),
        }
    }
}

/// Whether this policy asks the registry for the digest behind a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum VerifyOrPin {
    /// The registry is not asked.
    #[default]
    Off,
    /// The registry is asked, and no digest is written into the Pod.
    Verify,
    /// The registry is asked, and the digest is written into the Pod.
    Pin,
}

/// The action if a lookup fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum LookupFailureAction {
    /// The image is a finding that can't be repaired.
    Reject,
    /// The image and its pull policy don't change.
    KeepTag,
    /// The tag doesn't change. `Always` becomes `IfNotPresent` in containers and checks with this
    /// tag, so that a node can use an image that it has cached.
    UseCached,
}

/// Settings for the lookups of some images. If a key is not set, the value in `registry` applies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageLookupOverride {
    /// The images that this entry is for.
    #[cfg_attr(not(target_arch = "wasm32"), schemars(length(min = 1)))]
    pub images: Vec<ImagePattern>,
    /// Whether this policy asks the registry for the digests of these images.
    pub lookup: Option<VerifyOrPin>,
    /// The action if the tag or the repository does not exist.
    pub on_not_found: Option<LookupFailureAction>,
    /// The action if the registry answers 401 or 403.
    pub on_denied: Option<LookupFailureAction>,
    /// The action if the registry answers 429.
    pub on_rate_limited: Option<LookupFailureAction>,
    /// The action if there is no connection, no DNS, a TLS error, a time-out, or an error of the
    /// registry itself (5xx).
    pub on_unreachable: Option<LookupFailureAction>,
    /// The action for any other answer.
    pub on_unknown: Option<LookupFailureAction>,
}

/// The reaction to an image that does not exist for a platform that the Pod asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum MissingPlatformAction {
    /// The platforms of an image are not compared.
    #[default]
    Off,
    /// The image is a warning, in every mode.
    Warn,
    /// The image is a finding that can't be repaired.
    Reject,
}

/// The settings of `registry` for one image, with the override for this image.
#[derive(Clone, Copy, Debug)]
pub struct LookupSettingsForImage<'s> {
    /// Whether the registry is asked. The mode is `Off` for an image that `registry.images` does
    /// not match, or that `registry.skipImages` matches, and for an image ID, which no registry has.
    pub mode: VerifyOrPin,
    registry: &'s RegistryLookupSettings,
    own: Option<&'s ImageLookupOverride>,
}

impl LookupSettingsForImage<'_> {
    /// The action after a failed lookup of this class. `NotGranted` has the action of `Unknown`, and `LimitReached`
    /// that of `Unreachable`.
    pub fn action(&self, class: FailureClass) -> LookupFailureAction {
        let (all, own) = (self.registry, self.own);
        let (all, own) = match class {
            FailureClass::NotFound => (all.on_not_found, own.map(|own| own.on_not_found)),
            FailureClass::Denied => (all.on_denied, own.map(|own| own.on_denied)),
            FailureClass::RateLimited => (all.on_rate_limited, own.map(|own| own.on_rate_limited)),
            FailureClass::Unreachable | FailureClass::LimitReached => {
                (all.on_unreachable, own.map(|own| own.on_unreachable))
            }
            FailureClass::Unknown | FailureClass::NotGranted => {
                (all.on_unknown, own.map(|own| own.on_unknown))
            }
        };
        own.flatten().unwrap_or(all)
    }
}

impl RegistryLookupSettings {
    /// Whether any image may be looked up.
    pub fn looks_up(&self) -> bool {
        let asks = |lookup| lookup != VerifyOrPin::Off;
        asks(self.lookup) || self.overrides.iter().any(|o| o.lookup.is_some_and(asks))
    }

    /// Whether the settings select an image for lookups.
    pub fn selects(&self, reference: &Reference<'_>) -> bool {
        self.for_image(reference).mode != VerifyOrPin::Off
    }

    /// The settings for the lookup of one image.
    pub fn for_image(&self, reference: &Reference<'_>) -> LookupSettingsForImage<'_> {
        let off = LookupSettingsForImage {
            mode: VerifyOrPin::Off,
            registry: self,
            own: None,
        };
        if !self.looks_up() || reference.is_image_id() {
            return off;
        }
        let name = ImageNamesForPatterns::of(reference);
        let names = |patterns: &[ImagePattern]| patterns.iter().any(|p| p.matches(&name));
        if !names(&self.images) || names(&self.skip_images) {
            return off;
        }
        let own = self.overrides.iter().find(|o| names(&o.images));
        let mode = own.and_then(|own| own.lookup).unwrap_or(self.lookup);
        LookupSettingsForImage { mode, own, ..off }
    }
}
