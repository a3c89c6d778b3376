//! How a repaired Pod starts, in a [model of a kubelet](crate::kubelet) and in all worlds of its
//! images. Exempt containers are apart.

use std::collections::BTreeSet;

use super::{BrokenPromise, Repaired};
use crate::image::PullPolicy;
use crate::json::text;
use crate::kubelet::{self, Images, Kubelet, Started, World, worlds};
use crate::words::{List, Place, Pod};

/// A promise about the start of a returned Pod in one world. Returns what is wrong.
type InWorld = fn(&Start<'_>, &World, &Started) -> Option<String>;

const PROMISES: [(&str, InWorld); 5] = [
    ("a-check-that-succeeded-is-enough", checks_are_enough),
    ("no-work-is-half-done", no_work_is_half_done),
    ("what-would-have-started-starts", starts_as_before),
    ("a-spared-pull-is-not-missed", spared_pulls_are_not_missed),
    (
        "a-digest-in-place-of-always-lets-no-pod-wait",
        starts_without_registries,
    ),
];

/// What is the same in all worlds.
struct Start<'r> {
    places: &'r [Place<'r>],
    old_places: &'r [Place<'r>],
    before: Kubelet,
    after: Kubelet,
    /// Whether a place needs a check.
    needs_check: Vec<bool>,
    /// Whether a container is no image check, and starts after an image check of its own image.
    has_check: Vec<bool>,
    /// Whether a place is work that may not be half done.
    is_work: Vec<bool>,
    /// The index of each old place, in the Pod that came in and in the returned Pod.
    kept: Vec<(usize, usize)>,
    /// The containers that *pull-once* lowered.
    lowered: Vec<usize>,
    /// Whether the images of the Pod have to be covered.
    is_covered: bool,
    /// Whether the Pod has to start as it would have started.
    is_as_before: bool,
    /// Whether only `PinAlways` changes images, each of them with `Always` at all of its places.
    pins_only_always: bool,
}

/// The promises that are broken, each in the first world that breaks it, and the number of worlds.
pub(super) fn broken(repaired: &Repaired) -> (Vec<BrokenPromise>, usize) {
    let mut images = Images::default();
    let start = Start::of(repaired, &mut images);
    let worlds = worlds(images.0.len());
    let mut broken: Vec<BrokenPromise> = Vec::new();
    for world in &worlds {
        let result = start.after.start(world, None);
        for (promise, problem) in PROMISES {
            if broken.iter().all(|one| one.promise != promise)
                && let Some(problem) = problem(&start, world, &result)
            {
                let details = format!("{problem}; {}", start.told(&images, world, &result));
                broken.push(BrokenPromise { promise, details });
            }
        }
    }
    (broken, worlds.len())
}

impl<'r> Start<'r> {
    fn of(repaired: &'r Repaired<'r>, images: &mut Images) -> Self {
        let (old, new, settings) = (&repaired.old, &repaired.new, repaired.settings());
        let after = kubelet::of(new, images);
        let before = kubelet::of(old, images);
        let places = || new.places.iter().enumerate();
        let is_covered =
            settings.on_missing() == "Add" && new.may_lack_checks() && !repaired.lacks_a_check();
        let is_plain =
            settings.get("images").is_none() && old.places.iter().all(|place| !place.is_exempt);
        let is_as_before = is_plain && settings.get("registry").is_none();
        let was_always = |(old, new): (&Place, &Place)| {
            old.image == new.image || old.pull_policy == PullPolicy::Always
        };
        let pins_only_always =
            is_plain && settings.lookup() == "PinAlways" && repaired.pairs().all(was_always);
        Self {
            places: &new.places,
            old_places: &old.places,
            needs_check: places().map(|(_, place)| new.needs_check(place)).collect(),
            has_check: places()
                .map(|(index, _)| has_check(new, &after, index))
                .collect(),
            is_work: new.places.iter().map(|place| is_work(new, place)).collect(),
            kept: new.kept_from(old),
            lowered: places()
                .filter(|(_, place)| repaired.is_spared(place))
                .map(|(index, _)| index)
                .collect(),
            is_covered,
            is_as_before,
            pins_only_always,
            before,
            after,
        }
    }

    /// Says what started, and in which world.
    fn told(&self, images: &Images, world: &World, result: &Started) -> String {
        let places = 0..self.places.len();
        let started = places.filter(|place| result.started[*place].is_some());
        let names = |places: &[usize]| -> String {
            places
                .iter()
                .map(|place| self.places[*place].name)
                .collect::<Vec<_>>()
                .join(" ")
        };
        let images = images.0.iter().map(|(image, number)| {
            let whereabouts = world[*number];
            let registry = if whereabouts.is_in_registry {
                "current"
            } else {
                "nothing"
            };
            format!("{image} node {:?} registry {registry}", whereabouts.node)
        });
        format!(
            "started [{}], waiting [{}], in the world {}",
            names(&started.collect::<Vec<_>>()),
            names(&result.waiting),
            images.collect::<Vec<_>>().join(", ")
        )
    }
}

/// Whether a container that is no image check starts after an image check of its own image. A
/// container pulls its own image after its image volumes.
fn has_check(pod: &Pod, kubelet: &Kubelet, container: usize) -> bool {
    let place = &pod.places[container];
    let mut containers = kubelet.containers();
    let Some((_, own)) = containers.find(|(one, _)| *one == container) else {
        return false;
    };
    let is_pulled = |check: &Place| {
        kubelet.containers().any(|(index, stage)| {
            let other = &pod.places[index];
            let is_check = other.list == check.list && other.index == check.index;
            (stage < own && (is_check || other.mounts_volume(check)))
                || (index == container && other.mounts_volume(check))
        })
    };
    !place.is_exempt && !pod.is_check(place) && pod.checks_of(place).any(is_pulled)
}

/// Whether a place is work: an app container; if checks are image volumes, also an init container
/// from the first one on, checks apart.
fn is_work(pod: &Pod, place: &Place) -> bool {
    let first = pod
        .first_init_container()
        .filter(|_| pod.has_volumes_as_checks());
    let is_work = match place.list {
        List::Containers => true,
        List::InitContainers => first.is_some_and(|first| place.index >= first.index),
        _ => false,
    };
    is_work && !place.is_exempt && !pod.is_check(place)
}

/// No container that is no image check, of whatever list, waits for its image while an image check
/// of this image, after which it starts, has succeeded.
fn checks_are_enough(start: &Start<'_>, _: &World, result: &Started) -> Option<String> {
    let mut waiting = result.waiting.iter();
    let waiting = waiting.find(|waiting| start.has_check[**waiting])?;
    Some(format!("{} waits", start.places[*waiting].name))
}

/// No app container starts while another waits for its image. If checks are image volumes, nothing
/// starts from the first init container on, checks apart, while a place that needs a check waits.
fn no_work_is_half_done(start: &Start<'_>, _: &World, result: &Started) -> Option<String> {
    let mut waiting = result.waiting.iter().filter(|_| start.is_covered);
    let waiting = waiting.find(|waiting| start.needs_check[**waiting])?;
    let mut places = 0..start.places.len();
    let started = places.find(|place| start.is_work[*place] && result.started[*place].is_some())?;
    let [started, waiting] = [started, *waiting].map(|place| start.places[place].name);
    Some(format!("{started} started while {waiting} waits"))
}

/// If the whole Pod would have started as it came in, it starts. No container with `Always` gets an
/// older image than it would have got.
fn starts_as_before(start: &Start<'_>, world: &World, result: &Started) -> Option<String> {
    if !start.is_as_before {
        return None;
    }
    let before = start.before.start(world, None);
    if before.waiting.is_empty() && !result.waiting.is_empty() {
        return Some("the Pod would have started".to_owned());
    }
    let older = start.kept.iter().find(|(old, new)| {
        let both = before.started[*old].zip(result.started[*new]);
        start.old_places[*old].pull_policy == PullPolicy::Always
            && both.is_some_and(|(before, after)| after < before)
    });
    older.map(|(_, new)| format!("{} gets an older image", start.places[*new].name))
}

/// No container that *pull-once* lowered waits for its own image, even if this image's registry is
/// away from the end of the pull on that spared it.
fn spared_pulls_are_not_missed(start: &Start<'_>, world: &World, _: &Started) -> Option<String> {
    let images: BTreeSet<usize> = start
        .lowered
        .iter()
        .filter_map(|place| start.after.image(*place))
        .collect();
    let in_registry = images
        .into_iter()
        .filter(|image| world[*image].is_in_registry);
    for image in in_registry {
        let waiting = start.after.start(world, Some(image)).waiting;
        let mut waiting = waiting
            .iter()
            .filter(|place| start.after.image(**place) == Some(image));
        if let Some(place) = waiting.find(|place| start.lowered.contains(place)) {
            let name = start.places[*place].name;
            return Some(format!(
                "{name} waits if its registry is away after the pull that spared it"
            ));
        }
    }
    None
}

/// Under `PinAlways`, no Pod waits while registries are away that would not have waited as it came
/// in.
fn starts_without_registries(start: &Start<'_>, world: &World, result: &Started) -> Option<String> {
    let is_asked = start.pins_only_always && world.iter().all(|image| !image.is_in_registry);
    let waits = is_asked
        && !result.waiting.is_empty()
        && start.before.start(world, None).waiting.is_empty();
    waits.then(|| "the Pod would have started".to_owned())
}

impl Repaired<'_> {
    /// Whether a warning says that a check is missing.
    fn lacks_a_check(&self) -> bool {
        let mut findings = self.observed.list("findings").into_iter();
        findings.any(|finding| {
            finding["more"].is_u64()
                || finding["rule"] == "missing-check" && finding["expected"] == "an image check"
        })
    }

    /// Whether *pull-once* lowered a place.
    fn is_spared(&self, place: &Place) -> bool {
        let path = place.path("");
        let mut changes = self.observed.list("changes").into_iter();
        changes
            .any(|change| change["rule"] == "pull-once" && text(&change["path"]).starts_with(&path))
    }
}
