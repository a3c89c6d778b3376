//! *registry*: asks registries for the digests behind tags, and pins the tags if the settings say
//! so.

mod failed;
mod images;
mod pin;

use self::failed::use_failure;
use self::images::images;
pub use self::pin::restore;
use self::pin::{lower_policies, pin};
use crate::lookup::{Client, Session};
use crate::pod::{Entry, Pod};
use crate::settings::Lookup;

/// Looks up the images that the settings select, and does what the settings demand. Returns the
/// failed lookups, sorted by image.
pub fn look_up<'o>(pod: &mut Pod<'o>, client: &mut Client) -> Vec<Entry<'o>> {
    let lookup = pod.settings.registry.lookup;
    if lookup == Lookup::Off {
        return Vec::new();
    }
    if lookup.pins() && pod.request.operation.is_before_start() {
        lower_policies(pod);
    }
    let mut failed = Vec::new();
    let mut session = Session::new(client);
    for image in images(pod) {
        match session.digest(image.reference) {
            Ok(digest) if lookup.pins() && image.is_of_pods => {
                pin(pod, &image.pulls, &digest);
            }
            Ok(_) => {}
            Err(failure) => {
                let name = image.reference.lookup_name();
                failed.push((name, use_failure(pod, &image, failure)));
            }
        }
    }
    failed.sort_by(|one, other| one.0.cmp(&other.0));
    failed.into_iter().map(|(_, entry)| entry).collect()
}
