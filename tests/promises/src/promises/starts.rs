//! How a repaired Pod starts, in a [model of a kubelet](crate::kubelet) and in all worlds of its
//! images. Exempt containers are apart.

use super::repair::faults;
use super::{BrokenPromise, Repaired};
use crate::image::PullPolicy;
use crate::json::text;
use crate::kubelet::{self, Images, Kubelet, Started, World, worlds};
use crate::words::{List, Place, Pod};

/// A promise about the start of a returned Pod in one world. Returns the place with which something
/// is wrong.
type InWorld = fn(&Start<'_>, &World, &Started) -> Option<usize>;

const PROMISES: [(&str, InWorld); 4] = [
    ("a-check-that-succeeded-is-enough", checks_are_enough),
    ("no-work-is-half-done", no_work_is_half_done),
    ("what-would-have-started-starts", starts_as_before),
    ("a-spared-pull-is-not-missed", spared_pulls_are_not_missed),
];

/// What is the same in all worlds. A place is known by its index in the returned Pod.
struct Start<'r> {
    old: &'r Pod<'r>,
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
    /// Whether the Pod has to start as it would have started. A check template can mount an image
    /// volume that nothing mounted before: then the Pod waits for one image more.
    is_as_before: bool,
}

/// The promises that are broken, each in the first world that breaks it, and the number of worlds.
/// A Pod that the API server refuses isn't started.
pub(super) fn broken(repaired: &Repaired) -> (Vec<BrokenPromise>, usize) {
    let mut broken: Vec<BrokenPromise> = Vec::new();
    if !faults(repaired.before).is_empty() {
        return (broken, 0);
    }
    let mut images = Images::default();
    let start = Start::of(repaired, &mut images);
    let worlds = worlds(images.0.len());
    for world in &worlds {
        let result = start.after.start(world, None);
        for (promise, wrong_place) in PROMISES {
            if broken.iter().all(|one| one.promise != promise)
                && let Some(place) = wrong_place(&start, world, &result)
            {
                let name = repaired.new.places[place].name;
                let details = format!("{name}: {result:?} in {world:?} of {images:?}");
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
        let each = |is_so: &dyn Fn(&Place) -> bool| new.places.iter().map(is_so).collect();
        let is_set = |section| settings.get(section).is_some();
        let kept = new.places.iter().enumerate();
        let kept = kept.filter_map(|(index, place)| {
            let is_same = |old: &Place| old.list == place.list && old.name == place.name;
            Some((old.places.iter().position(is_same)?, index))
        });
        let kept: Vec<(usize, usize)> = kept.collect();
        let places = 0..new.places.len();
        let is_kept = |place| kept.iter().any(|(_, kept)| *kept == place);
        let is_mounted = |volume: &Place, by_kept: bool| {
            let mut mounting = places.clone().filter(|place| is_kept(*place) == by_kept);
            mounting.any(|place| new.places[place].mounts_volume(volume))
        };
        let mut volumes = kept.iter().map(|(_, place)| &new.places[*place]);
        let is_new_wait =
            volumes.any(|volume| is_mounted(volume, false) && !is_mounted(volume, true));
        Self {
            old,
            before: kubelet::of(old, images),
            needs_check: each(&|place| new.needs_check(place)),
            has_check: places
                .clone()
                .map(|place| has_check(new, &after, place))
                .collect(),
            is_work: each(&|place| is_work(new, place)),
            kept,
            lowered: places
                .filter(|place| repaired.is_spared(&new.places[*place]))
                .collect(),
            is_covered: settings.on_missing() == "Add"
                && new.may_lack_checks()
                && !repaired.lacks_a_check(),
            is_as_before: !is_set("images") && !is_set("registry") && !is_new_wait,
            after,
        }
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
    let is_check_of = |check: &&Place| pod.is_check(check) && check.is_same_image(place);
    let mut checks = pod.places.iter().filter(is_check_of);
    !place.is_exempt && !pod.is_check(place) && checks.any(is_pulled)
}

/// Whether a place is work: an app container; if checks are image volumes, also an init container
/// from the first one on, checks apart.
fn is_work(pod: &Pod, place: &Place) -> bool {
    let first = pod.first_init_container();
    let first = first.filter(|_| pod.has_volumes_as_checks());
    let is_work = match place.list {
        List::Containers => true,
        List::InitContainers => first.is_some_and(|first| place.index >= first.index),
        _ => false,
    };
    is_work && !place.is_exempt && !pod.is_check(place)
}

/// No container that is no image check, of whatever list, waits for its image while an image check
/// of this image, after which it starts, has succeeded.
fn checks_are_enough(start: &Start<'_>, _: &World, result: &Started) -> Option<usize> {
    let mut waiting = result.waiting.iter().copied();
    waiting.find(|waiting| start.has_check[*waiting])
}

/// No app container starts while another waits for its image. If checks are image volumes, nothing
/// starts from the first init container on, checks apart, while a place that needs a check waits.
fn no_work_is_half_done(start: &Start<'_>, _: &World, result: &Started) -> Option<usize> {
    let mut waiting = result.waiting.iter();
    let is_waiting = start.is_covered && waiting.any(|waiting| start.needs_check[*waiting]);
    let mut places = 0..result.started.len();
    places.find(|place| is_waiting && start.is_work[*place] && result.started[*place].is_some())
}

/// If the whole Pod would have started as it came in, it starts. No container with `Always` gets an
/// older image than it would have got.
fn starts_as_before(start: &Start<'_>, world: &World, result: &Started) -> Option<usize> {
    if !start.is_as_before {
        return None;
    }
    let before = start.before.start(world, None);
    let waiting = result.waiting.first().filter(|_| before.waiting.is_empty());
    let mut kept = start.kept.iter().copied();
    let older = kept.find(|(old, new)| {
        let both = before.started[*old].zip(result.started[*new]);
        start.old.places[*old].pull_policy == PullPolicy::Always
            && both.is_some_and(|(before, after)| after < before)
    });
    waiting.copied().or(older.map(|(_, new)| new))
}

/// No container that *pull-once* lowered waits for its own image, even if this image's registry is
/// unreachable from the end of the pull on that spared it.
fn spared_pulls_are_not_missed(start: &Start<'_>, world: &World, _: &Started) -> Option<usize> {
    let mut lowered = start.lowered.iter().copied();
    lowered.find(|place| {
        let image = start.after.image(*place);
        let is_in_registry = image.is_some_and(|image| world[image].is_in_registry);
        is_in_registry && start.after.start(world, image).waiting.contains(place)
    })
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
        let path = format!("spec.{}[{}].", place.list.key(), place.index);
        let mut changes = self.observed.list("changes").into_iter();
        changes
            .any(|change| change["rule"] == "pull-once" && text(&change["path"]).starts_with(&path))
    }
}
