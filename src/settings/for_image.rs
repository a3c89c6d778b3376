//! What the settings say about one image.

use std::cell::LazyCell;

use super::images::Images;
use super::registry::{Lookup, Registry};
use crate::image::{Names, Pattern, Reference};

/// What the settings say about one image: the first pattern of each list that matches it, and
/// whether it is looked up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ForImage<'s> {
    /// Whether a pattern of `images.exempt` matches.
    pub(crate) is_exempt: bool,
    /// The pattern of `images.requireAlways`.
    pub(crate) require_always: Option<&'s Pattern>,
    /// The pattern of `images.forbidAlways`.
    pub(crate) forbid_always: Option<&'s Pattern>,
    /// Whether the image is looked up.
    pub(crate) is_looked_up: bool,
    /// Whether it is an image ID, which may be an image that `images.requireAlways` means.
    pub(crate) is_refused: bool,
}

impl<'s> ForImage<'s> {
    pub(super) fn new(images: &'s Images, registry: &Registry, image: &Reference<'_>) -> Self {
        let names = LazyCell::new(|| Names::of(image));
        Self {
            is_exempt: first(&images.exempt, &names).is_some(),
            require_always: first(&images.require_always, &names),
            forbid_always: first(&images.forbid_always, &names),
            is_refused: image.is_image_id() && !images.require_always.is_empty(),
            // No registry has an image ID.
            is_looked_up: registry.lookup != Lookup::Off
                && !image.is_image_id()
                && first(&registry.images, &names).is_some()
                && first(&registry.skip_images, &names).is_none(),
        }
    }
}

/// The first pattern that matches an image. Most installations name no images, and then the names
/// of the image are not made.
fn first<'p>(
    patterns: &'p [Pattern],
    names: &LazyCell<Names, impl FnOnce() -> Names>,
) -> Option<&'p Pattern> {
    patterns.iter().find(|pattern| pattern.matches(names))
}
