//! The platforms of an image, compared with those that the Pod asks for.

use oci_spec::image::Platform;

use super::Image;
use crate::examination::{Place, Reason};
use crate::lookup::{Class, Failure, Session};
use crate::pod::Platforms;
use crate::shown::shown;

/// The largest number of an image's platforms in a sentence.
const SHOWN_MAX: usize = 10;

/// A platform that the Pod asks for and that the image doesn't have.
#[derive(Debug)]
pub(super) struct MissingPlatform {
    /// The platform.
    wanted: String,
    /// The platforms of the image's index. None if the index has the platform, and the registry lost its manifest.
    has: Option<Vec<String>>,
    /// The paths of the fields that ask for platforms, in words.
    fields: String,
}

/// The first wanted platform that an image doesn't have: its index needs an entry for it, and the registry the manifest that
/// the entry names, because registries lose the one and keep the other (camunda-platform-helm#6921). None if the image has no
/// index, or one that names no platform, and if the Pod asks for no platform.
///
/// # Errors
/// A lookup failed, or it was not made.
pub(super) fn missing(
    session: &mut Session<'_>,
    image: &Image,
    digest: &str,
    platforms: &Platforms<'_>,
) -> Result<Option<MissingPlatform>, Failure> {
    if platforms.wanted.is_empty() {
        return Ok(None);
    }
    let name = |digest: &str| [&image.repository, "@", digest].concat();
    let Some(index) = session.index(image.question(&name(digest)))? else {
        return Ok(None);
    };
    let entries = index
        .manifests()
        .iter()
        .filter_map(|entry| Some((entry, entry.platform().as_ref()?)));
    let entries: Vec<_> = entries
        .filter(|(_, platform)| !is_attestation(platform))
        .collect();
    if entries.is_empty() {
        return Ok(None);
    }
    for wanted in &platforms.wanted {
        let fitting: Vec<_> = entries
            .iter()
            .filter(|(_, platform)| wanted.is(platform))
            .collect();
        let mut exists = false;
        for (entry, _) in &fitting {
            exists = exists || has_manifest(session, image, &name(entry.digest().as_ref()))?;
        }
        if !exists {
            let has = fitting.is_empty().then(|| {
                entries
                    .iter()
                    .map(|(_, platform)| name_of(platform))
                    .collect()
            });
            return Ok(Some(MissingPlatform {
                wanted: wanted.to_string(),
                has,
                fields: platforms.fields.join(" or "),
            }));
        }
    }
    Ok(None)
}

/// Whether an index entry describes how an image was built.
fn is_attestation(platform: &Platform) -> bool {
    platform.os().to_string() == "unknown" && platform.architecture().to_string() == "unknown"
}

/// Whether a registry has the manifest of a platform.
fn has_manifest(session: &mut Session<'_>, image: &Image, name: &str) -> Result<bool, Failure> {
    match session.digest(image.question(name)) {
        Ok(_) => Ok(true),
        Err(failure) if failure.class == Class::NotFound => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// `linux/arm64/v8`
fn name_of(platform: &Platform) -> String {
    let (os, architecture) = (platform.os(), platform.architecture());
    match platform.variant() {
        Some(variant) => format!("{os}/{architecture}/{variant}"),
        None => format!("{os}/{architecture}"),
    }
}

impl Reason for MissingPlatform {
    fn problem(&self, place: &Place<'_>) -> String {
        let (name, image, wanted) = (place.shown_name(), place.shown_image(), shown(&self.wanted));
        match &self.has {
            Some(has) => {
                let has: Vec<_> = has
                    .iter()
                    .take(SHOWN_MAX)
                    .map(|platform| shown(platform))
                    .collect();
                format!(
                    "{name}'s image {image} has {} only, but the Pod asks for {wanted}",
                    has.join(", ")
                )
            }
            None => format!(
                "{name}'s image {image} names a manifest for {wanted} that its registry doesn't have"
            ),
        }
    }

    fn help(&self, _: &Place<'_>) -> String {
        let wanted = shown(&self.wanted);
        match self.has {
            Some(_) => format!("build it for {wanted}, or change {}", self.fields),
            None => format!("push the image for {wanted} again"),
        }
    }
}
