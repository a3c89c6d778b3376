//! The survey's model of a kubelet, for the Pods of the promises: they read Pods and images
//! themselves, and share only the kubelet.

use consistent_pull_policy_survey::kubelet::{self, Role};
pub(crate) use consistent_pull_policy_survey::kubelet::{
    Images, Kubelet, OnNode, Started, Whereabouts, World,
};

use crate::image::{PullPolicy, on_node};
use crate::words::{List, Pod};

const fn at(node: OnNode, is_in_registry: bool) -> Whereabouts {
    Whereabouts {
        node,
        is_in_registry,
    }
}

/// All whereabouts of an image.
pub(crate) const WHEREABOUTS: [Whereabouts; 6] = [
    at(OnNode::None, false),
    at(OnNode::None, true),
    at(OnNode::Old, false),
    at(OnNode::Old, true),
    at(OnNode::Current, false),
    at(OnNode::Current, true),
];

/// The kubelet that gets a Pod. Two Pods with the same `images` can be started in the same worlds.
pub(crate) fn of(pod: &Pod, images: &mut Images) -> Kubelet {
    let place = |place: &crate::words::Place| {
        let volumes = pod.places.iter().enumerate();
        let volumes = volumes.filter(|(_, volume)| place.mounts_volume(volume));
        let volumes = volumes.map(|(index, _)| index).collect();
        kubelet::Place {
            image: on_node(place.image),
            pull_policy: match place.pull_policy {
                PullPolicy::Never => kubelet::PullPolicy::Never,
                PullPolicy::IfNotPresent => kubelet::PullPolicy::IfNotPresent,
                PullPolicy::Always => kubelet::PullPolicy::Always,
            },
            role: match place.list {
                List::InitContainers => Role::Init(volumes),
                List::Containers => Role::App(volumes),
                List::EphemeralContainers | List::Volumes => Role::Other,
            },
        }
    };
    let places: Vec<kubelet::Place> = pod.places.iter().map(place).collect();
    Kubelet::new(&places, images)
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
                WHEREABOUTS.map(|place| {
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
            for (one, other) in WHEREABOUTS
                .into_iter()
                .flat_map(|one| WHEREABOUTS.map(|other| (one, other)))
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
