//! A host of Kubewarden's policies for tests and tools, which knows nothing of this policy.

pub mod host;
pub mod metadata;
