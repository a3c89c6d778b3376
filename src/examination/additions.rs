//! The image checks that this policy adds to a Pod.

use serde_json::Value;

use crate::pod::List;

#[derive(Debug)]
pub(crate) struct Additions {
    /// The list that gets them.
    pub(crate) list: List,
    /// The index of the first of them in this list.
    pub(crate) first: usize,
    /// Their entries in the returned object.
    pub(crate) entries: Vec<Value>,
    /// The indexes of the places that mount them, if they are image volumes.
    pub(crate) mounting: Vec<usize>,
    /// Their mounts, if they are image volumes.
    pub(crate) mounts: Vec<Value>,
}
