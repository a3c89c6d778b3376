//! A kubelet in miniature. It starts the containers of a Pod in a [`World`], and knows nothing of
//! image checks.
//!
//! Init containers start one after another: a native sidecar only has to start, and any other has
//! to end, which it does at once. Then all app containers start. A container pulls its image
//! volumes and then its own image when it starts. What failed is tried again, until nothing changes
//! any more. A place is known by its index in [`Pod::places`].

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::image::{PullPolicy, Reference, on_node};
use crate::settings::Settings;
use crate::words::{List, Pod};

/// What a node has under the name of an image. A newer copy is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OnNode {
    None,
    Old,
    Current,
}

/// Where an image is: on the node, and in its registry, which has the current image or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whereabouts {
    pub(crate) node: OnNode,
    pub(crate) is_in_registry: bool,
}

impl Whereabouts {
    pub(crate) const ALL: [Self; 6] = [
        Self {
            node: OnNode::None,
            is_in_registry: false,
        },
        Self {
            node: OnNode::None,
            is_in_registry: true,
        },
        Self {
            node: OnNode::Old,
            is_in_registry: false,
        },
        Self {
            node: OnNode::Old,
            is_in_registry: true,
        },
        Self {
            node: OnNode::Current,
            is_in_registry: false,
        },
        Self {
            node: OnNode::Current,
            is_in_registry: true,
        },
    ];
}

/// Where each image is. An image is known by its number.
pub(crate) type World = Vec<Whereabouts>;

/// The images of one or more Pods, each with its number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Images(pub(crate) BTreeMap<String, usize>);

impl Images {
    fn number(&mut self, image: &str) -> usize {
        let next = self.0.len();
        *self.0.entry(on_node(image)).or_insert(next)
    }
}

/// The containers of a Pod, as a kubelet sees them.
#[derive(Clone, Debug)]
pub(crate) struct Kubelet {
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Started {
    /// What each container that started got.
    pub(crate) started: Vec<Option<OnNode>>,
    /// The places whose image a container waits for.
    pub(crate) waiting: Vec<usize>,
}

impl Kubelet {
    /// The kubelet that gets a Pod. Two Pods with the same `images` can be started in the same
    /// worlds.
    pub(crate) fn of(pod: &Pod, images: &mut Images) -> Self {
        let mut pulls = Vec::new();
        let (mut stages, mut apps) = (Vec::new(), Vec::new());
        for (index, place) in pod.places.iter().enumerate() {
            pulls.push((images.number(place.image), place.pull_policy));
            let is_mounted = |(_, volume): &(usize, &_)| place.mounts_volume(volume);
            let volumes = pod.places.iter().enumerate().filter(is_mounted);
            let container = Container {
                place: index,
                volumes: volumes.map(|(volume, _)| volume).collect(),
            };
            match place.list {
                List::InitContainers => stages.push(vec![container]),
                List::Containers => apps.push(container),
                List::EphemeralContainers | List::Volumes => {}
            }
        }
        stages.push(apps);
        Self { pulls, stages }
    }

    /// Starts the Pod. From the end of the first successful pull of the image `away` with `Always`
    /// on, the registry of this image is away.
    pub(crate) fn start(&self, world: &World, away: Option<usize>) -> Started {
        let mut world = world.clone();
        let mut result = Started {
            started: vec![None; self.pulls.len()],
            waiting: Vec::new(),
        };
        for stage in &self.stages {
            loop {
                let before = (world.clone(), result.started.clone());
                result.waiting.clear();
                for container in stage {
                    if result.started[container.place].is_none() {
                        self.try_to_start(container, &mut world, away, &mut result);
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
        away: Option<usize>,
        result: &mut Started,
    ) {
        let failed = result.waiting.len();
        for volume in &container.volumes {
            if self.pull(*volume, world, away).is_none() {
                result.waiting.push(*volume);
            }
        }
        if result.waiting.len() > failed {
            return;
        }
        match self.pull(container.place, world, away) {
            None => result.waiting.push(container.place),
            got => result.started[container.place] = got,
        }
    }

    /// What the place gets. `None` if the pull fails.
    fn pull(&self, place: usize, world: &mut World, away: Option<usize>) -> Option<OnNode> {
        let (image, policy) = self.pulls[place];
        let Whereabouts {
            node,
            is_in_registry,
        } = &mut world[image];
        let uses_node = match policy {
            PullPolicy::Always => false,
            PullPolicy::IfNotPresent => *node > OnNode::None,
            PullPolicy::Never => true,
        };
        if !uses_node && *is_in_registry {
            *node = OnNode::Current;
            *is_in_registry = !(away == Some(image) && policy == PullPolicy::Always);
            return Some(OnNode::Current);
        }
        (uses_node && *node > OnNode::None).then_some(*node)
    }

    /// The number of a place's image.
    pub(crate) fn image(&self, place: usize) -> usize {
        self.pulls[place].0
    }

    /// The containers in the order in which they start, each with the number of its stage.
    pub(crate) fn containers(&self) -> impl Iterator<Item = (usize, usize)> {
        let stages = self.stages.iter().enumerate();
        stages.flat_map(|(stage, containers)| {
            containers
                .iter()
                .map(move |container| (container.place, stage))
        })
    }
}

/// Where a program that compares itself with this kubelet starts a Pod.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Whether the node has a copy of every image.
    pub copies: bool,
    /// The images that are not in their registries.
    pub missing: BTreeSet<String>,
}

/// The images of a Pod, by the names under which a node keeps them. `None` if an image can't be
/// parsed, or if a pull policy is not set.
#[must_use]
pub fn images(spec: &Value) -> Option<BTreeSet<String>> {
    let pod = Pod::read(spec, Settings(&Value::Null));
    let is_clear =
        |image: &str, written: &str| !written.is_empty() && Reference::parse(image).is_some();
    let names = pod
        .places
        .iter()
        .map(|place| is_clear(place.image, place.written).then(|| on_node(place.image)));
    names.collect()
}

/// The names of the containers of a Pod that start.
#[must_use]
pub fn started(spec: &Value, surroundings: &Surroundings) -> BTreeSet<String> {
    let pod = Pod::read(spec, Settings(&Value::Null));
    let mut images = Images::default();
    let kubelet = Kubelet::of(&pod, &mut images);
    let mut by_number: Vec<(&String, &usize)> = images.0.iter().collect();
    by_number.sort_by_key(|(_, number)| **number);
    let world = by_number.iter().map(|(image, _)| Whereabouts {
        node: if surroundings.copies {
            OnNode::Old
        } else {
            OnNode::None
        },
        is_in_registry: !surroundings.missing.contains(*image),
    });
    let result = kubelet.start(&world.collect(), None);
    let started = pod
        .places
        .iter()
        .zip(&result.started)
        .filter(|(_, got)| got.is_some());
    started.map(|(place, _)| place.name.to_owned()).collect()
}

/// For a Pod with many images, no more worlds are made from this number on.
const MANY_WORLDS: usize = 400;

/// The worlds in which these images are: all of them for up to three images. For more images,
/// worlds without registries, in which the node lacks at most one image; and all worlds in which at
/// most two images are not everywhere, of these some hundred.
pub(crate) fn worlds(images: usize) -> Vec<World> {
    let everywhere = Whereabouts {
        node: OnNode::Current,
        is_in_registry: true,
    };
    let mut worlds = vec![vec![everywhere; images]];
    if images <= 3 {
        for image in 0..images {
            let each = |world: World| {
                Whereabouts::ALL.map(|place| {
                    let mut world = world.clone();
                    world[image] = place;
                    world
                })
            };
            worlds = worlds.into_iter().flat_map(each).collect();
        }
        return worlds;
    }
    let on_node = Whereabouts {
        node: OnNode::Current,
        is_in_registry: false,
    };
    worlds.push(vec![on_node; images]);
    for image in 0..images {
        let mut world = vec![on_node; images];
        world[image].node = OnNode::None;
        worlds.push(world);
    }
    for first in 0..images {
        for second in 0..first {
            for (one, other) in Whereabouts::ALL
                .into_iter()
                .flat_map(|one| Whereabouts::ALL.map(|other| (one, other)))
            {
                let mut world = vec![everywhere; images];
                (world[first], world[second]) = (one, other);
                worlds.push(world);
            }
            if worlds.len() > MANY_WORLDS {
                return worlds;
            }
        }
    }
    worlds
}
