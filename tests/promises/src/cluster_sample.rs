//! Random small Pods in random worlds, for the test that compares the model of a kubelet with a
//! real one.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use crate::kubelet::{self, Images, OnNode, WHEREABOUTS, Whereabouts};
use crate::notation::places;
use crate::policy::{Policy, observe};
use crate::settings::Settings;
use crate::small_pods::{FAMILIES, case, settings, small_pod};
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
        let pod = small_pod(family, &mut |count| random.usize(..count));
        let all = settings(&pod);
        let case = case(&pod, &all[random.usize(..all.len())]);
        let world = [(); 4].map(|()| WHEREABOUTS[random.usize(..WHEREABOUTS.len())]);
        let after = observe(policy, &case)?.object_after(&case.request);
        let mut images = Images::default();
        let lines = [(&pod, false), (&after, true)].map(|(object, is_returned)| {
            let mut line = line(object, Settings(&case.settings), &mut images, world);
            line["returned"] = is_returned.into();
            line
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
    world: [Whereabouts; 4],
) -> Value {
    let pod = Pod::read(&object["spec"], settings);
    let result = kubelet::of(&pod, images).start(&world.to_vec(), None);
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
    let started = pod.places.iter().zip(&result.started);
    let started = started.filter(|(_, started)| started.is_some());
    let started: Vec<&str> = started.map(|(place, _)| place.name).collect();
    let waiting = result.waiting.iter().map(|place| pod.places[*place].name);
    json!({
        "places": places(&object["spec"]),
        "settings": settings.0,
        "world": world,
        "started": started,
        "waiting": waiting.collect::<Vec<_>>(),
        "pod": object,
    })
}
