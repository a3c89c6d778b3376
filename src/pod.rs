//! The examined Pod: the list of its pulls, which the rules change.

mod pull;
mod spec;
mod start_order;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

pub use self::pull::Pull;
pub use self::spec::{List, MOUNT_FOLDER, Spec, mount};
pub use self::start_order::{Moment, Pulled, Start, strongest_after};
use crate::json::{self, InvalidField, lenient_list, lenient_string};
use crate::request::{Metadata, Operation, Request};
use crate::settings::Settings;

/// A Pod, or the Pods that a pod template makes.
pub struct Pod<'o> {
    pub request: &'o Request<'o>,
    pub metadata: Metadata<'o>,
    pub spec: Spec<'o>,
    pub settings: &'o Settings,
    /// The pulls: of init containers, app containers, ephemeral containers and image volumes, in
    /// this order. The checks that a rule adds come last.
    pub pulls: Vec<Pull<'o>>,
}

/// The positions of the containers that mount each volume, by the volume's name.
type Mounts<'o> = BTreeMap<&'o str, Vec<usize>>;

impl<'o> Pod<'o> {
    /// Reads the Pod of a request, whose object has this metadata.
    ///
    /// # Errors
    /// A value of the object has a wrong shape.
    pub fn read(
        request: &'o Request<'o>,
        metadata: Metadata<'o>,
        settings: &'o Settings,
    ) -> Result<Self, InvalidField<'o>> {
        let object = request.pod()?;
        let metadata = match request.operation {
            Operation::Template => Metadata::read(object)?,
            _ => metadata,
        };
        let spec = Spec::read(json::required(object, "spec")?)?;
        let lists = [List::InitContainers, List::Containers];
        let lists = lists.map(|list| spec.entries(list).map_or(0, <[_]>::len));
        let count = lists.into_iter().fold(0, usize::saturating_add);
        let mut pod = Self {
            request,
            metadata,
            spec,
            settings,
            pulls: Vec::with_capacity(count),
        };
        let mut mounts = Mounts::new();
        let stored = stored_images(request);
        for list in List::ALL {
            let apps = match list {
                List::Volumes => pod.apps().count(),
                _ => 0,
            };
            for (index, value) in spec.entries(list)?.iter().enumerate() {
                let Some(source) = list.source(value)? else {
                    continue;
                };
                let mut pull = Pull::read(list, index, value, source, settings)?;
                if list != List::Volumes {
                    add_mounts(&pull, pod.pulls.len(), &mut mounts)?;
                }
                pull.stored_image = stored.get(&(list, &*pull.name)).copied();
                pull.is_new = is_new(request.operation, &pull);
                pod.add_start(&mut pull, &mut mounts, apps);
                pod.pulls.push(pull);
            }
        }
        Ok(pod)
    }

    /// Fills in when an entry is pulled, and whether it is an image check. `apps` is the number of
    /// app containers that are not exempt.
    fn add_start(&self, pull: &mut Pull<'o>, mounts: &mut Mounts<'o>, apps: usize) {
        let mut can_be_check = pull.ends();
        pull.start = match pull.list {
            List::InitContainers => Start::init_container(pull.index),
            List::Containers => Start::app_container(),
            List::EphemeralContainers => Start::default(),
            List::Volumes => {
                let mounted_by = mounts.remove(&*pull.name).unwrap_or_default();
                let containers = || self.at(&mounted_by).map(|(_, container)| container);
                can_be_check |=
                    containers().any(|container| container.ends() || container.is_app());
                let on_apps = containers().filter(|container| container.is_app());
                let is_on_every_app = on_apps.count() == apps;
                let first = containers().next().map(|first| &first.start);
                Start::volume(first, mounted_by.clone(), is_on_every_app)
            }
        };
        let is_valid = !pull.settings.is_exempt && !pull.is_invalid();
        pull.is_check =
            is_valid && can_be_check && self.settings.image_checks.has_prefix(&pull.name);
    }

    /// Whether the rules have anything to examine.
    pub fn is_needed(&self) -> bool {
        self.pulls.iter().any(|pull| pull.is_new)
    }

    /// Whether the Pod has, or gets, an image check.
    pub fn has_checks(&self) -> bool {
        self.pulls.iter().any(|pull| pull.is_check)
    }

    /// The pulls that the rules after *invalid-image* examine, with their positions.
    pub fn examined_mut(&mut self) -> impl Iterator<Item = (usize, &mut Pull<'o>)> {
        let pulls = self.pulls.iter_mut().enumerate();
        pulls.filter(|(_, pull)| pull.is_examined())
    }

    /// The examined pulls by their image: the images in the order of their first pulls, each with
    /// the positions of its pulls.
    pub fn by_image(&self) -> Vec<Vec<usize>> {
        let mut images: BTreeMap<Cow<'_, str>, Vec<usize>> = BTreeMap::new();
        for (index, pull) in self.pulls.iter().enumerate() {
            if pull.is_examined() {
                images.entry(pull.same_image()).or_default().push(index);
            }
        }
        let mut images: Vec<Vec<usize>> = images.into_values().collect();
        // The lists are disjoint, so their first elements give the order.
        images.sort_unstable();
        images
    }

    /// The pulls at these positions, each with its position.
    pub fn at<'p>(&'p self, indexes: &'p [usize]) -> impl Iterator<Item = (usize, &'p Pull<'o>)> {
        let pull = |index: &usize| Some((*index, self.pulls.get(*index)?));
        indexes.iter().filter_map(pull)
    }

    /// The app containers that are not exempt, with their positions.
    pub fn apps(&self) -> impl Iterator<Item = (usize, &Pull<'o>)> {
        let pulls = self.pulls.iter().enumerate();
        pulls.filter(|(_, pull)| pull.is_app())
    }

    /// The first init container: the first that is neither a native sidecar nor exempt. With its
    /// position.
    pub fn first_init(&self) -> Option<(usize, &Pull<'o>)> {
        let mut pulls = self.pulls.iter().enumerate();
        pulls.find(|(_, pull)| pull.ends() && !pull.settings.is_exempt)
    }

    /// The checks that a rule has added: entries of one list, one after another.
    pub fn added(&self) -> &[Pull<'o>] {
        let count = self.pulls.iter().rev();
        let count = count.take_while(|pull| pull.added.is_some()).count();
        let from = self.pulls.len().saturating_sub(count);
        self.pulls.get(from..).unwrap_or_default()
    }
}

/// Adds the mounts of a container at this position. An ephemeral container mounts nothing while a
/// Pod starts, but its mounts have to have the right shape too.
fn add_mounts<'o>(
    container: &Pull<'o>,
    position: usize,
    mounts: &mut Mounts<'o>,
) -> Result<(), InvalidField<'o>> {
    for mount in json::list(container.value, "volumeMounts")? {
        let volume = json::string(mount, "name")?.unwrap_or_default();
        if container.list != List::EphemeralContainers {
            let containers = mounts.entry(volume).or_default();
            // A container may mount a volume several times.
            if containers.last() != Some(&position) {
                containers.push(position);
            }
        }
    }
    Ok(())
}

/// Whether the request adds a pull or changes its image. At UPDATE of a Pod, these are the init
/// containers and app containers with another image than the stored one, and at UPDATE of
/// `ephemeralcontainers`, the ephemeral containers that are not stored.
fn is_new(operation: Operation, pull: &Pull<'_>) -> bool {
    match operation {
        Operation::PodCreate | Operation::Template => true,
        Operation::PodUpdate => {
            matches!(pull.list, List::InitContainers | List::Containers)
                && pull.stored_image != Some(pull.written_image)
        }
        Operation::EphemeralUpdate => {
            pull.list == List::EphemeralContainers && pull.stored_image.is_none()
        }
    }
}

/// The images of the stored object's containers, by list and name. A container without a name is
/// ignored. One without an image has an empty one.
fn stored_images<'r>(request: &Request<'r>) -> BTreeMap<(List, &'r str), &'r str> {
    let spec = request.stored.get("spec").unwrap_or(&Value::Null);
    let mut images = BTreeMap::new();
    for list in List::ALL {
        for container in lenient_list(spec, list.name()) {
            if let Some(name) = lenient_string(container, "name") {
                let image = lenient_string(container, "image");
                images.insert((list, name), image.unwrap_or_default());
            }
        }
    }
    images
}
