//! Random small Pods in random worlds, for the test that compares the model of a kubelet with a
//! real one.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use crate::image::PullPolicy;
use crate::kubelet::{self, Images, OnNode, WHEREABOUTS, World};
use crate::policy::{Policy, observe};
use crate::settings::Settings;
use crate::small_pods::{FAMILIES, settings};
use crate::words::{List, Pod};

/// The images of a small Pod, at most.
const IMAGES: usize = 4;

/// A small Pod in a world, as it comes in and as this policy returns it, with what starts and what
/// waits. The same seed and number give the same Pod. In every second Pod something waits as it
/// comes in.
///
/// # Errors
/// If this policy gives no answer.
pub fn sample(policy: &dyn Policy, seed: u64, number: u64) -> Result<[Value; 2], String> {
    let mut random = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(number));
    loop {
        let family = FAMILIES[random.usize(..FAMILIES.len())];
        let Some(pod) = family.pod(random.u64(..family.end())) else {
            continue;
        };
        let all = settings();
        let case = pod.case(&all[random.usize(..all.len())]);
        let world = [(); IMAGES].map(|()| WHEREABOUTS[random.usize(..WHEREABOUTS.len())]);
        let before = &case.request["object"];
        let after = observe(policy, &case)?.object_after(&case.request);
        let pods =
            [before, &after].map(|object| Pod::read(&object["spec"], Settings(&case.settings)));
        // A kubelet pulls all image volumes of a Pod before its first container, so `Never` then
        // finds the image. The model pulls a volume when its container starts.
        if pods.iter().any(has_never_and_a_volume) {
            continue;
        }
        let mut images = Images::default();
        let [before, after] = [(before, &pods[0]), (&after, &pods[1])]
            .map(|(object, pod)| line(object, pod, &mut images, &world.to_vec()));
        if before["waiting"] != json!([]) || number.is_multiple_of(2) {
            return Ok([before, after]);
        }
    }
}

fn has_never_and_a_volume(pod: &Pod) -> bool {
    let mut places = pod.places.iter();
    places
        .clone()
        .any(|place| place.pull_policy == PullPolicy::Never)
        && places.any(|place| place.list == List::Volumes)
}

fn line(object: &Value, pod: &Pod, images: &mut Images, world: &World) -> Value {
    let result = kubelet::of(pod, images).start(world, None);
    let whereabouts = images.0.iter().map(|(image, number)| {
        let node = match world[*number].node {
            OnNode::None => "none",
            OnNode::Old => "old",
            OnNode::Current => "current",
        };
        let is_in_registry = world[*number].is_in_registry;
        (
            image.clone(),
            json!({"node": node, "inRegistry": is_in_registry}),
        )
    });
    let started = result.started.iter().zip(&pod.places);
    let started = started.filter(|(started, _)| started.is_some());
    json!({
        "pod": object,
        "world": whereabouts.collect::<Map<String, Value>>(),
        "started": started.map(|(_, place)| place.name).collect::<Vec<_>>(),
        "waiting": result.waiting.iter().map(|place| pod.places[*place].name).collect::<Vec<_>>(),
    })
}
