//! Reads the settings, and finds reasons why an installation with these settings is refused.

use serde_json::Value;

use crate::image::Reference;
use crate::json::{as_container, elements};
use crate::pattern::{fault, glob, names_image};

/// The settings of one installation of this policy, as JSON.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a>(pub &'a Value);

const NAME_PREFIXES: [&str; 2] = ["imagecheck-", "imagepullcheck-"];

impl<'a> Settings<'a> {
    /// Returns the value of a key with dots, for example `registry.lookup`. `null`, `{}` and `[]`
    /// count as not set.
    #[must_use]
    pub fn get(self, key: &str) -> Option<&'a Value> {
        key.split('.')
            .try_fold(self.0, |value, part| value.get(part))
            .filter(|value| is_set(value))
    }

    fn choice(self, key: &str, default: &'a str) -> &'a str {
        match self.get(key) {
            // YAML 1.1 reads `off` without quotes as `false`.
            Some(Value::Bool(false)) => "Off",
            Some(value) => value.as_str().unwrap_or(default),
            None => default,
        }
    }

    /// Returns the value of a boolean setting.
    #[must_use]
    pub fn flag(self, key: &str, default: bool) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or(default)
    }

    /// Returns a list of strings, without empty strings. The list is empty if the setting is not set.
    #[must_use]
    pub fn list(self, key: &str) -> Vec<&'a str> {
        let list = self.get(key).and_then(Value::as_array);
        let texts = list.into_iter().flatten().filter_map(Value::as_str);
        texts.filter(|text| !text.is_empty()).collect()
    }

    /// The setting `mode`: `Fix`, `Reject` or `Warn`.
    #[must_use]
    pub fn mode(self) -> &'a str {
        self.choice("mode", "Fix")
    }

    /// The setting `templates`: `Off`, `Warn` or `Enforce`.
    #[must_use]
    pub fn templates(self) -> &'a str {
        self.choice("templates", "Warn")
    }

    /// The prefixes of the names of image checks.
    #[must_use]
    pub fn name_prefixes(self) -> Vec<&'a str> {
        match self.list("imageChecks.namePrefixes") {
            list if list.is_empty() => NAME_PREFIXES.to_vec(),
            list => list,
        }
    }

    /// The setting `imageChecks.coverage`: `Off`, `Warn`, `Reject` or `Fix`.
    #[must_use]
    pub fn coverage(self) -> &'a str {
        self.choice("imageChecks.coverage", "Warn")
    }

    /// Whether *missing-check* also examines Pods without any image check.
    #[must_use]
    pub fn every_pod(self) -> bool {
        self.flag("imageChecks.everyPod", false)
    }

    /// Whether `imageChecks.as` is `ImageVolume`.
    #[must_use]
    pub fn as_image_volume(self) -> bool {
        self.choice("imageChecks.as", "InitContainer") == "ImageVolume"
    }

    /// The container that an added init container is made from, if no check of the Pod can be copied.
    #[must_use]
    pub fn template(self) -> Option<&'a Value> {
        self.get("imageChecks.template")
    }

    /// Whether a pattern of `imageChecks.after` matches an init container. Then added checks run after
    /// this container.
    #[must_use]
    pub fn is_before_checks(self, container: &str) -> bool {
        self.list("imageChecks.after")
            .iter()
            .any(|pattern| glob(pattern, container))
    }

    /// Whether *pull-once* is switched on.
    #[must_use]
    pub fn pull_once(self) -> bool {
        self.flag("pullOnce", true)
    }

    /// The setting `defaults.imagePullPolicy`: `Always`, `IfNotPresent` or `AlwaysUnlessDigest`.
    #[must_use]
    pub fn default_policy(self) -> Option<&'a str> {
        self.get("defaults.imagePullPolicy").and_then(Value::as_str)
    }

    /// Whether the image matches a pattern in the list that this key sets.
    #[must_use]
    pub fn names(self, key: &str, image: &Reference) -> bool {
        self.list(key)
            .iter()
            .any(|pattern| names_image(pattern, image))
    }

    /// Whether the image matches a pattern of `images.requireAlways`.
    #[must_use]
    pub fn requires_always(self, image: &Reference) -> bool {
        self.names("images.requireAlways", image)
    }

    /// Whether the image matches a pattern of `images.forbidAlways`.
    #[must_use]
    pub fn forbids_always(self, image: &Reference) -> bool {
        self.names("images.forbidAlways", image)
    }

    /// Whether the image matches a pattern of `images.forbidNever`.
    #[must_use]
    pub fn forbids_never(self, image: &Reference) -> bool {
        self.names("images.forbidNever", image)
    }

    /// Whether `requireAlways` and `forbidAlways` both match the image.
    #[must_use]
    pub fn contradict_each_other(self, image: &Reference) -> bool {
        self.requires_always(image) && self.forbids_always(image)
    }

    /// Whether a container or image volume is exempt. The rules have no finding about the image or the
    /// pull policy of an exempt place. In an exempt container, the rules change no field except the
    /// mounts.
    #[must_use]
    pub fn is_exempt(self, container: &str, image: Option<&Reference>) -> bool {
        self.list("exempt.containers")
            .iter()
            .any(|pattern| glob(pattern, container))
            || image.is_some_and(|image| self.names("exempt.images", image))
    }

    /// Returns the effective value of a key of `registry` for an image. At most one entry of
    /// `registry.overrides` counts: the first entry whose `images` match the image. If no entry counts,
    /// or if this entry doesn't set the key, the value comes from `registry`.
    #[must_use]
    pub fn registry(self, image: &Reference, key: &str, default: &'a str) -> &'a str {
        self.overrides()
            .find(|over| over.names("images", image))
            .filter(|over| over.get(key).is_some())
            .map_or_else(
                || self.choice(&format!("registry.{key}"), default),
                |over| over.choice(key, default),
            )
    }

    /// Returns the effective `lookup` for an image. It is `Off` if the image doesn't match
    /// `registry.images`, or if the image matches `registry.skipImages`. It is also `Off` for an image ID.
    #[must_use]
    pub fn lookup(self, image: &Reference) -> &'a str {
        let is_selected = !image.is_image_id
            && self.names("registry.images", image)
            && !self.names("registry.skipImages", image);
        if is_selected {
            self.registry(image, "lookup", "Off")
        } else {
            "Off"
        }
    }

    /// Whether the settings select an image for a lookup. **Decided**: a digest that is not looked up
    /// under `Pin` counts as selected too, because only the patterns and `lookup` decide.
    #[must_use]
    pub fn selects_for_lookup(self, image: &Reference) -> bool {
        self.lookup(image) != "Off"
    }

    /// Whether this installation is the copy: the second, validating installation of this policy.
    #[must_use]
    pub fn is_copy(self) -> bool {
        self.flag("validatingCopy", false)
    }

    /// The largest number of lookups in one request.
    #[must_use]
    pub fn max_lookups(self) -> u64 {
        self.get("registry.maxLookups")
            .and_then(Value::as_u64)
            .unwrap_or(10)
    }

    /// The setting `registry.platform`: `Off`, `Warn` or `Reject`.
    #[must_use]
    pub fn platform(self) -> &'a str {
        self.choice("registry.platform", "Off")
    }

    /// Whether a repaired object gets the record.
    #[must_use]
    pub fn record_changes(self) -> bool {
        self.flag("recordChanges", true)
    }

    fn overrides(self) -> impl Iterator<Item = Self> {
        elements(&self.0["registry"], "overrides").iter().map(Self)
    }

    /// Returns the reasons why the settings are refused although each value has the type that its key
    /// allows. This specification knows only some of the reasons.
    #[must_use]
    pub fn contradictions(self) -> Vec<&'static str> {
        let looks_up = self.choice("registry.lookup", "Off") != "Off"
            || self
                .overrides()
                .any(|over| over.choice("lookup", "Off") != "Off");
        let needs_template =
            self.coverage() == "Fix" && self.every_pod() && !self.as_image_volume();
        let reasons = [
            (
                self.is_copy() && self.mode() == "Fix",
                "validatingCopy only with Reject or Warn",
            ),
            (
                !(1..=100).contains(&self.max_lookups()),
                "maxLookups: 1 to 100",
            ),
            (
                self.default_policy() == Some("Never"),
                "no default `Never`: nothing would pull the image",
            ),
            (
                self.template()
                    .is_some_and(|one| as_container(one).is_none()),
                "a field of the template is unknown to Kubernetes",
            ),
            (
                needs_template && self.template().is_none(),
                "coverage: Fix with everyPod needs a template, unless checks are image volumes",
            ),
            (
                (looks_up || self.platform() != "Off") && self.list("registry.images").is_empty(),
                "registry.images is required where images are looked up",
            ),
            (
                self.platform() != "Off" && !looks_up,
                "platform is an error where nothing can be looked up",
            ),
            (
                self.overrides().any(|over| over.list("images").is_empty()),
                "an override's images are required",
            ),
        ];
        let reasons = reasons.into_iter().filter(|(is_refused, _)| *is_refused);
        let lists = [
            "images.requireAlways",
            "images.forbidAlways",
            "images.forbidNever",
            "registry.images",
            "registry.skipImages",
            "exempt.images",
        ];
        let lists = lists.into_iter().map(|key| self.list(key));
        let of_overrides = self.overrides().map(|over| over.list("images"));
        let patterns = lists.chain(of_overrides).flatten();
        reasons
            .map(|(_, why)| why)
            .chain(patterns.filter_map(fault))
            .collect()
    }
}

fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    }
}
