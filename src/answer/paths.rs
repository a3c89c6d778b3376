//! Field paths of the object that came in, and of the one that goes out.

use std::collections::BinaryHeap;

use crate::pod::{Place, Slot};
use crate::rules::Work;
use crate::rules::missing_check::{MadeOf, Position};

/// Where a field stands among the others: by list, index and name; those of the status come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order {
    in_status: bool,
    list: &'static str,
    index: usize,
    field: &'static str,
}

impl Order {
    /// What is found in a status belongs to a container as well.
    pub(super) const fn new(place: &Place<'_>, field: &'static str, in_status: bool) -> Self {
        Self {
            in_status,
            list: place.slot.list(),
            index: place.index,
            field,
        }
    }

    /// Of a field, or of a whole element where it is empty.
    pub(super) const fn at(slot: Slot, index: usize, field: &'static str) -> Self {
        Self {
            in_status: false,
            list: slot.list(),
            index,
            field,
        }
    }
}

/// Brings findings or changes into their order; those of one field stay as they are.
///
/// With a heap of numbers: `sort` is ten times as much code, and this is its only use.
pub(super) fn in_order<T>(items: Vec<T>, order: impl Fn(&T) -> Order) -> Vec<T> {
    let orders = items.iter().map(order).enumerate();
    let orders: BinaryHeap<_> = orders.map(|(number, order)| (order, number)).collect();
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    let numbers = orders
        .into_sorted_vec()
        .into_iter()
        .map(|(_, number)| number);
    numbers
        .filter_map(|number| items.get_mut(number)?.take())
        .collect()
}

/// Field paths of an object, as Kubernetes writes them.
pub(super) struct Paths {
    prefix: String,
    /// How many init containers are added, and the index that the first of them gets.
    pub(super) added: usize,
    pub(super) first_added: usize,
    /// The indexes of the init containers that go, in their order.
    gone: Vec<usize>,
}

impl Paths {
    pub(super) fn of(work: &Work<'_>) -> Self {
        let is_container = |made_of| made_of != MadeOf::Volume;
        let gone = work
            .replaced
            .iter()
            .filter_map(|index| work.entries.get(*index));
        Self {
            prefix: work.review.spec_path(),
            added: work
                .added
                .iter()
                .filter(|check| is_container(check.made_of))
                .count(),
            first_added: Position::in_pod_of(work).index(),
            gone: gone.map(|entry| entry.place.index).collect(),
        }
    }

    pub(super) fn path(&self, slot: Slot, index: usize, field: &str) -> String {
        let separator = if field.is_empty() { "" } else { "." };
        format!("{}.{}[{index}]{separator}{field}", self.prefix, slot.list())
    }

    /// The path in the object that came in.
    pub(super) fn before(&self, place: &Place<'_>, field: &str) -> String {
        self.path(place.slot, place.index, field)
    }

    /// The index in the object that goes out: before a later init container new checks stand, and
    /// some don't any more.
    pub(super) fn index_after(&self, place: &Place<'_>) -> usize {
        if place.slot != Slot::InitContainer {
            return place.index;
        }
        let added = if place.index >= self.first_added {
            self.added
        } else {
            0
        };
        let gone = self.gone.partition_point(|index| *index < place.index);
        place.index.saturating_add(added).saturating_sub(gone)
    }
}
