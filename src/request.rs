//! The admission request: what happens to which object, and whether this policy examines it.

mod kind;
mod metadata;
mod review;

pub(crate) use self::kind::Operation;
pub(crate) use self::metadata::Metadata;
pub(crate) use self::review::{Request, read};
