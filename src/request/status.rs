//! The status of a Pod, as far as this policy reads it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::document::Node;
use crate::pod::PodSpecList;

/// `status` of a Pod.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodStatus<'a> {
    /// Whether all containers have ended, so that none of them waits for an image. The kubelet leaves an
    /// init container that never started in the state `waiting`, even after the Pod has failed.
    is_finished: bool,
    /// The statuses of init containers, then those of app containers.
    pub(crate) containers: Vec<ContainerStatus<'a>>,
    /// The time of each condition's last transition, as the status has it. The key of this map is the
    /// condition's type.
    last_transitions: BTreeMap<Cow<'a, str>, Option<Cow<'a, str>>>,
}

/// The status of a container.
#[derive(Clone, Debug)]
pub(crate) struct ContainerStatus<'a> {
    /// The list of the Pod spec that has the container.
    pub(crate) pod_spec_list: PodSpecList,
    /// The list of the status that has this entry.
    pub(crate) status_list: &'static str,
    /// The index of this entry in the list of the status.
    pub(crate) index: usize,
    /// The name of the container.
    pub(crate) name: Cow<'a, str>,
    /// The state of the container.
    pub(crate) state: ContainerState<'a>,
}

/// The state of a container.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContainerState<'a> {
    /// The reason why the container waits. None if the status has no such reason.
    pub(crate) waiting_reason: Option<Cow<'a, str>>,
    /// The kubelet's message about the wait. It may hold addresses and tokens, so this policy never
    /// repeats the message.
    pub(crate) waiting_message: Cow<'a, str>,
    /// Whether the state is `running` or `terminated`. While a container waits for a restart, its
    /// state is `waiting`, so this is false although the container has started before.
    pub(crate) has_started: bool,
    /// Whether the container has ended with exit code 0.
    pub(crate) has_succeeded: bool,
}

impl<'a> PodStatus<'a> {
    /// Reads a status. A part with another shape than the kubelet writes is left out.
    pub(crate) fn read(status: &Node<'a>) -> Self {
        let elements = |key: &str| {
            status
                .get(key)
                .map(|list| list.elements())
                .unwrap_or_default()
        };
        let mut containers = Vec::new();
        for (pod_spec_list, status_list) in [
            (PodSpecList::InitContainers, "initContainerStatuses"),
            (PodSpecList::Containers, "containerStatuses"),
        ] {
            for (index, container) in elements(status_list).iter().enumerate() {
                if let (Some(name), Some(state)) = (
                    container.string("name").unwrap_or_default(),
                    container.get("state"),
                ) {
                    containers.push(ContainerStatus {
                        pod_spec_list,
                        status_list,
                        index,
                        name,
                        state: ContainerState::read(&state),
                    });
                }
            }
        }
        let mut last_transitions = BTreeMap::new();
        for condition in elements("conditions") {
            if let Some(name) = condition.string("type").unwrap_or_default() {
                let time = condition.string("lastTransitionTime").unwrap_or_default();
                // If several conditions have the same type, only the first counts.
                last_transitions.entry(name).or_insert(time);
            }
        }
        let phase = status.string("phase").unwrap_or_default();
        Self {
            is_finished: matches!(phase.as_deref(), Some("Succeeded" | "Failed")),
            containers,
            last_transitions,
        }
    }

    /// Whether the Pod is not finished and any container waits, with a reason.
    pub(crate) fn is_waiting(&self) -> bool {
        let mut states = self.containers.iter().map(|container| &container.state);
        !self.is_finished && states.any(|state| state.waiting_reason.is_some())
    }

    /// The time of a condition's last transition, as the status has it.
    pub(crate) fn last_transition(&self, condition: &str) -> Option<Cow<'a, str>> {
        self.last_transitions.get(condition)?.clone()
    }
}

impl<'a> ContainerState<'a> {
    fn read(state: &Node<'a>) -> Self {
        let waiting = state.get("waiting");
        let of_waiting = |key| waiting.as_ref()?.string(key).ok()?;
        let terminated = state.get("terminated").filter(Node::is_object);
        let exit_code = terminated.as_ref().and_then(|state| state.get("exitCode"));
        Self {
            waiting_reason: of_waiting("reason"),
            waiting_message: of_waiting("message").unwrap_or_default(),
            has_started: terminated.is_some()
                || state.get("running").is_some_and(|state| state.is_object()),
            has_succeeded: exit_code.is_some_and(|code| code.text() == "0"),
        }
    }
}
