//! All small Pods, in three families. Each Pod is started in all worlds, as it comes in and as this
//! policy returns it.
//!
//! Most Pods that are another one with other names (of images, app containers or volumes) are left
//! out. So is a Pod with `restartPolicy: Always` where `imageChecks.podsWithoutChecks` doesn't depend on
//! it.

use serde_json::{Value, json};

use crate::answers::Answers;
use crate::corpus::create_request;
use crate::generate::Case;
use crate::json::list_mut;

/// A set of small Pods.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// What is in its Pods.
    pub name: &'static str,
    inits: usize,
    apps: usize,
    volumes: usize,
    images: &'static [&'static str],
}

pub(crate) const IMAGES: [&str; 4] = ["x:1", "y:1", "exempt/x:1", "exempt/y:1"];
const POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];

/// The three families of which all Pods are tried.
pub const FAMILIES: [Family; 3] = [
    Family {
        name: "up to two init containers, two app containers and one image volume",
        inits: 2,
        apps: 2,
        volumes: 1,
        images: &["x:1", "y:1"],
    },
    Family {
        name: "up to one init container, two app containers and two image volumes",
        inits: 1,
        apps: 2,
        volumes: 2,
        images: &["x:1", "y:1"],
    },
    Family {
        name: "up to one init container, two app containers and one image volume, some of them exempt",
        inits: 1,
        apps: 2,
        volumes: 1,
        images: &IMAGES,
    },
];

/// A family of which some Pods are tried.
pub(crate) const LARGE: Family = Family {
    name: "up to three of each, some of them exempt",
    inits: 3,
    apps: 3,
    volumes: 3,
    images: &IMAGES,
};

/// The settings that matter for the rules about image checks, for this Pod.
#[must_use]
pub fn settings(pod: &Value) -> Vec<Value> {
    let template = json!({"command": ["/check"]});
    let every = |kind: &str, pull_once: bool| json!({"imageChecks": {"onMissing": "Add", "podsWithoutChecks": true, "type": kind, "template": template}, "pullOnce": pull_once});
    let mut all = vec![
        json!({}),
        json!({"pullOnce": false}),
        json!({"imageChecks": {"onMissing": "Add"}}),
        json!({"imageChecks": {"onMissing": "Add", "type": "ImageVolume"}}),
        every("InitContainer", true),
        every("ImageVolume", true),
        every("ImageVolume", false),
    ];
    if pod.to_string().contains("exempt/") {
        for settings in &mut all {
            settings["images"] = json!({"exempt": ["exempt/*"]});
        }
    }
    all
}

/// Makes choices: `choose(3)` is 0, 1 or 2. After [`Choices::advance`], it makes others.
#[derive(Debug, Default)]
pub struct Choices {
    /// Each choice, and the number of possibilities.
    made: Vec<(usize, usize)>,
    position: usize,
}

impl Choices {
    /// The next choice.
    pub fn choose(&mut self, count: usize) -> usize {
        if self.position == self.made.len() {
            self.made.push((0, count));
        }
        self.position += 1;
        self.made[self.position - 1].0
    }

    /// Goes on to the next list of choices. False if all have been made.
    pub fn advance(&mut self) -> bool {
        self.position = 0;
        while let Some((choice, count)) = self.made.pop() {
            if choice + 1 < count {
                self.made.push((choice + 1, count));
                return true;
            }
        }
        false
    }
}

fn is_exempt(image: &str) -> bool {
    image.starts_with("exempt/")
}

impl Family {
    /// Whether a Pod is in this family, and not in one with fewer images.
    #[must_use]
    pub fn has(self, pod: &Value) -> bool {
        self.images.len() == 2 || pod.to_string().contains("exempt/")
    }
}

/// A Pod of a family, as `choose` chooses it: `choose(3)` has to be 0, 1 or 2.
pub fn small_pod(family: Family, choose: &mut dyn FnMut(usize) -> usize) -> Value {
    let images = family.images;
    let mut checks = 0;
    let mut name = |is_check: bool, kind: &str, index: usize| {
        checks += usize::from(is_check);
        if is_check {
            format!("imagecheck-{}", checks - 1)
        } else {
            format!("{kind}{index}")
        }
    };
    let mut lists = [Vec::new(), Vec::new()];
    let mut is_work = false;
    for index in 0..choose(family.inits + 1) {
        let (kind, image) = (choose(3), images[choose(images.len())]);
        let mut container = container(image, choose(3));
        container["name"] = name(kind == 2, "i", index).into();
        if kind == 1 {
            container["restartPolicy"] = "Always".into();
        } else if kind == 2 {
            container["command"] = json!(["/check/true"]);
            container["volumeMounts"] = json!([{"name": "check", "mountPath": "/check"}]);
        }
        is_work |= kind != 1 && !is_exempt(image);
        lists[0].push(container);
    }
    // The app containers are in the order of their pull policies, and the first one has an image `x`.
    let mut policy = 0;
    for index in 0..=choose(family.apps) {
        policy += choose(3 - policy);
        let image = if index == 0 {
            2 * choose(images.len() / 2)
        } else {
            choose(images.len())
        };
        let mut container = container(images[image], policy);
        container["name"] = name(false, "a", index).into();
        lists[1].push(container);
    }
    let mut volumes = vec![json!({"name": "check", "emptyDir": {}})];
    let mounting = lists[0].len() + lists[1].len();
    let (count, mut code) = ((2 * images.len() * 3) << mounting, 0);
    for index in 0..choose(family.volumes + 1) {
        code += choose(count - code);
        let (mounts, kind) = (code % (1 << mounting), code >> mounting);
        let (is_check, kind) = (kind % 2 == 1, kind / 2);
        let name = name(is_check, "v", index);
        let containers = lists.iter_mut().flatten().enumerate();
        for (_, container) in containers.filter(|(bit, _)| mounts >> bit & 1 == 1) {
            list_mut(container, "volumeMounts")
                .push(json!({"name": name, "mountPath": format!("/{name}")}));
        }
        let (image, policy) = (images[kind / 3], POLICIES[kind % 3]);
        is_work |= is_check && !is_exempt(image);
        volumes.push(json!({"name": name, "image": {"reference": image, "pullPolicy": policy}}));
    }
    let always_restarts = !is_work && choose(2) == 1;
    let restart_policy = if always_restarts { "Always" } else { "Never" };
    let [inits, apps] = lists;
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "small", "namespace": "default"},
        "spec": {
            "restartPolicy": restart_policy,
            "initContainers": inits,
            "containers": apps,
            "volumes": volumes,
        },
    })
}

fn container(image: &str, policy: usize) -> Value {
    json!({"image": image, "imagePullPolicy": POLICIES[policy]})
}

/// Returns the case in which this Pod is created, under these settings.
#[must_use]
pub fn case(pod: &Value, settings: &Value) -> Case {
    Case {
        request: create_request(pod),
        settings: settings.clone(),
        answers: Answers::default(),
    }
}
