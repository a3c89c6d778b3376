//! Random small Pods in random worlds, for the test that compares the model of a kubelet with a
//! real one.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use crate::image::PullPolicy;
use crate::kubelet::{self, Images, OnNode, WHEREABOUTS, World};
use crate::policy::{Policy, observe};
use crate::settings::Settings;
use crate::small_pods::{FAMILIES, IMAGES, case, settings, small_pod};
use crate::words::{List, Pod};

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
        let pod = small_pod(family, &mut |count| random.usize(..count));
        let all = settings(&pod);
        let case = case(&pod, &all[random.usize(..all.len())]);
        let world = IMAGES.map(|_| WHEREABOUTS[random.usize(..WHEREABOUTS.len())]);
        let after = observe(policy, &case)?.object_after(&case.request);
        let objects = [pod, after];
        let pods = objects
            .each_ref()
            .map(|object| Pod::read(&object["spec"], Settings(&case.settings)));
        // A kubelet pulls all image volumes of a Pod before its first container, so `Never` then
        // finds the image. The model pulls a volume when its container starts.
        if pods.iter().any(has_never_and_a_volume) {
            continue;
        }
        let mut images = Images::default();
        let lines = [0, 1].map(|i| line(&objects[i], &pods[i], &mut images, &world.to_vec()));
        if lines[0]["waiting"] != json!([]) || number.is_multiple_of(2) {
            return Ok(lines);
        }
    }
}

fn has_never_and_a_volume(pod: &Pod) -> bool {
    let has = |is: fn(&crate::words::Place) -> bool| pod.places.iter().any(is);
    has(|place| place.pull_policy == PullPolicy::Never) && has(|place| place.list == List::Volumes)
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
        let place = json!({"node": node, "inRegistry": is_in_registry});
        (image.clone(), place)
    });
    let started = pod.places.iter().zip(&result.started);
    let started = started.filter(|(_, started)| started.is_some());
    let waiting = result.waiting.iter().map(|place| pod.places[*place].name);
    json!({
        "pod": object,
        "world": whereabouts.collect::<Map<String, Value>>(),
        "started": started.map(|(place, _)| place.name).collect::<Vec<_>>(),
        "waiting": waiting.collect::<Vec<_>>(),
    })
}
