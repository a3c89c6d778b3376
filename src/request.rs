//! The admission request: its type, its object, and whether this policy examines it.

mod examined_object;
mod metadata;
mod payload;
mod reapply;
mod request_type;
mod status;

pub use self::examined_object::ExaminedObject;
pub use self::metadata::{CHANGES_ANNOTATION, Metadata};
pub use self::payload::{RequestHandling, ValidatePayload};
pub use self::reapply::{RestoredField, RestoredValue};
pub use self::request_type::{ObjectKind, RequestType};
pub use self::status::{ContainerState, ContainerStatus, PodStatus};
