//! The objects of a cluster, in groups: the objects of one controller are one workload.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::{Value, json};

use crate::controller::first_pod;
use crate::json::{at, list, members, text};
use crate::object::{Entry, Kind, controller, entries, pod_spec};
use crate::preset::Namespaces;
use crate::record::without_repairs;

/// What is read of a cluster, object by object.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    pub(crate) namespaces: Namespaces,
    pub(crate) nodes: Vec<Node>,
    /// The number of objects of each kind.
    pub(crate) kinds: BTreeMap<String, usize>,
    /// The keys of the labels whose values the presets compare, and the names of the volumes that
    /// their check templates mount.
    compared: BTreeSet<String>,
    objects: Vec<Object>,
    /// The Pods that are the same for this policy and have the same controller.
    pods: HashMap<String, Object>,
    /// Equal objects, by what this policy reads of them.
    values: HashMap<String, Rc<Value>>,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// The second number of its kubelet's version.
    pub(crate) minor: Option<u32>,
    /// Its container runtime, if that can't mount an image volume.
    pub(crate) old_runtime: Option<String>,
    pub(crate) images: BTreeSet<String>,
}

/// An object that isn't grouped yet, or several Pods.
#[derive(Debug)]
struct Object {
    id: Id,
    uid: String,
    owner: Option<(Id, String)>,
    /// What differs between objects of different workloads, even if they have no controller.
    shape: String,
    value: Rc<Value>,
    number: usize,
    nodes: BTreeSet<String>,
    /// The labels that all of these objects have.
    labels: BTreeSet<(String, String)>,
    ends: bool,
}

/// Names an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Id {
    kind: String,
    namespace: String,
    name: String,
}

/// The objects of one controller.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The number of its Pods; without Pods, of its objects.
    pub(crate) number: usize,
    /// Its Pods, as the cluster has them. Without Pods, the one that its controller would make.
    pub(crate) pods: Vec<Variant>,
    /// Its other objects that have no controller.
    pub(crate) makers: Vec<Rc<Value>>,
    labels: BTreeSet<(String, String)>,
}

/// Pods that are the same for this policy.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) stored: Rc<Value>,
    /// The Pod as it was before this policy repaired it.
    pub(crate) written: Rc<Value>,
    /// The nodes on which such Pods run.
    pub(crate) nodes: BTreeSet<String>,
}

#[derive(Default)]
struct Draft {
    names: BTreeSet<String>,
    pods: usize,
    objects: usize,
    labels: Option<BTreeSet<(String, String)>>,
    variants: BTreeMap<String, Variant>,
    makers: BTreeMap<String, Rc<Value>>,
    made: Option<Value>,
}

impl Cluster {
    /// A cluster without objects. The presets compare the values of these labels, and the names of
    /// these volumes.
    pub(crate) fn new(compared: BTreeSet<String>) -> Self {
        Self {
            compared,
            ..Self::default()
        }
    }

    /// Adds an object.
    pub(crate) fn add(&mut self, object: Value) {
        let kind = text(&object, &["kind"]).to_owned();
        let version = text(&object, &["apiVersion"]);
        match (&*kind, version) {
            ("Namespace", "v1") => self.namespaces.add(&object),
            ("Node", "v1") => self.nodes.push(Node::new(&object)),
            _ if pod_spec(&object).is_some() => self.add_workload(object),
            _ => {}
        }
        let number = self.kinds.entry(kind).or_default();
        *number = number.saturating_add(1);
    }

    fn add_workload(&mut self, object: Value) {
        let kind = text(&object, &["kind"]);
        let namespace = match text(&object, &["metadata", "namespace"]) {
            "" => "default",
            name => name,
        };
        let id = |kind: &str, name: &str| Id {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let owner = controller(&object).map(|owner| {
            let (kind, name) = root_of(text(owner, &["kind"]), text(owner, &["name"]), &object);
            (id(&kind, &name), text(owner, &["uid"]).to_owned())
        });
        let is_pod = kind == "Pod";
        let labels = members(&object, &["metadata", "labels"])
            .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()));
        let labels: BTreeSet<(String, String)> = labels.collect();
        let shape = self.shape(&object, &labels);
        let node = text(&object, &["spec", "nodeName"]);
        let is_running = ["", "Running"].contains(&text(&object, &["status", "phase"]));
        let nodes: BTreeSet<String> = (is_running && !node.is_empty())
            .then(|| node.to_owned())
            .into_iter()
            .collect();
        let name = match text(&object, &["metadata", "name"]) {
            "" => format!("{}*", text(&object, &["metadata", "generateName"])),
            name => name.to_owned(),
        };
        let own = id(kind, &name);
        let restarts = pod_spec(&object).map_or("", |spec| text(spec, &["restartPolicy"]));
        let mut new = Object {
            ends: !["", "Always"].contains(&restarts),
            uid: text(&object, &["metadata", "uid"]).to_owned(),
            value: Rc::new(Value::Null),
            number: 1,
            nodes,
            labels,
            id: own,
            owner,
            shape,
        };
        if is_pod {
            // Pods of one controller that are the same need one value.
            let of = new.owner.as_ref().map_or(&new.id, |(owner, _)| owner);
            let key = format!("{}/{}/{} {}", of.kind, of.namespace, of.name, new.shape);
            if let Some(known) = self.pods.get_mut(&key) {
                known.number = known.number.saturating_add(1);
                known.nodes.append(&mut new.nodes);
                known.labels.retain(|label| new.labels.contains(label));
                return;
            }
            new.value = self.value(&new, object);
            self.pods.insert(key, new);
        } else {
            new.value = self.value(&new, object);
            self.objects.push(new);
        }
    }

    /// Equal objects of one namespace share a value.
    fn value(&mut self, new: &Object, object: Value) -> Rc<Value> {
        let key = format!("{} {} {}", new.id.kind, new.id.namespace, new.shape);
        let value = self.values.entry(key).or_insert_with(|| Rc::new(object));
        Rc::clone(value)
    }

    /// What this policy and the selectors of the presets read of an object, as text. Two objects of
    /// one controller with the same text are the same. What controllers invent isn't in it: values of
    /// labels, names of volumes, paths and scripts.
    fn shape(&self, object: &Value, labels: &BTreeSet<(String, String)>) -> String {
        let labels: BTreeMap<&str, &str> = labels
            .iter()
            .map(|(key, value)| {
                let is_compared = self.compared.contains(key);
                (&**key, if is_compared { value } else { "" })
            })
            .collect();
        let annotations: Vec<&String> = members(object, &["metadata", "annotations"])
            .map(|(key, _)| key)
            .collect();
        let owner = controller(object).map(|owner| text(owner, &["kind"]));
        let spec = pod_spec(object).unwrap_or(&Value::Null);
        let of_pod = [
            "restartPolicy",
            "hostUsers",
            "runtimeClassName",
            "os",
            "resources",
        ];
        let of_pod = of_pod.map(|key| spec.get(key));
        let os = ["", "beta."].map(|prefix| {
            let key = format!("{prefix}kubernetes.io/os");
            text(spec, &["nodeSelector", &key])
        });
        let volumes = list(spec, &["volumes"]).iter();
        let volumes = volumes.map(|volume| text(volume, &["name"]));
        let volumes: Vec<&str> = volumes
            .filter(|name| self.compared.contains(*name))
            .collect();
        let entries = entries(spec);
        let is_kept = |name: &&String| {
            let is_volume = |entry: &Entry| entry.list == "volumes" && entry.name == **name;
            self.compared.contains(*name) || entries.iter().any(is_volume)
        };
        let entries = entries.iter().map(|entry| {
            let mounts: Vec<&String> = entry.mounts.iter().filter(is_kept).collect();
            json!([entry, mounts, entry.runs_a_mount])
        });
        let entries: Vec<Value> = entries.collect();
        json!([labels, annotations, owner, of_pod, os, volumes, entries]).to_string()
    }

    /// Groups the objects.
    pub(crate) fn workloads(&mut self) -> Vec<Workload> {
        let objects = std::mem::take(&mut self.objects);
        let pods = std::mem::take(&mut self.pods);
        self.values.clear();
        let by_uid: HashMap<&str, &Object> = objects
            .iter()
            .filter(|object| !object.uid.is_empty())
            .map(|object| (&*object.uid, object))
            .collect();
        let named: HashMap<&Id, &Object> =
            objects.iter().map(|object| (&object.id, object)).collect();
        let root = |object: &Object| {
            let (mut id, mut found) = (object.id.clone(), None);
            let mut owner = object.owner.as_ref();
            // No chain of controllers is as long. The limit ends a circle.
            for _ in 0..8 {
                let Some((name, uid)) = owner else {
                    break;
                };
                let next = by_uid.get(&**uid).or_else(|| named.get(name)).copied();
                id = next.map_or(name, |next| &next.id).clone();
                owner = next.and_then(|next| next.owner.as_ref());
                found = next.or(found);
            }
            (id, found.map(|root| (root.shape.clone(), root.ends)))
        };
        let mut drafts: BTreeMap<(Id, String), Draft> = BTreeMap::new();
        for (object, is_pod) in objects
            .iter()
            .map(|object| (object, false))
            .chain(pods.values().map(|pod| (pod, true)))
        {
            let (mut id, found) = root(object);
            let (shape, ends) = found.unwrap_or_else(|| (object.shape.clone(), object.ends));
            let name = id.name.clone();
            // A CI controller makes thousands of objects whose work ends. Equal ones are one
            // workload.
            let is_named = id.kind != "Job" && id.kind != "Pod" && Kind::is_known(&id.kind);
            let shape = if !is_named && (ends || id.kind == "Job") {
                id.name.clear();
                shape
            } else {
                String::new()
            };
            let draft = drafts.entry((id, shape)).or_default();
            draft.names.insert(name);
            let labels = draft.labels.get_or_insert_with(|| object.labels.clone());
            labels.retain(|label| object.labels.contains(label));
            if is_pod {
                draft.pods = draft.pods.saturating_add(object.number);
                let variant = draft.variants.entry(object.shape.clone());
                let variant = variant.or_insert_with(|| Variant::new(&object.value));
                variant.nodes.extend(object.nodes.iter().cloned());
            } else {
                draft.objects = draft.objects.saturating_add(1);
                if draft.made.is_none() {
                    draft.made = first_pod(&object.value);
                }
                if object.owner.is_none() {
                    draft
                        .makers
                        .insert(object.shape.clone(), Rc::clone(&object.value));
                }
            }
        }
        let mut workloads: Vec<Workload> = drafts
            .into_iter()
            .map(|((id, _), draft)| draft.workload(id))
            .collect();
        tell_apart(&mut workloads);
        workloads
    }
}

impl Node {
    fn new(node: &Value) -> Self {
        let info = |key| text(node, &["status", "nodeInfo", key]);
        let images = list(node, &["status", "images"]).iter();
        let names = images.flat_map(|image| list(image, &["names"]));
        Self {
            name: text(node, &["metadata", "name"]).to_owned(),
            minor: info("kubeletVersion")
                .split('.')
                .nth(1)
                .and_then(|minor| minor.parse().ok()),
            old_runtime: old_runtime(info("containerRuntimeVersion")),
            images: names
                .filter_map(|name| Some(name.as_str()?.to_owned()))
                .collect(),
        }
    }
}

/// A runtime such as `containerd://2.0.11` in words, if it can't mount an image volume:
/// containerd can since 2.1, CRI-O since 1.31, and no Docker can.
fn old_runtime(runtime: &str) -> Option<String> {
    let (name, version) = runtime.split_once("://")?;
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    let version_of = (numbers.next()?, numbers.next().unwrap_or(0));
    let is_old = match name {
        "containerd" => version_of < (2, 1),
        "cri-o" => version_of < (1, 31),
        "docker" => true,
        _ => false,
    };
    is_old.then(|| format!("{name} {version}"))
}

impl Variant {
    fn new(stored: &Rc<Value>) -> Self {
        Self {
            written: without_repairs(stored).map_or_else(|| Rc::clone(stored), Rc::new),
            stored: Rc::clone(stored),
            nodes: BTreeSet::new(),
        }
    }
}

impl Draft {
    fn workload(mut self, id: Id) -> Workload {
        if let Some(made) = self.made.filter(|_| self.variants.is_empty()) {
            self.variants
                .insert(String::new(), Variant::new(&Rc::new(made)));
        }
        Workload {
            name: common_name(&self.names),
            number: if self.pods > 0 {
                self.pods
            } else {
                self.objects
            },
            pods: self.variants.into_values().collect(),
            makers: self.makers.into_values().collect(),
            labels: self.labels.unwrap_or_default(),
            kind: id.kind,
            namespace: id.namespace,
        }
    }
}

/// The controller's controller, as far as the controller's name tells: a `ReplicaSet` is a
/// Deployment's, and a Job with a time in its name a `CronJob`'s.
fn root_of(kind: &str, name: &str, owned: &Value) -> (String, String) {
    let label = at(owned, &["metadata", "labels", "pod-template-hash"]).and_then(Value::as_str);
    let (start, end) = name.rsplit_once('-').unwrap_or((name, ""));
    let is_time = end.len() >= 8 && end.bytes().all(|byte| byte.is_ascii_digit());
    let (kind, name) = match kind {
        "ReplicaSet" if label == Some(end) => ("Deployment", start),
        "Job" if is_time => ("CronJob", start),
        "Node" => {
            // A kubelet appends the name of its node to the name of a static Pod.
            let pod = text(owned, &["metadata", "name"]);
            let without = pod.strip_suffix(name).and_then(|pod| pod.strip_suffix('-'));
            ("static Pod", without.unwrap_or(pod))
        }
        _ => (kind, name),
    };
    (kind.to_owned(), name.to_owned())
}

/// The common start of some names, up to its last dash, with a `*`.
fn common_name(names: &BTreeSet<String>) -> String {
    let (Some(first), Some(last)) = (names.first(), names.last()) else {
        return String::new();
    };
    if names.len() == 1 {
        return first.clone();
    }
    // The names are sorted, so the first and the last differ most.
    let both = first.chars().zip(last.chars());
    let common: String = both.take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    let end = common.rfind('-').map_or(0, |dash| dash.saturating_add(1));
    format!("{}*", common.get(..end).unwrap_or_default())
}

/// Workloads of one name get the first of these that no other of them has: a label, an image, a
/// container.
fn tell_apart(workloads: &mut [Workload]) {
    let mut names: BTreeMap<[String; 3], Vec<usize>> = BTreeMap::new();
    for (index, workload) in workloads.iter().enumerate() {
        let name = [&workload.kind, &workload.namespace, &workload.name].map(Clone::clone);
        names.entry(name).or_default().push(index);
    }
    for same in names.into_values().filter(|same| same.len() > 1) {
        let of_each: Vec<Vec<String>> = same
            .iter()
            .filter_map(|index| workloads.get(*index).map(Workload::traits))
            .collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for name in of_each
            .iter()
            .flat_map(|of_one| of_one.iter().collect::<BTreeSet<_>>())
        {
            let count = counts.entry(name).or_default();
            *count = count.saturating_add(1);
        }
        for (number, (index, of_one)) in same.into_iter().zip(&of_each).enumerate() {
            let own = of_one.iter().find(|name| counts.get(&***name) == Some(&1));
            let number = number.saturating_add(1).to_string();
            if let Some(workload) = workloads.get_mut(index) {
                workload.name = format!("{} ({})", workload.name, own.unwrap_or(&number));
            }
        }
    }
}

impl Workload {
    /// What can tell this workload from others, the best first.
    fn traits(&self) -> Vec<String> {
        // Longer values are random.
        let labels = self
            .labels
            .iter()
            .filter(|(_, value)| (1..32).contains(&value.len()));
        let labels = labels.map(|(key, value)| {
            let key = key.rsplit('/').next().unwrap_or(key);
            format!("{key}={value}")
        });
        let pods = self.pods.iter().filter_map(|pod| pod_spec(&pod.written));
        let entries: Vec<_> = pods.flat_map(entries).collect();
        let images = entries.iter().map(|entry| entry.image.clone());
        let containers = entries.iter().map(|entry| entry.name.clone());
        labels.chain(images).chain(containers).collect()
    }
}
