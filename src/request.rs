//! The admission request: its type, its object, and whether this policy examines it.

mod examined_object;
mod payload;
mod reapply;
mod request_type;
mod status;

pub(crate) use self::examined_object::{CHANGES_ANNOTATION, ExaminedObject};
pub(crate) use self::payload::{ExaminedOrMalformedObject, read_payload};
pub(crate) use self::reapply::RestoredField;
pub(crate) use self::request_type::RequestType;
pub(crate) use self::status::{ContainerStatus, PodStatus};
