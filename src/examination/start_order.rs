//! What starts after what in a Pod, as a kubelet does it. Only *weak-check* orders places within
//! the last moment, by the volumes that app containers mount.
//!
//! Init containers start one after another, native sidecars too. Then all app containers start. A
//! container pulls its own image and its image volumes when it starts. So a container's moment is
//! its position, and a volume's moment is that of the first container that mounts it.
//!
//! A Pod's lists can be very long, so the rules never compare each place with each pull.

/// A moment of a Pod's start: the index of an init container, or `APPS`. A later moment is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(usize);

impl Moment {
    /// All app containers start.
    pub(crate) const APPS: Self = Self(usize::MAX);
}

/// When a place is pulled while a Pod starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Not at all: an ephemeral container, or a volume that no container mounts.
    None,
    /// An init container, by its index.
    Init(usize),
    /// An app container.
    App,
    /// A volume that an init container mounts. The index is that of the first such container.
    VolumeOfInit(usize),
    /// A volume that only app containers mount.
    VolumeOfApps {
        /// Whether every app container that is not exempt mounts it.
        is_on_every_app: bool,
    },
}

impl Start {
    /// When the place is pulled.
    pub(crate) const fn moment(self) -> Option<Moment> {
        match self {
            Self::None => None,
            Self::Init(index) | Self::VolumeOfInit(index) => Some(Moment(index)),
            Self::App | Self::VolumeOfApps { .. } => Some(Moment::APPS),
        }
    }

    /// The first moment of which all places start after this pull. None if there is no such moment.
    ///
    /// An init container may pull its image volumes before its own image, so nothing of its own
    /// moment starts after the pull of its image.
    pub(crate) const fn followed_from(self) -> Option<Moment> {
        match self {
            Self::Init(index) => Some(Moment(index.saturating_add(1))),
            Self::VolumeOfInit(index) => Some(Moment(index)),
            Self::None | Self::App | Self::VolumeOfApps { .. } => None,
        }
    }

    /// Whether the work that begins at a moment starts after this pull. An init container's own
    /// pull also gates the work that begins with it.
    pub(crate) fn gates(self, work: Moment) -> bool {
        match self {
            Self::Init(index) | Self::VolumeOfInit(index) => Moment(index) <= work,
            Self::VolumeOfApps { is_on_every_app } => is_on_every_app && work == Moment::APPS,
            Self::None | Self::App => false,
        }
    }
}
