//! The objects of a cluster, in groups: the objects of one controller are one workload.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::{Value, json};

use crate::controller::first_pod;
use crate::json::{list, members, text};
use crate::object::{Entry, controller, entries, namespace_of, pod_spec, template_path};
use crate::preset::Namespaces;
use crate::prune::prune;
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
    /// The Pods and workloads.
    objects: Vec<Object>,
    /// Equal objects of one namespace share a value, by their shape.
    values: HashMap<Rc<str>, Rc<Value>>,
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

/// A Pod or a workload.
#[derive(Debug)]
struct Object {
    id: Id,
    /// Its controller.
    owner: Option<Id>,
    /// What this policy reads of it.
    shape: Rc<str>,
    value: Rc<Value>,
    /// The Node on which it runs.
    node: Option<String>,
    labels: Labels,
}

type Labels = BTreeSet<(String, String)>;

/// Names an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    /// Of several objects, the start of their names, with a `*`.
    pub(crate) name: String,
}

/// The objects of one controller.
#[derive(Debug, Default)]
pub(crate) struct Workload {
    pub(crate) id: Id,
    /// The number of its Pods; without Pods, of its objects.
    pub(crate) number: usize,
    /// Its Pods, as the cluster has them, by their shapes. Without Pods, the one that its controller
    /// would make.
    pub(crate) pods: BTreeMap<Rc<str>, Variant>,
    /// Its other objects that have no controller.
    pub(crate) makers: BTreeMap<Rc<str>, Rc<Value>>,
    /// The names of its controllers.
    names: BTreeSet<String>,
    /// The labels that all of its objects have.
    labels: Option<Labels>,
    /// The Pod that its controller would make.
    made: Option<Value>,
}

/// Pods that are the same for this policy.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) stored: Rc<Value>,
    /// The Pod as it was before this policy repaired it.
    pub(crate) written: Rc<Value>,
    /// How many there are.
    number: usize,
    /// The nodes on which such Pods run.
    pub(crate) nodes: BTreeSet<String>,
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
        let kind = text(&object, "/kind").to_owned();
        match (&*kind, text(&object, "/apiVersion")) {
            ("Namespace", "v1") => self.namespaces.add(&object),
            ("Node", "v1") => self.nodes.push(Node::new(&object)),
            _ if pod_spec(&object).is_some() => self.add_workload(object),
            _ => {}
        }
        let number = self.kinds.entry(kind).or_default();
        *number = number.saturating_add(1);
    }

    fn add_workload(&mut self, mut object: Value) {
        let is_running = ["", "Running"].contains(&text(&object, "/status/phase"));
        prune(&mut object);
        let id = |kind: &str, name: String| Id {
            kind: kind.to_owned(),
            namespace: namespace_of(&object).to_owned(),
            name,
        };
        let owner = controller(&object)
            .map(|owner| id(text(owner, "/kind"), text(owner, "/name").to_owned()));
        let name = match text(&object, "/metadata/name") {
            "" => format!("{}*", text(&object, "/metadata/generateName")),
            name => name.to_owned(),
        };
        let id = id(text(&object, "/kind"), name);
        let labels = members(&object, "/metadata/labels")
            .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()));
        let labels: Labels = labels.collect();
        let node = text(&object, "/spec/nodeName").to_owned();
        let node = Some(node).filter(|node| is_running && !node.is_empty());
        let shape: Rc<str> = self.shape(&object).into();
        let value = self
            .values
            .entry(Rc::clone(&shape))
            .or_insert_with(|| Rc::new(object));
        self.objects.push(Object {
            value: Rc::clone(value),
            id,
            owner,
            shape,
            node,
            labels,
        });
    }

    /// What this policy and the selectors of the presets read of an object and of its pod template, as
    /// text. Two objects of one controller with the same text are the same. What controllers invent
    /// isn't in it: values of labels, names of volumes, paths and scripts.
    fn shape(&self, object: &Value) -> String {
        let of_metadata = |path: &str| {
            let labels = members(object, &format!("{path}/metadata/labels"));
            let labels = labels.map(|(key, value)| {
                let value = value.as_str().filter(|_| self.compared.contains(key));
                (&**key, value.unwrap_or_default())
            });
            let labels: BTreeMap<&str, &str> = labels.collect();
            let annotations = members(object, &format!("{path}/metadata/annotations"));
            let annotations: Vec<&String> = annotations.map(|(key, _)| key).collect();
            json!([labels, annotations])
        };
        let template = template_path(object).filter(|path| !path.is_empty());
        let owner = controller(object).map(|it| [text(it, "/kind"), text(it, "/apiVersion")]);
        let spec = pod_spec(object).unwrap_or(&Value::Null);
        let of_pod = [
            "/restartPolicy",
            "/hostUsers",
            "/runtimeClassName",
            "/os",
            "/resources",
            "/nodeSelector/kubernetes.io~1os",
            "/nodeSelector/beta.kubernetes.io~1os",
        ];
        let of_pod = of_pod.map(|path| spec.pointer(path));
        let volumes = list(spec, "/volumes").iter().map(|it| text(it, "/name"));
        let volumes: Vec<&str> = volumes.filter(|it| self.compared.contains(*it)).collect();
        let entries = entries(object);
        let is_kept = |name: &&String| {
            let is_volume = |entry: &Entry| entry.list == "volumes" && entry.name == **name;
            self.compared.contains(*name) || entries.iter().any(is_volume)
        };
        let entries = entries.iter().map(|entry| {
            let mounts: Vec<&String> = entry.mounts.iter().filter(is_kept).collect();
            json!([entry, mounts, entry.runs_a_mount])
        });
        let entries: Vec<Value> = entries.collect();
        let kind = text(object, "/kind");
        let namespace = namespace_of(object);
        json!([
            of_metadata(""),
            owner,
            of_pod,
            volumes,
            entries,
            kind,
            namespace,
            template.map(of_metadata)
        ])
        .to_string()
    }

    /// Groups the objects.
    pub(crate) fn workloads(&mut self) -> Vec<Workload> {
        self.values.clear();
        let objects = std::mem::take(&mut self.objects);
        let named: HashMap<&Id, &Object> =
            objects.iter().map(|object| (&object.id, object)).collect();
        let mut workloads: BTreeMap<(Id, Option<Rc<str>>), Workload> = BTreeMap::new();
        for object in &objects {
            let (mut id, root) = object.root(&named);
            let name = id.name.clone();
            let spec = pod_spec(&root.value).unwrap_or(&Value::Null);
            let ends = !["", "Always"].contains(&text(spec, "/restartPolicy"));
            // A CI controller makes thousands of objects whose work ends. Equal ones are one
            // workload.
            let shape = (id.kind == "Job" || (ends && id.kind != "CronJob")).then(|| {
                id.name.clear();
                Rc::clone(&root.shape)
            });
            let workload = workloads.entry((id, shape)).or_default();
            workload.names.insert(name);
            workload.add(object);
        }
        let workloads = workloads.into_iter();
        let mut workloads: Vec<Workload> = workloads
            .map(|((id, _), workload)| workload.finished(id))
            .collect();
        tell_apart(&mut workloads);
        workloads
    }
}

impl Object {
    /// The first controller in the chain of controllers, and the first one of them that is in the
    /// input.
    fn root<'o>(&'o self, named: &HashMap<&Id, &'o Self>) -> (Id, &'o Self) {
        let (mut id, mut root) = (self.id.clone(), self);
        let mut owner = self.owner.clone();
        // No chain of controllers is as long. The limit ends a circle.
        for _ in 0..8 {
            let Some(name) = owner else {
                break;
            };
            let name = if named.contains_key(&name) {
                name
            } else {
                self.guess(name)
            };
            let next = named.get(&name);
            owner = next.and_then(|next| next.owner.clone());
            root = next.unwrap_or(&root);
            id = name;
        }
        (id, root)
    }

    /// The controller's controller, as far as the controller's name tells: a `ReplicaSet` is a
    /// Deployment's, and a Job with a time in its name a `CronJob`'s.
    fn guess(&self, owner: Id) -> Id {
        let (start, end) = owner.name.rsplit_once('-').unwrap_or((&owner.name, ""));
        let label = ("pod-template-hash".to_owned(), end.to_owned());
        let is_time = end.len() >= 8 && end.bytes().all(|byte| byte.is_ascii_digit());
        let (kind, name) = match &*owner.kind {
            "ReplicaSet" if self.labels.contains(&label) => ("Deployment", start),
            "Job" if is_time => ("CronJob", start),
            "Node" => {
                // A kubelet appends the name of its node to the name of a static Pod.
                let pod = &*self.id.name;
                let without = pod
                    .strip_suffix(&owner.name)
                    .and_then(|pod| pod.strip_suffix('-'));
                ("static Pod", without.unwrap_or(pod))
            }
            _ => return owner,
        };
        Id {
            kind: kind.to_owned(),
            name: name.to_owned(),
            ..owner
        }
    }
}

impl Workload {
    fn add(&mut self, object: &Object) {
        let labels = self.labels.get_or_insert_with(|| object.labels.clone());
        labels.retain(|label| object.labels.contains(label));
        if object.id.kind == "Pod" {
            let variant = self.pods.entry(Rc::clone(&object.shape));
            let variant = variant.or_insert_with(|| Variant::new(&object.value));
            variant.number = variant.number.saturating_add(1);
            variant.nodes.extend(object.node.clone());
            return;
        }
        self.number = self.number.saturating_add(1);
        if self.made.is_none() {
            self.made = first_pod(&object.value);
        }
        if object.owner.is_none() {
            let shape = Rc::clone(&object.shape);
            self.makers.insert(shape, Rc::clone(&object.value));
        }
    }

    fn finished(mut self, id: Id) -> Self {
        if !self.pods.is_empty() {
            self.number = self.pods.values().map(|pod| pod.number).sum();
        } else if let Some(made) = self.made.take() {
            self.pods.insert("".into(), Variant::new(&Rc::new(made)));
        }
        self.id = Id {
            name: common_name(&self.names),
            ..id
        };
        self
    }

    /// What can tell this workload from others, the best first.
    fn traits(&self) -> Vec<String> {
        let labels = self.labels.iter().flatten();
        // Longer values are random.
        let labels = labels.filter(|(_, value)| (1..32).contains(&value.len()));
        let labels = labels.map(|(key, value)| {
            let key = key.rsplit('/').next().unwrap_or(key);
            format!("{key}={value}")
        });
        let pods = self.pods.values();
        let entries: Vec<_> = pods.flat_map(|pod| entries(&pod.written)).collect();
        let images = entries.iter().map(|entry| entry.image.clone());
        let containers = entries.iter().map(|entry| entry.name.clone());
        labels.chain(images).chain(containers).collect()
    }
}

impl Variant {
    fn new(stored: &Rc<Value>) -> Self {
        Self {
            written: without_repairs(stored).map_or_else(|| Rc::clone(stored), Rc::new),
            stored: Rc::clone(stored),
            number: 0,
            nodes: BTreeSet::new(),
        }
    }
}

impl Node {
    fn new(node: &Value) -> Self {
        let info = |key| text(node, &format!("/status/nodeInfo/{key}"));
        let images = list(node, "/status/images").iter();
        let names = images.flat_map(|image| list(image, "/names"));
        let minor = info("kubeletVersion").split('.').nth(1);
        Self {
            name: text(node, "/metadata/name").to_owned(),
            minor: minor.and_then(|minor| minor.parse().ok()),
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
    let (start, _) = common.rsplit_once('-').unwrap_or_default();
    let dash = if start.is_empty() { "" } else { "-" };
    format!("{start}{dash}*")
}

/// Workloads of one name get the first of these that no other of them has: a label, an image, a
/// container.
fn tell_apart(workloads: &mut [Workload]) {
    // How many workloads of a name have a trait. They all have the empty one.
    let mut counts: HashMap<(Id, String), usize> = HashMap::new();
    for workload in workloads.iter() {
        let traits: BTreeSet<String> = workload.traits().into_iter().collect();
        for one in traits.into_iter().chain([String::new()]) {
            let count = counts.entry((workload.id.clone(), one)).or_default();
            *count = count.saturating_add(1);
        }
    }
    for (number, workload) in (1..).zip(workloads) {
        let id = workload.id.clone();
        let is_shared = |one: &String| counts.get(&(id.clone(), one.clone())) > Some(&1);
        if is_shared(&String::new()) {
            let own = workload.traits().into_iter().find(|one| !is_shared(one));
            let own = own.unwrap_or_else(|| number.to_string());
            workload.id.name = format!("{} ({own})", id.name);
        }
    }
}
