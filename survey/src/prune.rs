//! Reads an object and drops what neither this policy nor the survey reads: most of an object's
//! size, and everything that could be secret.

use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// What is kept of an object.
pub(crate) trait Kept: DeserializeOwned + Into<Value> {}

impl<T: DeserializeOwned + Into<Value>> Kept for T {}

/// An object without what nobody reads.
pub(crate) struct Pruned(Value);

impl<'de> Deserialize<'de> for Pruned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Part::Whole.deserialize(deserializer).map(Self)
    }
}

/// An object of which nothing is dropped. It is read by the same code, which is large for YAML.
pub(crate) struct Unpruned(Value);

impl<'de> Deserialize<'de> for Unpruned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Part::Everything.deserialize(deserializer).map(Self)
    }
}

impl From<Unpruned> for Value {
    fn from(Unpruned(value): Unpruned) -> Self {
        value
    }
}

impl From<Pruned> for Value {
    fn from(Pruned(value): Pruned) -> Self {
        value
    }
}

/// The part of an object that a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Something of which nothing is dropped.
    Everything,
    /// An object, or something in it of which nearly all members are kept.
    Whole,
    Metadata,
    Annotations,
    /// A spec: of a Pod or of a workload.
    Spec,
    /// An app container or an ephemeral container. Its program doesn't matter.
    Container,
    Volume,
    Status,
}

/// What stays of the metadata. Names of owners and labels choose what a policy selects.
const METADATA: [&str; 8] = [
    "annotations",
    "deletionTimestamp",
    "generateName",
    "labels",
    "name",
    "namespace",
    "ownerReferences",
    "uid",
];
const CONTAINER: [&str; 6] = [
    "image",
    "imagePullPolicy",
    "name",
    "restartPolicy",
    "volumeDevices",
    "volumeMounts",
];
const SPEC: [&str; 18] = [
    "completionMode",
    "containers",
    "ephemeralContainers",
    "hostUsers",
    "initContainers",
    "jobTemplate",
    "manualSelector",
    "nodeName",
    "nodeSelector",
    "ordinals",
    "os",
    "resources",
    "restartPolicy",
    "runtimeClassName",
    "serviceAccountName",
    "template",
    "volumeClaimTemplates",
    "volumes",
];
/// Of a Pod and of a Node.
const STATUS: [&str; 3] = ["images", "nodeInfo", "phase"];
/// Of the annotations, those that this policy reads, by their prefixes.
const ANNOTATIONS: [&str; 3] = [
    "consistent-pull-policy/",
    "container.apparmor.security.beta.kubernetes.io/",
    "kubernetes.io/config.mirror",
];

impl Part {
    /// The part that the member with this key is. `None` if it is dropped.
    fn member(self, key: &str) -> Option<Self> {
        let is_kept = match self {
            Self::Everything => return Some(self),
            Self::Whole => key != "managedFields",
            Self::Metadata => METADATA.contains(&key),
            Self::Annotations => ANNOTATIONS.iter().any(|prefix| key.starts_with(prefix)),
            Self::Spec => SPEC.contains(&key),
            Self::Container => CONTAINER.contains(&key),
            Self::Volume => ["name", "image"].contains(&key),
            Self::Status => STATUS.contains(&key),
        };
        is_kept.then_some(match (self, key) {
            (_, "metadata") => Self::Metadata,
            (Self::Metadata, "annotations") => Self::Annotations,
            (Self::Whole, "spec") => Self::Spec,
            (Self::Whole, "status") => Self::Status,
            (Self::Spec, "containers" | "ephemeralContainers") => Self::Container,
            (Self::Spec, "volumes") => Self::Volume,
            _ => Self::Whole,
        })
    }
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            match self.member(&key) {
                Some(part) => {
                    members.insert(key, map.next_value_seed(part)?);
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Value::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = sequence.next_element_seed(self)? {
            elements.push(element);
        }
        Ok(Value::Array(elements))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}
