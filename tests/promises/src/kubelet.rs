//! The survey's model of a kubelet, for the Pods of the promises: they read Pods and images
//! themselves, and share only the kubelet.

use consistent_pull_policy_survey::kubelet::{self, Role};
pub(crate) use consistent_pull_policy_survey::kubelet::{
    Images, Kubelet, OnNode, Started, Whereabouts, World,
};

use fastrand::Rng;

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

/// The worlds in which these images are: all of them for up to three images, and two hundred for
/// more.
pub(crate) fn worlds(images: usize) -> Vec<World> {
    let everywhere = at(OnNode::Current, true);
    let mut random = Rng::with_seed(0);
    if images > 3 {
        let mut image = |_| match random.usize(..12) {
            index if index < WHEREABOUTS.len() => WHEREABOUTS[index],
            _ => everywhere,
        };
        let mut worlds = vec![vec![everywhere; images]];
        worlds.resize_with(200, || (0..images).map(&mut image).collect());
        return worlds;
    }
    let mut worlds = vec![Vec::new()];
    for _ in 0..images {
        let each = |world: World| WHEREABOUTS.map(|place| [&*world, &[place]].concat());
        worlds = worlds.into_iter().flat_map(each).collect();
    }
    worlds
}
