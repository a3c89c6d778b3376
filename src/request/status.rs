//! The status of a Pod, as far as it is read.

use serde_json::Value;

use crate::pod::Slot;

/// `status` of a Pod.
#[derive(Clone, Debug, Default)]
pub struct PodStatus(Value);

impl PodStatus {
    /// Reads a status. What is no object says nothing; the kubelet writes no such thing, and
    /// nobody is let in for it.
    #[must_use]
    pub fn read(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap_or_default())
    }

    /// Whether any container waits for something.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.containers()
            .any(|container| container.waiting_for().is_some())
    }

    /// The containers of both lists.
    pub fn containers(&self) -> impl Iterator<Item = ContainerStatus<'_>> {
        let lists = [
            (Slot::InitContainer, "initContainerStatuses"),
            (Slot::Container, "containerStatuses"),
        ];
        lists.into_iter().flat_map(|(slot, list)| {
            let statuses = self.0.get(list).and_then(Value::as_array);
            statuses
                .into_iter()
                .flatten()
                .enumerate()
                .filter_map(move |(index, status)| {
                    Some(ContainerStatus {
                        slot,
                        list,
                        index,
                        name: status.get("name")?.as_str()?,
                        state: status.get("state")?,
                    })
                })
        })
    }

    /// When a condition changed last, as the kubelet wrote it.
    #[must_use]
    pub fn last_transition(&self, condition: &str) -> Option<&str> {
        let conditions = self.0.get("conditions")?.as_array()?;
        let is_meant =
            |found: &&Value| found.get("type").and_then(Value::as_str) == Some(condition);
        conditions
            .iter()
            .find(is_meant)?
            .get("lastTransitionTime")?
            .as_str()
    }
}

/// The status of a container.
#[derive(Clone, Copy, Debug)]
pub struct ContainerStatus<'s> {
    /// The list of the Pod spec that has the container.
    pub slot: Slot,
    /// The list of the status.
    pub list: &'static str,
    /// The index in it.
    pub index: usize,
    /// The container.
    pub name: &'s str,
    state: &'s Value,
}

impl<'s> ContainerStatus<'s> {
    /// The reason why it waits.
    #[must_use]
    pub fn waiting_for(&self) -> Option<&'s str> {
        self.state.get("waiting")?.get("reason")?.as_str()
    }

    /// Whether it has ever run.
    #[must_use]
    pub fn has_started(&self) -> bool {
        let is_there = |state: &str| self.state.get(state).is_some_and(Value::is_object);
        is_there("running") || is_there("terminated")
    }

    /// Whether it has ended with exit code 0.
    #[must_use]
    pub fn has_ended_well(&self) -> bool {
        let exit_code = self.state.pointer("/terminated/exitCode");
        exit_code.and_then(Value::as_i64) == Some(0)
    }
}
