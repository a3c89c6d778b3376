//! A kubelet in miniature. It starts the containers of a Pod in a [`World`], and knows nothing of
//! image checks, of Pods or of the names of images: these come in as [`Place`]s.
//!
//! Init containers start one after another: a native sidecar only has to start, and any other has
//! to end, which it does at once. Then all app containers start. A container pulls its image
//! volumes and then its own image when it starts. What failed is tried again, until nothing changes
//! any more. A place is known by its index in the list of places.

use std::collections::BTreeMap;

/// A pull policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullPolicy {
    /// `Never`
    Never,
    /// `IfNotPresent`
    IfNotPresent,
    /// `Always`
    Always,
}

/// A container or an image volume.
#[derive(Clone, Debug)]
pub struct Place {
    /// The image, by the name under which a node keeps it.
    pub image: String,
    /// How it is pulled.
    pub pull_policy: PullPolicy,
    /// When it starts.
    pub role: Role,
}

/// When a place starts. A container has the indexes of the image volumes that it mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// An init container.
    Init(Vec<usize>),
    /// An app container.
    App(Vec<usize>),
    /// An image volume, which is pulled for each container that mounts it; or an ephemeral
    /// container, which doesn't start with the Pod.
    Other,
}

/// What a node has under the name of an image. A newer copy is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnNode {
    /// The node has no such image.
    None,
    /// The registry may have a newer one.
    Old,
    /// What the registry has, or had at last.
    Current,
}

/// Where an image is: on the node, and in its registry, which has the current image or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// What the node has.
    pub node: OnNode,
    /// Whether the registry has it and answers.
    pub is_in_registry: bool,
}

/// Where each image is. An image is known by its number.
pub type World = Vec<Whereabouts>;

/// The images of one or more Pods, each with its number.
#[derive(Clone, Debug, Default)]
pub struct Images(pub BTreeMap<String, usize>);

impl Images {
    fn number(&mut self, image: &str) -> usize {
        let next = self.0.len();
        *self.0.entry(image.to_owned()).or_insert(next)
    }
}

/// The containers of a Pod, as a kubelet sees them.
#[derive(Clone, Debug)]
pub struct Kubelet {
    /// The image and the pull policy of each place.
    pulls: Vec<(usize, PullPolicy)>,
    /// What starts at the same time: each init container alone, then the app containers.
    stages: Vec<Vec<Container>>,
}

#[derive(Clone, Debug)]
struct Container {
    place: usize,
    /// The image volumes that it mounts.
    volumes: Vec<usize>,
}

/// What became of each place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Started {
    /// What each container that started got.
    pub started: Vec<Option<OnNode>>,
    /// What each image volume got for the last container that mounts it.
    pub mounted: Vec<Option<OnNode>>,
    /// The places whose image a container waits for.
    pub waiting: Vec<usize>,
}

impl Kubelet {
    /// The kubelet that gets a Pod with these places. Two Pods with the same `images` can be started
    /// in the same worlds.
    pub fn new(places: &[Place], images: &mut Images) -> Self {
        let mut pulls = Vec::new();
        let (mut stages, mut apps) = (Vec::new(), Vec::new());
        for (index, place) in places.iter().enumerate() {
            pulls.push((images.number(&place.image), place.pull_policy));
            let container = |volumes: &Vec<usize>| Container {
                place: index,
                volumes: volumes.clone(),
            };
            match &place.role {
                Role::Init(volumes) => stages.push(vec![container(volumes)]),
                Role::App(volumes) => apps.push(container(volumes)),
                Role::Other => {}
            }
        }
        stages.push(apps);
        Self { pulls, stages }
    }

    /// Starts the Pod. From the end of the first successful pull of the image `down` with `Always`
    /// on, the registry of this image is down.
    pub fn start(&self, world: &World, down: Option<usize>) -> Started {
        let mut world = world.clone();
        let mut result = Started {
            started: vec![None; self.pulls.len()],
            mounted: vec![None; self.pulls.len()],
            waiting: Vec::new(),
        };
        for stage in &self.stages {
            loop {
                let before = (world.clone(), result.started.clone());
                result.waiting.clear();
                for container in stage {
                    if matches!(result.started.get(container.place), Some(None)) {
                        self.try_to_start(container, &mut world, down, &mut result);
                    }
                }
                if (&world, &result.started) == (&before.0, &before.1) {
                    break;
                }
            }
            if !result.waiting.is_empty() {
                break;
            }
        }
        result
    }

    fn try_to_start(
        &self,
        container: &Container,
        world: &mut World,
        down: Option<usize>,
        result: &mut Started,
    ) {
        let failed = result.waiting.len();
        for volume in &container.volumes {
            let got = self.pull(*volume, world, down);
            if got.is_none() {
                result.waiting.push(*volume);
            }
            if let Some(mounted) = result.mounted.get_mut(*volume) {
                *mounted = got;
            }
        }
        if result.waiting.len() > failed {
            return;
        }
        match self.pull(container.place, world, down) {
            None => result.waiting.push(container.place),
            got => {
                if let Some(started) = result.started.get_mut(container.place) {
                    *started = got;
                }
            }
        }
    }

    /// What the place gets. `None` if the pull fails.
    fn pull(&self, place: usize, world: &mut World, down: Option<usize>) -> Option<OnNode> {
        let (image, policy) = *self.pulls.get(place)?;
        let Whereabouts {
            node,
            is_in_registry,
        } = world.get_mut(image)?;
        let uses_node = match policy {
            PullPolicy::Always => false,
            PullPolicy::IfNotPresent => *node > OnNode::None,
            PullPolicy::Never => true,
        };
        if !uses_node && *is_in_registry {
            *node = OnNode::Current;
            *is_in_registry = !(down == Some(image) && policy == PullPolicy::Always);
            return Some(OnNode::Current);
        }
        (uses_node && *node > OnNode::None).then_some(*node)
    }

    /// The number of a place's image. `None` if there is no such place.
    pub fn image(&self, place: usize) -> Option<usize> {
        self.pulls.get(place).map(|(image, _)| *image)
    }

    /// The containers in the order in which they start, each with the number of its stage.
    pub fn containers(&self) -> impl Iterator<Item = (usize, usize)> {
        let stages = self.stages.iter().enumerate();
        stages.flat_map(|(stage, containers)| {
            containers
                .iter()
                .map(move |container| (container.place, stage))
        })
    }
}
