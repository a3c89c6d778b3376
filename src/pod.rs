//! The Pod spec: its lists of containers and volumes, and the nodes that it asks for.

mod list;
mod nodes;
mod spec;

pub(crate) use self::list::List;
pub(crate) use self::nodes::Platforms;
pub(crate) use self::spec::{Mount, Spec, mounts};
