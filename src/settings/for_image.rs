//! What the settings say about one image.

use super::Settings;
use crate::image::{Names, Pattern, Reference};

/// What the settings say about one image: the first pattern of each list that matches it, and
/// whether it is looked up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ForImage<'s> {
    /// The pattern of `exempt.images`.
    pub(crate) exempt: Option<&'s Pattern>,
    /// The pattern of `images.requireAlways`.
    pub(crate) require_always: Option<&'s Pattern>,
    /// The pattern of `images.preferAlways`.
    pub(crate) prefer_always: Option<&'s Pattern>,
    /// The pattern of `images.forbidAlways`.
    pub(crate) forbid_always: Option<&'s Pattern>,
    /// The pattern of `images.forbidNever`.
    pub(crate) forbid_never: Option<&'s Pattern>,
    /// Whether the image is looked up.
    pub(crate) is_looked_up: bool,
}

impl Settings {
    /// What the settings say about an image.
    pub(crate) fn for_image(&self, image: &Reference<'_>) -> ForImage<'_> {
        if !self.has_image_patterns() {
            return ForImage::default();
        }
        let names = Names::of(image);
        let first = |patterns| names.first_match(patterns);
        let images = &self.images;
        ForImage {
            exempt: first(&self.exempt.images),
            require_always: first(&images.require_always),
            prefer_always: first(&images.prefer_always),
            forbid_always: first(&images.forbid_always),
            forbid_never: first(&images.forbid_never),
            // No registry has an image ID.
            is_looked_up: !image.is_image_id() && self.registry.looks_up(&names),
        }
    }

    /// Whether any setting names images. Most installations have none, and then no name is
    /// normalised.
    fn has_image_patterns(&self) -> bool {
        let images = &self.images;
        let lists = [
            &self.exempt.images,
            &images.require_always,
            &images.prefer_always,
            &images.forbid_always,
            &images.forbid_never,
            &self.registry.images,
        ];
        lists.into_iter().any(|patterns| !patterns.is_empty())
    }
}
