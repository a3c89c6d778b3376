//! The settings in `images`.

use serde::{Deserialize, Serialize};

use super::value;
use crate::image::Pattern;

/// The pull policies that are required or forbidden for some images.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Images {
    /// Containers of these images pull with `Always`. This is for clusters with several tenants:
    /// each pull proves the Pod's own credentials. It takes precedence over `forbidAlways`.
    #[serde(deserialize_with = "value::strings")]
    pub require_always: Vec<Pattern>,
    /// Containers of these images never pull with `Always`, so they start while a registry is
    /// unreachable. `requireAlways` takes precedence. Don't use this together with the plugin
    /// `AlwaysPullImages`.
    #[serde(deserialize_with = "value::strings")]
    pub forbid_always: Vec<Pattern>,
    /// Images that are never examined and never changed.
    #[serde(deserialize_with = "value::strings")]
    pub exempt: Vec<Pattern>,
}
