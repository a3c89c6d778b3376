//! The examined Pod: the list of its pulls, which the rules change.

mod entry;
mod pull;
mod spec;
mod start_order;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use strum::IntoEnumIterator;

pub use self::entry::{Entry, Sentence, What};
pub use self::pull::{Moment, Pull};
pub use self::spec::{List, MOUNT_FOLDER, Spec, mount};
use self::start_order::moment;
pub use self::start_order::strongest_after;
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
    /// What the rules did.
    pub entries: Vec<Entry<'o>>,
    /// Whether the answer returns the Pod as the rules have changed it.
    pub is_repaired: bool,
    /// The number of pulls that came in.
    requested: usize,
}

/// The positions of the containers that mount each volume, by the volume's name.
type Mounts<'o> = BTreeMap<&'o str, Vec<usize>>;

impl<'o> Pod<'o> {
    /// Reads the Pod of a request, whose object has this metadata.
    pub fn read(
        request: &'o Request<'o>,
        metadata: Metadata<'o>,
        settings: &'o Settings,
    ) -> Result<Self, InvalidField<'o>> {
        let object = request.kind.pod(request.object)?;
        let metadata = match request.operation {
            Operation::Template => Metadata::read(object)?,
            _ => metadata,
        };
        let object = json::required(object, "spec")?;
        let spec = Spec::read(object)?;
        let count = spec.count(List::InitContainers);
        let count = count.saturating_add(spec.count(List::Containers));
        let mut pod = Self {
            request,
            metadata,
            spec,
            settings,
            pulls: Vec::with_capacity(count),
            entries: Vec::new(),
            is_repaired: false,
            requested: 0,
        };
        let mut mounts = Mounts::new();
        let stored = stored_images(request);
        for list in List::iter() {
            for (index, value) in json::list(object, list.name())?.iter().enumerate() {
                if let Some(source) = list.source(value)? {
                    let mut pull = Pull::read(list, index, value, source, settings)?;
                    pod.place(&mut pull, &mut mounts)?;
                    pull.stored_image = stored.get(&(list, &*pull.name)).copied();
                    pull.is_new = is_new(request.operation, &pull);
                    pod.pulls.push(pull);
                }
            }
        }
        pod.requested = pod.pulls.len();
        Ok(pod)
    }

    /// Fills in what depends on the pulls before this one.
    fn place(&self, pull: &mut Pull<'o>, mounts: &mut Mounts<'o>) -> Result<(), InvalidField<'o>> {
        pull.position = self.pulls.len();
        if pull.list == List::Volumes {
            pull.mounted_by = mounts.remove(&*pull.name).unwrap_or_default();
        } else {
            add_mounts(pull, mounts)?;
        }
        pull.moment = moment(pull, self.at(&pull.mounted_by).next());
        pull.is_check = self.is_check(pull);
        Ok(())
    }

    /// Whether a pull is an image check.
    fn is_check(&self, pull: &Pull) -> bool {
        let mut mounting = self.at(&pull.mounted_by);
        let can_be_check =
            pull.ends || mounting.any(|container| container.ends || container.is_app());
        pull.is_valid() && can_be_check && self.settings.image_checks.has_prefix(&pull.name)
    }

    /// Whether the rules have anything to examine.
    pub fn is_needed(&self) -> bool {
        self.pulls.iter().any(|pull| pull.is_new)
    }

    /// Whether the Pod has, or gets, an image check.
    pub fn has_checks(&self) -> bool {
        self.pulls.iter().any(|pull| pull.is_check)
    }

    /// The examined pulls by their image: the images in the order of their first pulls, each with
    /// the positions of its pulls.
    pub fn by_image(&self) -> Vec<Vec<usize>> {
        let mut images: BTreeMap<Cow<'_, str>, Vec<usize>> = BTreeMap::new();
        for pull in self.pulls.iter().filter(|pull| pull.is_examined()) {
            let pulls = images.entry(pull.same_image()).or_default();
            pulls.push(pull.position);
        }
        let mut images: Vec<Vec<usize>> = images.into_values().collect();
        // The lists are disjoint, so their first elements give the order.
        images.sort_unstable();
        images
    }

    /// The pulls at these positions.
    pub fn at<'p>(&'p self, positions: &'p [usize]) -> impl Iterator<Item = &'p Pull<'o>> {
        let pull = |position: &usize| self.pulls.get(*position);
        positions.iter().filter_map(pull)
    }

    /// The app containers that are not exempt.
    pub fn apps(&self) -> impl Iterator<Item = &Pull<'o>> {
        self.pulls.iter().filter(|pull| pull.is_app())
    }

    /// The first init container: the first that is neither a native sidecar nor exempt.
    pub fn first_init(&self) -> Option<&Pull<'o>> {
        let mut pulls = self.pulls.iter();
        pulls.find(|pull| pull.ends && !pull.settings.is_exempt)
    }

    /// The checks that a rule has added: entries of one list, one after another.
    pub fn added(&self) -> &[Pull<'o>] {
        self.pulls.get(self.requested..).unwrap_or_default()
    }
}

/// Adds the mounts of a container. An ephemeral container mounts nothing while a
/// Pod starts, but its mounts have to have the right shape too.
fn add_mounts<'o>(container: &Pull<'o>, mounts: &mut Mounts<'o>) -> Result<(), InvalidField<'o>> {
    for mount in json::list(container.value, "volumeMounts")? {
        let volume = json::string(mount, "name")?.unwrap_or_default();
        if container.list != List::EphemeralContainers {
            let containers = mounts.entry(volume).or_default();
            // A container may mount a volume several times.
            if containers.last() != Some(&container.position) {
                containers.push(container.position);
            }
        }
    }
    Ok(())
}

/// Whether the request adds a pull or changes its image. At UPDATE of a Pod, these are the init
/// containers and app containers with another image than the stored one, and at UPDATE of
/// `ephemeralcontainers`, the ephemeral containers that are not stored.
fn is_new(operation: Operation, pull: &Pull) -> bool {
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
    for list in List::iter() {
        for container in lenient_list(spec, list.name()) {
            if let Some(name) = lenient_string(container, "name") {
                let image = lenient_string(container, "image");
                images.insert((list, name), image.unwrap_or_default());
            }
        }
    }
    images
}
