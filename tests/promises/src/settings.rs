//! Valid settings, as the promises read them.

use serde_json::Value;

use crate::image::Reference;
use crate::json::text;
use crate::pattern::names_image;

/// The settings of a case. They have to be valid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings<'s>(pub(crate) &'s Value);

impl<'s> Settings<'s> {
    /// The value at a path. `None` if it is not set.
    pub(crate) fn get(self, path: &str) -> Option<&'s Value> {
        let value = path.split('.').try_fold(self.0, |at, key| at.get(key))?;
        let is_empty = match value {
            Value::Null => true,
            Value::Array(list) => list.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        (!is_empty).then_some(value)
    }

    /// The value of an enum, or its default. A bare `Off` in YAML is `false`.
    fn choice(self, path: &str, default: &'s str) -> &'s str {
        match self.get(path) {
            Some(Value::Bool(false)) => "Off",
            value => value.and_then(Value::as_str).unwrap_or(default),
        }
    }

    pub(crate) fn mode(self) -> &'s str {
        self.choice("mode", "Fix")
    }

    pub(crate) fn on_missing(self) -> &'s str {
        self.choice("imageChecks.onMissing", "Warn")
    }

    pub(crate) fn pods_without_checks(self) -> bool {
        self.get("imageChecks.podsWithoutChecks") == Some(&Value::Bool(true))
    }

    pub(crate) fn as_volumes(self) -> bool {
        self.choice("imageChecks.type", "InitContainer") == "ImageVolume"
    }

    pub(crate) fn lookup(self) -> &'s str {
        self.choice("registry.lookup", "Off")
    }

    /// The texts of a list. An empty text counts as absent.
    pub(crate) fn list(self, path: &str) -> Vec<&'s str> {
        let list = self.get(path).and_then(Value::as_array);
        let texts = list.into_iter().flatten().map(text);
        texts.filter(|text| !text.is_empty()).collect()
    }

    pub(crate) fn name_prefixes(self) -> Vec<&'s str> {
        match self.list("imageChecks.namePrefixes") {
            prefixes if prefixes.is_empty() => vec!["imagecheck-", "imagepullcheck-"],
            prefixes => prefixes,
        }
    }

    /// Whether a list of image patterns matches an image. No pattern matches an invalid image.
    pub(crate) fn matches(self, path: &str, image: &str) -> bool {
        let image = Reference::parse(image);
        let mut patterns = self.list(path).into_iter();
        image.is_some_and(|image| patterns.any(|pattern| names_image(pattern, &image)))
    }
}
