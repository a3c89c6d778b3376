//! Sorts findings and changes by the Kubernetes field that each one is about.

use std::collections::BinaryHeap;

use crate::pod::field_path::FieldSortKey;

/// Sorts items by the fields that they are about. Items about the same field keep their order.
///
/// This uses a `BinaryHeap`, because `sort` would add ten times as much code to the WebAssembly module.
pub(super) fn sort_by_field<T>(items: Vec<T>, order: impl Fn(&T) -> FieldSortKey) -> Vec<T> {
    let orders = items.iter().map(order).enumerate();
    let orders: BinaryHeap<_> = orders.map(|(number, order)| (order, number)).collect();
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    let sorted = orders.into_sorted_vec().into_iter();
    sorted
        .filter_map(|(_, number)| items.get_mut(number)?.take())
        .collect()
}
