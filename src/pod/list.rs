//! The lists of a Pod spec whose entries hold image references.

use serde_json::{Map, Value};

use crate::json::{Wrong, member};

/// A list of a Pod spec whose entries hold image references. The order is that in which this policy
/// reads them.
///
/// Here, and only here, it is known that the image of a volume lies one level deeper than that of a
/// container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    /// `spec.initContainers`
    InitContainers,
    /// `spec.containers`
    Containers,
    /// `spec.ephemeralContainers`
    EphemeralContainers,
    /// `spec.volumes`. Only image volumes (KEP-4639) hold image references.
    Volumes,
}

impl List {
    /// All lists, in their order.
    pub(crate) const ALL: [Self; 4] = [
        Self::InitContainers,
        Self::Containers,
        Self::EphemeralContainers,
        Self::Volumes,
    ];

    /// The list's name in the Pod spec.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::InitContainers => "initContainers",
            Self::Containers => "containers",
            Self::EphemeralContainers => "ephemeralContainers",
            Self::Volumes => "volumes",
        }
    }

    /// The path of an entry, e.g. `spec.containers[0]`. `spec` is the path of the Pod spec.
    pub(crate) fn path(self, spec: &str, index: usize) -> String {
        format!("{spec}.{}[{index}]", self.name())
    }

    /// The key of the member that has the image and the pull policy. None if the entry itself has
    /// them.
    pub(crate) const fn source_key(self) -> Option<&'static str> {
        match self {
            Self::InitContainers | Self::Containers | Self::EphemeralContainers => None,
            Self::Volumes => Some("image"),
        }
    }

    /// The key of the image, in the object that has it.
    pub(crate) fn image_key(self) -> &'static str {
        self.source_key().map_or("image", |_| "reference")
    }

    /// The key of the pull policy, in the object that has it.
    pub(crate) fn policy_key(self) -> &'static str {
        self.source_key()
            .map_or("imagePullPolicy", |_| "pullPolicy")
    }

    /// The object of an entry that has the image and the pull policy. None if the entry has no
    /// image, e.g. a volume of another kind.
    ///
    /// # Errors
    /// The entry is no object.
    pub(crate) fn source(self, entry: &Value) -> Result<Option<&Value>, Wrong<'_>> {
        match self.source_key() {
            Some(key) => member(entry, key),
            None => Ok(Some(entry)),
        }
    }

    /// The path from an entry to a key of the object that has the image.
    pub(crate) fn path_to(self, key: &str) -> String {
        let source = self.source_key().map(|source| [source, "."].concat());
        [source.as_deref().unwrap_or_default(), key].concat()
    }

    /// The members of a new entry: its name, its image and its pull policy.
    pub(crate) fn entry(self, name: &str, image: &str, policy: &str) -> Map<String, Value> {
        let members = [(self.image_key(), image), (self.policy_key(), policy)];
        let members = members.map(|(key, text)| (key.to_owned(), text.into()));
        let mut entry = Map::from_iter(members);
        if let Some(key) = self.source_key() {
            entry = Map::from_iter([(key.to_owned(), entry.into())]);
        }
        entry.insert("name".to_owned(), name.into());
        entry
    }
}
