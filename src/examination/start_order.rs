//! What starts after what in a Pod, as a kubelet does it. The rules about image checks ask this file, and nothing else, about
//! time.
//!
//! Init containers start one after another, native sidecars too. Then all app containers start. A container pulls its own
//! image and its image volumes when it starts. So a container's moment is its position, and a volume's moment is that of the
//! first container that mounts it.
//!
//! A request can lengthen each list of a Pod. So the rules never compare each place with each pull: they compare each place
//! with one moment, the earliest of several pulls.

use crate::pod::List;

/// A moment of a Pod's start: the index of an init container. A later moment is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(usize);

impl Moment {
    /// All app containers start.
    pub(crate) const APPS: Self = Self(usize::MAX);
}

/// When a place starts, and what starts after its pull.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// When it starts. None for an ephemeral container, and for a volume that no container mounts.
    pub(crate) moment: Option<Moment>,
    /// What starts after its pull.
    pub(crate) followers: Followers,
}

/// What starts after a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followers {
    /// Every place whose moment is this one or a later one.
    From(Moment),
    /// The app containers that mount the volume. No init container mounts it.
    Mounting {
        /// Whether every app container that is not exempt mounts it.
        is_on_every_app: bool,
    },
    /// Nothing.
    None,
}

impl Start {
    /// The start of a container.
    pub(crate) const fn of_container(list: List, index: usize) -> Self {
        let (moment, followers) = match list {
            // Its volumes may be pulled before its own image, so what follows begins with the next init container.
            List::InitContainers => (
                Some(Moment(index)),
                Followers::From(Moment(index.saturating_add(1))),
            ),
            List::Containers => (Some(Moment::APPS), Followers::None),
            List::EphemeralContainers | List::Volumes => (None, Followers::None),
        };
        Self { moment, followers }
    }

    /// The start of a volume. `first` is the moment of the first container that mounts it.
    pub(crate) fn of_volume(first: Moment, is_on_every_app: bool) -> Self {
        let followers = if first == Moment::APPS {
            Followers::Mounting { is_on_every_app }
        } else {
            Followers::From(first)
        };
        Self {
            moment: Some(first),
            followers,
        }
    }
}

/// When the work of a Pod begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// The moment at which it begins.
    pub(crate) begins: Moment,
    /// The moment of the first guarded place.
    pub(crate) first_guarded: Moment,
}

impl Work {
    /// Whether the pull of a place with this start gates the Pod: the work begins after it, or with the container whose pull it
    /// is. An image check that is an init container also gates the Pod if every guarded place starts after it.
    pub(super) fn is_gated_by(&self, pull: Start, is_init_check: bool) -> bool {
        match pull.followers {
            Followers::From(moment) => {
                let is_own = pull.moment == Some(self.begins);
                moment <= self.begins || is_own || (is_init_check && moment <= self.first_guarded)
            }
            Followers::Mounting { is_on_every_app } => {
                is_on_every_app && self.begins == Moment::APPS
            }
            Followers::None => false,
        }
    }
}
