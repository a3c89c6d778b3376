//! Incidents: images that no node can pull, and how Pods start meanwhile.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kubelet::{Images, Kubelet, OnNode, Started, Whereabouts, World};
use crate::object::{Entry, entries, on_node, places};

/// What nodes can't pull, and which Pods start then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Incident {
    /// What is gone or down.
    pub what: What,
    /// The normalised name of an image, or a registry's host. If it is empty, each workload has the
    /// incident that harms it most: each of its images, or of their registries, alone.
    pub name: String,
    /// Which Pods start.
    pub moment: Moment,
}

/// What is gone or down in an incident.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// One image is gone from its registry.
    #[default]
    Image,
    /// One registry is down. Its lookups fail too.
    Registry,
    /// All registries are down.
    Registries,
}

/// When a Pod was created, and where it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Moment {
    /// It is created in the incident, and starts on a node without images.
    #[default]
    Empty,
    /// It is created in the incident, and starts on a node on which such a Pod ran before.
    Meanwhile,
    /// It was created before the incident, and starts again on its node after a reboot.
    Reboot,
}

impl Incident {
    /// The incident, in words.
    pub fn words(&self) -> String {
        let name = &self.name;
        let what = match (self.what, name.is_empty()) {
            (What::Image, true) => "one image is gone".to_owned(),
            (What::Image, false) => format!("{name} is gone"),
            (What::Registry, true) => "one registry is down".to_owned(),
            (What::Registry, false) => format!("{name} is down"),
            (What::Registries, _) => "all registries are down".to_owned(),
        };
        let moment = match self.moment {
            Moment::Empty => "for new Pods on an empty node",
            Moment::Meanwhile => "for new Pods on a node with older copies of the images",
            Moment::Reboot => "for Pods from before, after their node's reboot",
        };
        format!("{what}, {moment}")
    }

    /// The incidents of which this is the worst, for Pods with these images. Without images, there
    /// is one in which nothing is gone.
    pub(crate) fn each(&self, images: &BTreeSet<String>) -> Vec<Self> {
        if !self.name.is_empty() || self.what == What::Registries {
            return vec![self.clone()];
        }
        let names: BTreeSet<&str> = match self.what {
            What::Registry => images.iter().map(|image| registry_of(image)).collect(),
            _ => images.iter().map(String::as_str).collect(),
        };
        let with_name = |name: &str| Self {
            name: name.to_owned(),
            ..self.clone()
        };
        if names.is_empty() {
            return vec![with_name("none")];
        }
        names.into_iter().map(with_name).collect()
    }

    /// Whether nobody can pull an image, by its normalised name.
    pub(crate) fn takes(&self, image: &str) -> bool {
        match self.what {
            What::Image => image == self.name,
            What::Registry => registry_of(image) == self.name,
            What::Registries => true,
        }
    }
}

/// The registry of an image, by its normalised name.
pub(crate) fn registry_of(image: &str) -> &str {
    image.split_once('/').map_or("", |(registry, _)| registry)
}

/// The answers of registries to lookups.
#[derive(Clone, Debug, Default)]
pub struct Registries {
    /// The incident, if there is one.
    pub(crate) incident: Option<Incident>,
    /// The images that were looked up.
    pub(crate) asked: Vec<String>,
}

impl Registries {
    /// The digest of an image that this policy looks up, which is invented.
    ///
    /// # Errors
    /// The registry doesn't have the image, or is down. The texts are those of Kubewarden 1.36.
    pub fn digest(&mut self, image: &str) -> Result<String, String> {
        self.asked.push(image.to_owned());
        match &self.incident {
            Some(incident) if incident.takes(image) => Err(match incident.what {
                What::Image => {
                    "Fail to interact with OCI registry: Registry error: url https://registry, \
                     envelope: OCI API errors: [OCI API error: manifest unknown]"
                }
                _ => "Fail to interact with OCI registry: error sending request for url (https://registry)",
            }
            .to_owned()),
            _ => Ok(match image.split_once('@') {
                Some((_, digest)) => digest.to_owned(),
                None => invented_digest(image),
            }),
        }
    }
}

/// A digest that is the same for the same image.
fn invented_digest(image: &str) -> String {
    let mut hasher = DefaultHasher::new();
    image.hash(&mut hasher);
    format!("sha256:{:064x}", hasher.finish())
}

/// What becomes of a Pod, from the best to the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// All of its containers start.
    #[default]
    Starts,
    /// It is rejected, so there is no Pod.
    Rejected,
    /// No app container starts, because one waits for its image.
    Waits,
    /// An app container starts, and another waits for its image.
    Half,
}

/// How a Pod ends up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// What becomes of it.
    pub fate: Fate,
    /// Whether a container may run an older image than its registry has.
    pub is_old: bool,
}

impl End {
    /// The end of what is rejected.
    pub(crate) const REJECTED: Self = Self {
        fate: Fate::Rejected,
        is_old: false,
    };

    /// The worse of two ends.
    pub(crate) fn worse(self, other: Self) -> Self {
        Self {
            fate: self.fate.max(other.fate),
            is_old: self.is_old || other.is_old,
        }
    }
}

/// A place of a Pod, and how its start ends.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The container or image volume.
    #[serde(flatten)]
    pub entry: Entry,
    /// How its start ends.
    pub start: Start,
    /// Whether nobody can pull its image.
    pub is_gone: bool,
}

/// How the start of a container or of an image volume ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Start {
    /// It starts, with the image that the registry has, or that its digest names.
    Current,
    /// It starts, with the node's copy of the image.
    Copy,
    /// It waits for its image.
    Waits,
    /// It doesn't start, because an earlier one waits.
    Never,
}

/// The names under which a node keeps the images of a Pod.
pub(crate) fn copies(pod: &Value) -> BTreeSet<String> {
    let entries = entries(pod);
    entries.iter().map(|entry| on_node(&entry.image)).collect()
}

/// The steps in which a Pod starts on a node with these copies. `gone` tells whether nobody can pull
/// an image; `None` if the image can't be parsed.
pub(crate) fn steps(
    pod: &Value,
    copies: &BTreeSet<String>,
    gone: &mut dyn FnMut(&str) -> Option<bool>,
) -> Vec<Step> {
    let entries = entries(pod);
    let mut images = Images::default();
    let kubelet = Kubelet::new(&places(&entries), &mut images);
    let nowhere = Whereabouts {
        node: OnNode::None,
        is_in_registry: false,
    };
    let mut world: World = vec![nowhere; images.0.len()];
    let mut are_gone = Vec::new();
    for entry in &entries {
        let is_gone = gone(&entry.image);
        are_gone.push(is_gone.unwrap_or(true));
        let name = on_node(&entry.image);
        let place = images.0.get(&name).and_then(|image| world.get_mut(*image));
        if let (Some(place), Some(is_gone)) = (place, is_gone) {
            place.is_in_registry = !is_gone;
            if copies.contains(&name) {
                let has_digest = name.contains('@');
                place.node = if has_digest {
                    OnNode::Current
                } else {
                    OnNode::Old
                };
            }
        }
    }
    let Started {
        started,
        mounted,
        waiting,
    } = kubelet.start(&world, None);
    let got = started
        .into_iter()
        .zip(mounted)
        .map(|(started, mounted)| started.or(mounted));
    let steps = entries.into_iter().zip(are_gone).zip(got).enumerate();
    let step = |(index, ((entry, is_gone), got))| Step {
        entry,
        is_gone,
        start: match got {
            _ if waiting.contains(&index) => Start::Waits,
            None | Some(OnNode::None) => Start::Never,
            Some(OnNode::Old) => Start::Copy,
            Some(OnNode::Current) => Start::Current,
        },
    };
    steps.map(step).collect()
}

/// The end of a Pod that starts in these steps.
pub(crate) fn end_of(steps: &[Step]) -> End {
    let mut containers = steps.iter().filter(|step| step.entry.list == "containers");
    let has_started = |step: &Step| matches!(step.start, Start::Current | Start::Copy);
    let waits = steps.iter().any(|step| step.start == Start::Waits);
    let fate = match (waits, containers.any(has_started)) {
        (false, _) => Fate::Starts,
        (true, false) => Fate::Waits,
        (true, true) => Fate::Half,
    };
    End {
        fate,
        is_old: steps.iter().any(|step| step.start == Start::Copy),
    }
}
