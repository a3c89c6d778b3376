//! The platforms that an image has, against those that its Pod asks for.

use oci_spec::image::Platform;

use crate::pod::platform::AskedPlatforms;

/// The first platform asked for that an index doesn't have, and those that it has.
pub(super) fn missing_in(asked: &AskedPlatforms, index: &[Platform]) -> Option<(String, String)> {
    // Attestations stand in an index, too.
    let is_attestation = |platform: &&Platform| {
        platform.os().to_string() == "unknown" && platform.architecture().to_string() == "unknown"
    };
    let has: Vec<&Platform> = index.iter().filter(|p| !is_attestation(p)).collect();
    // An index may name none.
    if has.is_empty() {
        return None;
    }
    let missing = asked
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
    Some((has.join(", "), missing.to_string()))
}
