//! Field paths of the object that came in, and of the one that goes out.

use crate::pod::{Place, Slot};
use crate::rules::Work;
use crate::rules::missing_check::Position;
use crate::sentence::fill;

/// Field paths of an object, as Kubernetes writes them.
pub(super) struct Paths {
    prefix: String,
    /// New init containers, and the index that the first of them gets.
    pub(super) added: (usize, usize),
}

impl Paths {
    pub(super) fn of(work: &Work<'_>) -> Self {
        Self {
            prefix: work.review.kind.path().join("."),
            added: (work.added.len(), Position::of(work).index()),
        }
    }

    pub(super) fn path(&self, slot: Slot, index: usize, field: &str) -> String {
        let separator = if field.is_empty() { "" } else { "." };
        fill(
            "{}.{}[{}]{}{}",
            &[
                &self.prefix,
                slot.list(),
                &index.to_string(),
                separator,
                field,
            ],
        )
    }

    /// The path in the object that came in.
    pub(super) fn before(&self, place: &Place<'_>, field: &str) -> String {
        self.path(place.slot, place.index, field)
    }

    /// The path in the object that goes out.
    pub(super) fn after(&self, place: &Place<'_>, field: &str) -> String {
        self.path(place.slot, self.index_after(place), field)
    }

    /// The index in the object that goes out, where new checks stand before later init containers.
    pub(super) fn index_after(&self, place: &Place<'_>) -> usize {
        let (count, first) = self.added;
        let moved = place.slot == Slot::InitContainer && place.index >= first;
        place.index + if moved { count } else { 0 }
    }
}

/// Where a field stands among all fields: by list, by index, by name. In a volume
/// `image.pullPolicy` comes before `image.reference`.
pub(super) fn rank(slot: Slot, index: usize, path: &str) -> usize {
    let policy = path.ends_with("olicy");
    let second = policy != (slot == Slot::ImageVolume);
    (slot.rank() << 29) + (index << 1) + usize::from(second)
}
