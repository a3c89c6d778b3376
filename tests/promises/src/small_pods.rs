//! All small Pods, in three families. Each Pod is started in all worlds, as it comes in and as this
//! policy returns it. Only `make soak` does it: of 16 wrong edits, a sample of these Pods noticed
//! none that random Pods don't notice.
//!
//! A Pod that is another one with other names (of images, app containers or volumes) is left out.
//! So is a Pod with `restartPolicy: Always` where `imageChecks.podsWithoutChecks` doesn't depend on it.

use serde_json::{Value, json};

use crate::answers::Answers;
use crate::corpus::create_request;
use crate::generate::Case;
use crate::json::{list_mut, text};
use crate::notation::places;
use crate::policy::Policy;
use crate::promises::broken_starts;

/// A set of small Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// What is in its Pods.
    pub name: &'static str,
    inits: usize,
    volumes: usize,
    has_exempt: bool,
}

/// The three families.
pub const FAMILIES: [Family; 3] = [
    Family {
        name: "up to two init containers, two app containers and one image volume",
        inits: 2,
        volumes: 1,
        has_exempt: false,
    },
    Family {
        name: "up to one init container, two app containers and two image volumes",
        inits: 1,
        volumes: 2,
        has_exempt: false,
    },
    Family {
        name: "up to one init container, two app containers and one image volume, some of them exempt",
        inits: 1,
        volumes: 1,
        has_exempt: true,
    },
];

/// The settings that matter for the rules about image checks.
#[must_use]
pub fn settings() -> Vec<Value> {
    let template = json!({"command": ["/check"]});
    let every = |kind: &str, pull_once: bool| json!({"imageChecks": {"onMissing": "Add", "podsWithoutChecks": true, "type": kind, "template": template}, "pullOnce": pull_once});
    vec![
        json!({}),
        json!({"pullOnce": false}),
        json!({"imageChecks": {"onMissing": "Add"}}),
        json!({"imageChecks": {"onMissing": "Add", "type": "ImageVolume"}}),
        every("InitContainer", true),
        every("ImageVolume", true),
        every("ImageVolume", false),
    ]
}

const IMAGES: [&str; 2] = ["x:1", "y:1"];
const EXEMPT_IMAGES: [&str; 2] = ["exempt/x:1", "exempt/y:1"];
const POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Plain,
    Sidecar,
    Check,
    App,
}

/// A place of a small Pod. The images and the pull policies are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SmallPlace {
    kind: Kind,
    image: usize,
    policy: usize,
    is_exempt: bool,
    /// Of a volume: whether each init container and each app container mounts it.
    mounted_by: [[bool; 2]; 2],
}

impl SmallPlace {
    fn image(&self) -> &'static str {
        let images = if self.is_exempt {
            EXEMPT_IMAGES
        } else {
            IMAGES
        };
        images[self.image]
    }
}

/// A small Pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SmallPod {
    inits: Vec<SmallPlace>,
    apps: Vec<SmallPlace>,
    volumes: Vec<SmallPlace>,
    always_restarts: bool,
}

/// The digits of a number, each with its own base.
struct Digits(u64);

impl Digits {
    fn next(&mut self, base: u64) -> usize {
        let digit = self.0 % base;
        self.0 /= base;
        usize::try_from(digit).unwrap_or_default()
    }

    fn flag(&mut self) -> bool {
        self.next(2) == 1
    }
}

impl Family {
    /// The numbers of its Pods are below this one.
    #[must_use]
    pub fn end(self) -> u64 {
        let exempt = if self.has_exempt { 2 } else { 1 };
        let (init, app) = (1 + 18 * exempt, 1 + 6 * exempt);
        let volume = 1 + 12 * exempt * (1 << (self.inits + 2));
        let [inits, volumes] = [(init, self.inits), (volume, self.volumes)]
            .map(|(base, count)| (0..count).fold(1, |all, _| all * base));
        2 * inits * app * app * volumes
    }

    /// The Pod with a number. `None` if the number stands for no Pod, or for one that is left out.
    #[must_use]
    pub fn pod(self, number: u64) -> Option<SmallPod> {
        let mut digits = Digits(number);
        let always_restarts = digits.flag();
        let inits = (0..self.inits)
            .map(|_| self.place(&mut digits, &[Kind::Plain, Kind::Sidecar, Kind::Check], 0));
        let inits: Vec<_> = inits.collect();
        let apps: Vec<_> = (0..2)
            .map(|_| self.place(&mut digits, &[Kind::App], 0))
            .collect();
        let volumes = (0..self.volumes)
            .map(|_| self.place(&mut digits, &[Kind::Plain, Kind::Check], self.inits + 2));
        let volumes: Vec<_> = volumes.collect();
        let has_gap = |list: &[Option<SmallPlace>]| !list.is_sorted_by_key(Option::is_none);
        if has_gap(&inits) || has_gap(&apps) || has_gap(&volumes) || apps[0].is_none() {
            return None;
        }
        let [inits, apps, volumes] =
            [inits, apps, volumes].map(|list| list.into_iter().flatten().collect::<Vec<_>>());
        let pod = SmallPod {
            inits,
            apps,
            volumes,
            always_restarts,
        };
        (pod.mounts_exist() && pod.is_in(self) && pod.has_first_names()).then_some(pod)
    }

    fn place(self, digits: &mut Digits, kinds: &[Kind], mounting: usize) -> Option<SmallPlace> {
        let exempt = if self.has_exempt { 2 } else { 1 };
        let base = kinds.len() as u64 * 6 * exempt * (1 << mounting);
        let number = digits.next(base + 1).checked_sub(1)?;
        let mut digits = Digits(number as u64);
        let kind = kinds[digits.next(kinds.len() as u64)];
        let (image, policy) = (digits.next(2), digits.next(3));
        let is_exempt = self.has_exempt && digits.flag();
        let mut mounted_by = [[false; 2]; 2];
        if mounting > 0 {
            let inits = mounting - 2;
            mounted_by[0]
                .iter_mut()
                .take(inits)
                .for_each(|mounts| *mounts = digits.flag());
            mounted_by[1]
                .iter_mut()
                .for_each(|mounts| *mounts = digits.flag());
        }
        Some(SmallPlace {
            kind,
            image,
            policy,
            is_exempt,
            mounted_by,
        })
    }
}

impl SmallPod {
    fn mounts_exist(&self) -> bool {
        let counts = [self.inits.len(), self.apps.len()];
        self.volumes.iter().all(|volume| {
            let mut lists = volume.mounted_by.iter().zip(counts);
            lists.all(|(mounts, count)| !mounts.iter().skip(count).any(|mounts| *mounts))
        })
    }

    fn places(&self) -> impl Iterator<Item = &SmallPlace> {
        self.inits.iter().chain(&self.apps).chain(&self.volumes)
    }

    fn is_in(&self, family: Family) -> bool {
        let is_work = |init: &SmallPlace| init.kind != Kind::Sidecar && !init.is_exempt;
        let has_check = self
            .places()
            .any(|place| place.kind == Kind::Check && !place.is_exempt);
        let depends_on_restarts = !has_check && !self.inits.iter().any(is_work);
        (!family.has_exempt || self.places().any(|place| place.is_exempt))
            && (depends_on_restarts || !self.always_restarts)
    }

    /// Whether this is the first of the Pods that are equal but for their names.
    fn has_first_names(&self) -> bool {
        let swaps = (1..8).map(|swap: u8| [1, 2, 4].map(|bit| swap & bit > 0));
        swaps.into_iter().all(|swap| *self <= self.renamed(swap))
    }

    fn renamed(&self, [images, apps, volumes]: [bool; 3]) -> Self {
        let mut pod = self.clone();
        if images {
            let places = pod
                .inits
                .iter_mut()
                .chain(&mut pod.apps)
                .chain(&mut pod.volumes);
            places.for_each(|place| place.image = 1 - place.image);
        }
        if apps && pod.apps.len() == 2 {
            pod.apps.reverse();
            pod.volumes
                .iter_mut()
                .for_each(|volume| volume.mounted_by[1].reverse());
        }
        if volumes {
            pod.volumes.reverse();
        }
        pod
    }

    /// The names of the places, in the order init containers, app containers, volumes.
    fn names(&self) -> Vec<String> {
        let mut checks = 0;
        let lists = [(&self.inits, "i"), (&self.apps, "a"), (&self.volumes, "v")];
        let places = lists.into_iter().flat_map(|(list, name)| {
            list.iter()
                .enumerate()
                .map(move |(number, place)| (place, format!("{name}{number}")))
        });
        let named = places.map(|(place, name)| match place.kind {
            Kind::Check => {
                checks += 1;
                format!("imagecheck-{}", checks - 1)
            }
            _ => name,
        });
        named.collect()
    }

    /// The Pod.
    #[must_use]
    pub fn object(&self) -> Value {
        let restart_policy = if self.always_restarts {
            "Always"
        } else {
            "Never"
        };
        let mut spec = json!({"restartPolicy": restart_policy});
        let names = self.names();
        let (containers, volumes) = names.split_at(self.inits.len() + self.apps.len());
        for (index, (name, place)) in containers
            .iter()
            .zip(self.inits.iter().chain(&self.apps))
            .enumerate()
        {
            let (image, policy) = (place.image(), POLICIES[place.policy]);
            let mut container = json!({"name": name, "image": image, "imagePullPolicy": policy});
            if place.kind == Kind::Sidecar {
                container["restartPolicy"] = "Always".into();
            }
            if place.kind == Kind::Check {
                container["command"] = json!(["/check/true"]);
                list_mut(&mut container, "volumeMounts")
                    .push(json!({"name": "check", "mountPath": "/check"}));
            }
            let (list, index) = match index.checked_sub(self.inits.len()) {
                None => (0, index),
                Some(index) => (1, index),
            };
            for (volume, mounts) in volumes.iter().zip(&self.volumes) {
                if mounts.mounted_by[list][index] {
                    let mount = json!({"name": volume, "mountPath": format!("/{volume}")});
                    list_mut(&mut container, "volumeMounts").push(mount);
                }
            }
            list_mut(&mut spec, ["initContainers", "containers"][list]).push(container);
        }
        for (name, place) in volumes.iter().zip(&self.volumes) {
            let (image, policy) = (place.image(), POLICIES[place.policy]);
            list_mut(&mut spec, "volumes")
                .push(json!({"name": name, "image": {"reference": image, "pullPolicy": policy}}));
        }
        list_mut(&mut spec, "volumes").push(json!({"name": "check", "emptyDir": {}}));
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "small", "namespace": "default"},
            "spec": spec,
        })
    }

    /// Returns the case in which this Pod is created, under these settings.
    #[must_use]
    pub fn case(&self, settings: &Value) -> Case {
        let mut settings = settings.clone();
        if self.places().any(|place| place.is_exempt) {
            settings["images"] = json!({"exempt": ["exempt/*"]});
        }
        Case {
            request: create_request(&self.object()),
            settings,
            answers: Answers::default(),
        }
    }
}

/// The places of a Pod, and its restart policy.
#[must_use]
pub fn notation(pod: &Value) -> String {
    format!(
        "{}; restartPolicy {}",
        places(&pod["spec"]).join(", "),
        text(&pod["spec"]["restartPolicy"])
    )
}

/// What became of a small Pod under some settings.
#[derive(Clone, Debug, Default)]
pub struct Tried {
    /// The number of worlds in which it was started.
    pub worlds: u64,
    /// The names of the broken promises, each with the Pod, the settings and the world.
    pub broken: Vec<(&'static str, String)>,
}

/// Starts a small Pod in all worlds under these settings.
#[must_use]
pub fn try_pod(policy: &dyn Policy, pod: &SmallPod, settings: &Value) -> Tried {
    let case = pod.case(settings);
    match broken_starts(policy, &case) {
        Ok((broken, worlds, after)) => {
            let told = |details: &str| {
                format!(
                    "pod   {}\n    after {}\n    settings {}\n    {details}",
                    notation(&case.request["object"]),
                    notation(&after),
                    case.settings,
                )
            };
            let broken = broken
                .iter()
                .map(|one| (one.promise, told(&one.details)))
                .collect();
            Tried {
                worlds: worlds as u64,
                broken,
            }
        }
        Err(problem) => Tried {
            worlds: 0,
            broken: vec![("every-request-gets-an-answer", problem)],
        },
    }
}
