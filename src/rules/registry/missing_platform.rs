//! Compares the platforms of an image with those that its Pod asks for.

use oci_spec::image::Platform;

use crate::pod::requested_platforms::RequestedPlatforms;
use crate::sentence::{UntrustedText, UntrustedTexts};

/// The platforms in an index, and the first requested platform that is not among them.
pub(super) fn find(
    requested: &RequestedPlatforms,
    index: &[Platform],
) -> Option<(UntrustedTexts, String)> {
    // An index also lists attestations, which are not platforms.
    let is_attestation = |platform: &&Platform| {
        platform.os().to_string() == "unknown" && platform.architecture().to_string() == "unknown"
    };
    let has: Vec<&Platform> = index.iter().filter(|p| !is_attestation(p)).collect();
    // If an index names no platform, nothing can be compared.
    if has.is_empty() {
        return None;
    }
    let missing = requested
        .platforms
        .iter()
        .find(|wanted| !has.iter().any(|platform| wanted.is_met_by(platform)))?;
    let mut has: Vec<String> = has
        .iter()
        .map(|platform| match platform.variant() {
            Some(variant) => {
                format!("{}/{}/{variant}", platform.os(), platform.architecture())
            }
            None => format!("{}/{}", platform.os(), platform.architecture()),
        })
        .collect();
    has.dedup();
    let has = has.iter().map(|platform| UntrustedText(platform)).collect();
    Some((has, missing.to_string()))
}
