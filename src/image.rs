//! Image references and pull policies, read as the kubelet reads them, and the patterns that name images.

mod host;
mod pattern;
mod pull_policy;
mod reference;

pub use self::pattern::{Names, Pattern};
pub use self::pull_policy::PullPolicy;
pub(crate) use self::reference::is_digest;
pub use self::reference::{Invalid, Reference};
