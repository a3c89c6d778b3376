//! Compares the platforms of an image with the platforms that its Pod asks for.

use oci_spec::image::Platform;

use crate::pod::RequestedPlatforms;

/// Returns the platforms in the image's index, and the first requested platform that is not among
/// them. None if the index has all requested platforms, or names no platform.
pub(super) fn find(
    requested: &RequestedPlatforms,
    index: &[Platform],
) -> Option<(Vec<String>, String)> {
    // An index may also list attestations, with the platform `unknown/unknown`. An attestation
    // describes how an image was built.
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
    Some((has, missing.to_string()))
}
