//! The status of a Pod, as far as this policy reads it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::pod::PodSpecList;

/// `status` of a Pod.
#[derive(Clone, Debug, Default)]
pub struct PodStatus {
    /// Whether all containers have ended, so that none of them waits for an image. The kubelet leaves an
    /// init container that never started in the state `waiting`, even after the Pod has failed.
    is_finished: bool,
    /// The statuses of init containers, then those of app containers.
    pub containers: Vec<ContainerStatus>,
    /// The time of each condition's last transition, as the status has it. The key of this map is the
    /// condition's type.
    last_transitions: BTreeMap<String, String>,
}

/// The status of a container.
#[derive(Clone, Debug)]
pub struct ContainerStatus {
    /// The list of the Pod spec that has the container.
    pub pod_spec_list: PodSpecList,
    /// The list of the status that has this entry.
    pub status_list: &'static str,
    /// The index of this entry in the list of the status.
    pub index: usize,
    /// The name of the container.
    pub name: String,
    /// The state of the container.
    pub state: ContainerState,
}

/// The state of a container.
#[derive(Clone, Debug, Default)]
pub struct ContainerState {
    /// The reason why the container waits. None if the status has no such reason.
    pub waiting_reason: Option<String>,
    /// The kubelet's message about the wait. It may hold addresses and tokens, so this policy never
    /// repeats the message.
    pub waiting_message: String,
    /// Whether the state is `running` or `terminated`. While a container waits for a restart, its
    /// state is `waiting`, so this is false although the container has started before.
    pub has_started: bool,
    /// Whether the container has ended with exit code 0.
    pub has_succeeded: bool,
}

impl PodStatus {
    /// Reads a status. A part with another shape than the kubelet writes is left out.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let status: Value = serde_json::from_str(text).unwrap_or_default();
        let items = |list: &str| {
            let items = status.get(list).and_then(Value::as_array);
            items.map(Vec::as_slice).unwrap_or_default()
        };
        let mut containers = Vec::new();
        for (pod_spec_list, status_list) in [
            (PodSpecList::InitContainers, "initContainerStatuses"),
            (PodSpecList::Containers, "containerStatuses"),
        ] {
            for (index, container) in items(status_list).iter().enumerate() {
                let name = container.get("name").and_then(Value::as_str);
                if let (Some(name), Some(state)) = (name, container.get("state")) {
                    containers.push(ContainerStatus {
                        pod_spec_list,
                        status_list,
                        index,
                        name: name.to_owned(),
                        state: ContainerState::read(state),
                    });
                }
            }
        }
        let mut last_transitions = BTreeMap::new();
        for condition in items("conditions") {
            let text = |key: &str| condition.get(key).and_then(Value::as_str);
            if let Some(name) = text("type") {
                let time = text("lastTransitionTime").map(str::to_owned);
                // If several conditions have the same type, only the first counts.
                last_transitions.entry(name.to_owned()).or_insert(time);
            }
        }
        let phase = status.get("phase").and_then(Value::as_str);
        Self {
            is_finished: matches!(phase, Some("Succeeded" | "Failed")),
            containers,
            last_transitions: last_transitions
                .into_iter()
                .filter_map(|(name, time)| Some((name, time?)))
                .collect(),
        }
    }

    /// Whether the Pod is not finished and any container waits, with a reason.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        let mut states = self.containers.iter().map(|container| &container.state);
        !self.is_finished && states.any(|state| state.waiting_reason.is_some())
    }

    /// The time of a condition's last transition, as the status has it.
    #[must_use]
    pub fn last_transition(&self, condition: &str) -> Option<&str> {
        self.last_transitions.get(condition).map(String::as_str)
    }
}

impl ContainerState {
    fn read(state: &Value) -> Self {
        let is_object = |key: &str| state.get(key).is_some_and(Value::is_object);
        let exit_code = state.pointer("/terminated/exitCode");
        let text = |pointer| state.pointer(pointer).and_then(Value::as_str);
        Self {
            waiting_reason: text("/waiting/reason").map(str::to_owned),
            waiting_message: text("/waiting/message").unwrap_or_default().to_owned(),
            has_started: is_object("running") || is_object("terminated"),
            has_succeeded: exit_code.and_then(Value::as_i64) == Some(0),
        }
    }
}
