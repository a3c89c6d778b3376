//! Image references and pull policies, read as the kubelet reads them, and the patterns that name
//! images.

mod pattern;
mod pull_policy;
mod reference;
mod registry_host;

pub use self::pattern::{Names, Pattern};
pub use self::pull_policy::PullPolicy;
pub(crate) use self::reference::is_digest;
pub use self::reference::{Invalid, Reference};
