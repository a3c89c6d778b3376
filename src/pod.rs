//! A Pod spec, as far as this policy reads it.

mod list;
mod spec;

pub(crate) use self::list::List;
pub(crate) use self::spec::Spec;
