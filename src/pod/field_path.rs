//! The path of a field, as Kubernetes writes it: `spec.containers[0].image`.

use std::fmt;

use super::pod_spec_list::PodSpecList;

/// The path of a field, or of a whole element of a list, in an object that holds a Pod spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldPath {
    /// A field of an element in a list of the Pod spec.
    Spec {
        /// The keys that lead from the object to its Pod spec.
        pod_spec: &'static [&'static str],
        /// The list.
        list: PodSpecList,
        /// The index of the element in the list.
        index: usize,
        /// The field of the element. Empty for the whole element.
        field: &'static str,
    },
    /// A field of a container in the status of a Pod.
    Status {
        /// The list of the status, for example `containerStatuses`.
        list: &'static str,
        /// The index of the container in that list.
        index: usize,
        /// The field of the container's status.
        field: &'static str,
    },
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (list, index, field) = match *self {
            Self::Spec {
                pod_spec,
                list,
                index,
                field,
            } => {
                for key in pod_spec {
                    write!(f, "{key}.")?;
                }
                (list.name(), index, field)
            }
            Self::Status { list, index, field } => {
                f.write_str("status.")?;
                (list, index, field)
            }
        };
        write!(f, "{list}[{index}]")?;
        if field.is_empty() {
            Ok(())
        } else {
            write!(f, ".{field}")
        }
    }
}

/// The end of a path in the record of changes: list, index and field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordedField<'t> {
    /// The list of the Pod spec.
    pub(crate) list: PodSpecList,
    /// The index of the element in the list.
    pub(crate) index: usize,
    /// The field of the element.
    pub(crate) field: &'t str,
}

impl<'t> RecordedField<'t> {
    /// Reads a path that [`FieldPath`] wrote. The keys before the list are ignored. None for a path
    /// without a field, and for a list of the status.
    pub(crate) fn parse(path: &'t str) -> Option<Self> {
        let (list, rest) = path.split_once('[')?;
        let (index, field) = rest.split_once("].")?;
        let list = list.rsplit('.').next()?;
        Some(Self {
            list: PodSpecList::ALL
                .into_iter()
                .find(|known| known.name() == list)?,
            index: index.parse().ok()?,
            field,
        })
    }
}

/// The sort key of findings and changes. Fields of the Pod spec come before fields of the status.
/// Then the list's name, the index and the field decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FieldSortKey {
    is_in_status: bool,
    list: &'static str,
    index: usize,
    field: &'static str,
}

impl FieldSortKey {
    /// The sort key of a field in an element of a list of the Pod spec.
    pub(crate) const fn in_spec(list: PodSpecList, index: usize, field: &'static str) -> Self {
        Self {
            is_in_status: false,
            list: list.name(),
            index,
            field,
        }
    }

    /// The sort key of a path.
    pub(crate) const fn of(path: FieldPath) -> Self {
        match path {
            FieldPath::Spec {
                list, index, field, ..
            } => Self::in_spec(list, index, field),
            FieldPath::Status { list, index, field } => Self {
                is_in_status: true,
                list,
                index,
                field,
            },
        }
    }
}
