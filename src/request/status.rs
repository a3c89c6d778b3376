//! The status of a Pod, as far as this policy reads it.

use std::borrow::Cow;

use crate::document::JsonNode;
use crate::pod_spec::PodSpecList;

/// `status` of a Pod.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodStatus<'a> {
    /// Whether all containers have ended, so that none of them waits for an image. The kubelet leaves an
    /// init container that never started in the state `waiting`, even after the Pod has failed.
    is_finished: bool,
    /// The statuses of init containers, then those of app containers.
    pub(crate) containers: Vec<ContainerStatus<'a>>,
    conditions: Vec<JsonNode<'a>>,
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
    pub(crate) fn read(status: &JsonNode<'a>) -> Self {
        let elements = |key| status.list(key).unwrap_or_default();
        let mut containers = Vec::new();
        for (pod_spec_list, status_list) in [
            (PodSpecList::InitContainers, "initContainerStatuses"),
            (PodSpecList::Containers, "containerStatuses"),
        ] {
            for (index, container) in elements(status_list).iter().enumerate() {
                let list = (pod_spec_list, status_list);
                containers.extend(ContainerStatus::read(list, index, container));
            }
        }
        let phase = status.string("phase").unwrap_or_default();
        Self {
            is_finished: matches!(phase.as_deref(), Some("Succeeded" | "Failed")),
            containers,
            conditions: elements("conditions"),
        }
    }

    /// Whether the Pod is not finished and any container waits, with a reason.
    pub(crate) fn is_waiting(&self) -> bool {
        let mut containers = self.containers.iter();
        !self.is_finished && containers.any(|container| container.waiting_reason.is_some())
    }

    /// The time of a condition's last transition. None if it is not written as the API server writes a time. If several
    /// conditions have the same type, only the first counts.
    pub(crate) fn last_transition(&self, condition: &str) -> Option<Cow<'a, str>> {
        let has_type = |entry: &&JsonNode<'a>| {
            let name = entry.string("type").unwrap_or_default();
            name.as_deref() == Some(condition)
        };
        let entry = self.conditions.iter().find(has_type)?;
        let time = entry.string("lastTransitionTime").ok()??;
        is_time(&time).then_some(time)
    }
}

/// Whether a text has the form `2026-05-06T07:08:09Z`, in which the API server writes each time.
fn is_time(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00Z";
    let fits = |(byte, form): (u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        _ => byte == *form,
    };
    text.len() == FORM.len() && text.bytes().zip(FORM).all(fits)
}

impl<'a> ContainerStatus<'a> {
    /// Reads an entry of a status. None if it has no name or no state.
    fn read(
        (pod_spec_list, status_list): (PodSpecList, &'static str),
        index: usize,
        container: &JsonNode<'a>,
    ) -> Option<Self> {
        let state = container.get("state")?;
        let waiting = state.get("waiting");
        let of_waiting = |key| waiting.as_ref()?.string(key).ok()?;
        let terminated = state.get("terminated").filter(JsonNode::is_object);
        let exit_code = terminated.as_ref().and_then(|state| state.get("exitCode"));
        Some(Self {
            pod_spec_list,
            status_list,
            index,
            name: container.string("name").ok()??,
            waiting_reason: of_waiting("reason"),
            waiting_message: of_waiting("message").unwrap_or_default(),
            has_started: terminated.is_some()
                || state.get("running").is_some_and(|state| state.is_object()),
            has_succeeded: exit_code.is_some_and(|code| code.text() == "0"),
        })
    }
}
