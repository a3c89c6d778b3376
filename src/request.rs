//! The admission request: its type, its object, and whether this policy examines it.

mod object;
mod payload;
mod reapply;
mod request_type;
mod review;
mod status;

pub use self::object::{CHANGES_ANNOTATION, Metadata};
pub use self::payload::{RequestScope, ValidatePayload};
pub use self::reapply::{RestoredField, RestoredValue};
pub use self::request_type::{ObjectKind, RequestType};
pub use self::review::Review;
pub use self::status::{ContainerState, ContainerStatus, PodStatus};
