//! Random small Pods in random worlds, for the test that compares the model of a kubelet with a
//! real one.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use crate::kubelet::{self, Images, OnNode, WHEREABOUTS, Whereabouts};
use crate::policy::{Policy, observe};
use crate::settings::Settings;
use crate::small_pods::{FAMILIES, notation, settings};
use crate::words::Pod;

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
        let world = [(); 2].map(|()| WHEREABOUTS[random.usize(..WHEREABOUTS.len())]);
        let before = &case.request["object"];
        let after = observe(policy, &case)?.object_after(&case.request);
        let mut images = Images::default();
        let lines = [(before, false), (&after, true)].map(|(object, is_returned)| {
            line(
                object,
                Settings(&case.settings),
                &mut images,
                world,
                is_returned,
            )
        });
        let waits = lines[0]["waiting"] != json!([]);
        if waits || number.is_multiple_of(2) {
            return Ok(lines);
        }
    }
}

fn line(
    object: &Value,
    settings: Settings<'_>,
    images: &mut Images,
    world: [Whereabouts; 2],
    is_returned: bool,
) -> Value {
    let pod = Pod::read(&object["spec"], settings);
    let kubelet = kubelet::of(&pod, images);
    let result = kubelet.start(&world.to_vec(), None);
    let named = images.0.iter().map(|(image, number)| {
        let Whereabouts {
            node,
            is_in_registry,
        } = world[*number];
        let node = match node {
            OnNode::None => "none",
            OnNode::Old => "old",
            OnNode::Current => "current",
        };
        let registry = if is_in_registry { "current" } else { "none" };
        (image.clone(), json!({"node": node, "registry": registry}))
    });
    let world: Map<String, Value> = named.collect();
    let name = |place: usize| pod.places[place].name;
    let places = 0..pod.places.len();
    let started: Vec<&str> = places
        .filter(|place| result.started[*place].is_some())
        .map(name)
        .collect();
    let waiting: Vec<&str> = result
        .waiting
        .iter()
        .map(|place| pod.places[*place].name)
        .collect();
    json!({
        "returned": is_returned,
        "places": notation(object),
        "settings": settings.0,
        "world": world,
        "started": started,
        "waiting": waiting,
        "pod": object,
    })
}
