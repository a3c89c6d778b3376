//! The Pod spec as a list of places. A place is a container or an image volume. `pod/same_image.rs`
//! compares the images of places. The table *Words* in the module's `src/lib.rs` explains the words.
//! The front page of this crate explains the comments that begin with **Decided**.

mod change;
mod read;
mod same_image;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::image::Reference;
use crate::json::{elements, text};
use crate::policy::PullPolicy;
use crate::settings::Settings;
use crate::verdict::Finding;

/// The node labels that name a node's operating system.
pub(crate) const OS_LABELS: [&str; 2] = ["kubernetes.io/os", "beta.kubernetes.io/os"];

/// The kind of request that a Pod spec comes from, as in the table of docs/requests.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    PodCreate,
    PodUpdate,
    EphemeralContainers,
    Template,
}

/// The lists of a Pod spec whose entries can have images. The images are looked up in this order of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    Containers,
    InitContainers,
    EphemeralContainers,
    Volumes,
}

impl List {
    pub(crate) const ALL: [Self; 4] = [
        Self::Containers,
        Self::InitContainers,
        Self::EphemeralContainers,
        Self::Volumes,
    ];

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Containers => "containers",
            Self::InitContainers => "initContainers",
            Self::EphemeralContainers => "ephemeralContainers",
            Self::Volumes => "volumes",
        }
    }
}

/// An entry with an image: a container of any kind, or an image volume.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Place {
    pub(crate) list: List,
    /// The index in the list, after additions.
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) image: String,
    /// The current pull policy, or the server default if none is set.
    pub(crate) policy: PullPolicy,
    /// The values in the request. `None` if this policy added the place.
    pub(crate) came_in: Option<CameIn>,
    pub(crate) is_sidecar: bool,
    /// Whether the setting `exempt` names the place. **Decided**: the rules don't examine an exempt
    /// container. But its name counts as used, `imageChecks.after` may match it, and it may be a carrier.
    pub(crate) is_exempt: bool,
    /// Whether the rules examine the place.
    pub(crate) is_examined: bool,
    /// The names of the volumes that the container mounts.
    pub(crate) mounts: Vec<String>,
    /// The image that the container has in the stored object.
    pub(crate) stored: Option<String>,
    /// The rule that wrote the image last, or that added the place.
    pub(crate) image_rule: &'static str,
    pub(crate) policy_rule: &'static str,
}

/// The values of a place in the request.
#[derive(Clone, Debug)]
pub(crate) struct CameIn {
    pub(crate) index: usize,
    pub(crate) image: Value,
    pub(crate) policy: Value,
    pub(crate) effective: PullPolicy,
}

impl Place {
    /// The image in the request. If this policy added the place, the result is its image.
    pub(crate) fn image_before(&self) -> &str {
        let came_in = self.came_in.as_ref();
        came_in.map_or(&self.image, |came_in| text(&came_in.image))
    }
}

/// The lookups, and the registries' answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookups {
    /// The normalised image of each place before the first lookup.
    pub(crate) images: Vec<Option<String>>,
    pub(crate) asked: Vec<String>,
    pub(crate) manifests: Vec<String>,
    pub(crate) failed: Vec<Value>,
    /// The digest that a lookup found for each `registry/repository:tag`.
    pub(crate) digests: BTreeMap<String, String>,
}

/// A Pod spec with the findings and changes of the rules that have run.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Pod<'a> {
    pub(crate) settings: Settings<'a>,
    pub(crate) request_kind: RequestKind,
    /// The path of the spec in the object: `spec`, `spec.template.spec`, …
    pub(crate) root: &'static str,
    pub(crate) spec: Value,
    /// The object that holds the spec.
    pub(crate) object: Value,
    /// At UPDATE, the stored object.
    pub(crate) stored: Value,
    /// Whether the request is an audit. A request is an audit if its `userInfo.username` is absent or empty.
    pub(crate) is_audit: bool,
    /// Whether the size of the additions is near the limit of 1 MiB. In this case, this specification
    /// can't tell whether the additions exceed the limit.
    pub(crate) is_near_limit: bool,
    pub(crate) places: Vec<Place>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) lookups: Lookups,
}

impl Pod<'_> {
    /// Returns the places that the rules examine.
    pub(crate) fn examined(&self) -> Vec<usize> {
        (0..self.places.len())
            .filter(|&place| self.places[place].is_examined)
            .collect()
    }

    /// Returns the places of a list in their order, including exempt places.
    pub(crate) fn list(&self, list: List) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.places.len())
            .filter(|&place| self.places[place].list == list)
            .collect();
        places.sort_by_key(|&place| self.places[place].index);
        places
    }

    /// Returns the parsed image of a place. `None` means that the image can't be parsed.
    pub(crate) fn reference(&self, place: usize) -> Option<Reference> {
        Reference::parse(&self.places[place].image)
    }

    fn came_in_at(&self, place: usize) -> String {
        let place = &self.places[place];
        let index = match &place.came_in {
            Some(came_in) => came_in.index,
            None => place.index,
        };
        format!("{}.{}[{index}]", self.root, place.list.key())
    }

    /// Returns the path of the image in the request's object.
    pub(crate) fn image_path(&self, place: usize) -> String {
        let field = field(self.places[place].list, true);
        format!("{}.{field}", self.came_in_at(place))
    }

    /// Returns the path of the pull policy in the request's object.
    pub(crate) fn policy_path(&self, place: usize) -> String {
        let field = field(self.places[place].list, false);
        format!("{}.{field}", self.came_in_at(place))
    }

    /// Returns the path of the place in the returned object.
    pub(crate) fn path_out(&self, place: usize) -> String {
        let place = &self.places[place];
        format!("{}.{}[{}]", self.root, place.list.key(), place.index)
    }

    /// Whether the Pod's nodes can mount image volumes. A Pod with `hostUsers: false` or with a
    /// `runtimeClassName` gets no image volume.
    ///
    /// **Decided**: an empty `runtimeClassName` counts as not set, as in the API server.
    pub(crate) fn can_mount_image_volumes(&self) -> bool {
        let class = self.spec["runtimeClassName"].as_str();
        self.spec["hostUsers"] != false && class.unwrap_or_default().is_empty()
    }

    /// Whether the Pod is a Windows Pod. Three fields are read in this order, and the first that
    /// names an OS decides: `spec.os.name`, the `nodeSelector`, the required node affinity.
    ///
    /// **Decided**: an empty `spec.os.name` counts as not set. If the `nodeSelector` has both labels
    /// for the OS, `kubernetes.io/os` decides.
    pub(crate) fn is_windows(&self) -> bool {
        let os_name = text(&self.spec["os"]["name"]);
        if !os_name.is_empty() {
            return os_name == "windows";
        }
        let selector = &self.spec["nodeSelector"];
        let mut selected = OS_LABELS.iter();
        if let Some(name) = selected.find_map(|label| selector[*label].as_str()) {
            return name == "windows";
        }
        // The affinity names Windows if every term has an `In` for `kubernetes.io/os` or
        // `beta.kubernetes.io/os` with the only value `windows`. **Decided**: several such `In` count as
        // one, with the values that all of them have.
        let terms = required_node_terms(&self.spec);
        let asks_for_windows = |term: &Value| {
            let lists: Vec<&[Value]> = elements(term, "matchExpressions")
                .iter()
                .filter(|one| OS_LABELS.iter().any(|label| one["key"] == *label))
                .filter(|one| one["operator"] == "In")
                .map(|one| elements(one, "values"))
                .collect();
            lists.first().is_some_and(|first| {
                let mut common = first.to_vec();
                common.retain(|value| lists.iter().all(|list| list.contains(value)));
                !common.is_empty() && common.iter().all(|value| value == "windows")
            })
        };
        !terms.is_empty() && terms.iter().all(asks_for_windows)
    }

    /// Whether the Pod spec has a request or limit for the whole Pod, in `spec.resources`. Only cpu,
    /// memory and huge pages count.
    pub(crate) fn has_resources(&self) -> bool {
        ["requests", "limits"].iter().any(|kind| {
            let amounts = self.spec["resources"][*kind].as_object();
            amounts.into_iter().flatten().any(|(name, _)| {
                ["cpu", "memory"].contains(&name.as_str()) || name.starts_with("hugepages-")
            })
        })
    }

    /// Whether the Pod has a volume with this name. In a `StatefulSet`, the names of
    /// `volumeClaimTemplates` count too.
    pub(crate) fn has_volume(&self, name: &str) -> bool {
        let claims = elements(&self.object["spec"], "volumeClaimTemplates");
        let mut volumes = elements(&self.spec, "volumes").iter();
        volumes.any(|volume| volume["name"] == name)
            || self.root == "spec.template.spec"
                && claims.iter().any(|claim| claim["metadata"]["name"] == name)
    }

    /// Whether an annotation holds the `AppArmor` profile of a container.
    pub(crate) fn has_apparmor_annotation(&self, container: &str) -> bool {
        let key = format!("container.apparmor.security.beta.kubernetes.io/{container}");
        self.object["metadata"]["annotations"].get(key).is_some()
    }

    /// Whether a place is an image check. The place must be examined and have a valid image, and its
    /// name must start with one of `imageChecks.namePrefixes`. An init container must not be a native
    /// sidecar. An image volume must be mounted by an init container that is no native sidecar, or by an
    /// app container. If only app containers mount the volume, each app container that pulls the volume's
    /// image must mount it. The Pod may still have init containers, because a service mesh may inject them
    /// after the volume was added.
    ///
    /// **Decided**: an exempt app container need not mount the volume. **Decided\***: if the settings
    /// select an image of the volume's repository for a lookup, at a place that is not exempt, all tags and
    /// digests of the repository count as the volume's image. Otherwise a registry's answer would decide
    /// whether a volume is a check, and the copy doesn't know this answer.
    pub(crate) fn is_check(&self, index: usize) -> bool {
        let place = &self.places[index];
        let has_prefix = self
            .settings
            .name_prefixes()
            .iter()
            .any(|prefix| place.name.starts_with(prefix));
        if !has_prefix || !place.is_examined || self.reference(index).is_none() {
            return false;
        }
        let mounts_it = |other: usize| self.places[other].mounts.contains(&place.name);
        match place.list {
            List::InitContainers => !place.is_sidecar,
            List::Volumes => {
                let app = self.list(List::Containers);
                let mut selected = self.selected_of_repository(index);
                let is_repository_looked_up = selected.any(|place| place.is_examined);
                let is_on_each_that_pulls = app
                    .iter()
                    .filter(|&&app| self.places[app].is_examined)
                    .filter(|&&app| {
                        self.is_same_image(app, index)
                            || self.is_same_repository(app, index) && is_repository_looked_up
                    })
                    .all(|&app| mounts_it(app));
                self.is_on_init_container(index)
                    || app.iter().any(|&app| mounts_it(app)) && is_on_each_that_pulls
            }
            List::Containers | List::EphemeralContainers => false,
        }
    }

    /// Whether an init container that is no native sidecar mounts a volume.
    pub(crate) fn is_on_init_container(&self, volume: usize) -> bool {
        let name = &self.places[volume].name;
        let mut init = self.list(List::InitContainers).into_iter();
        init.any(|place| {
            let place = &self.places[place];
            !place.is_sidecar && place.mounts.contains(name)
        })
    }

    /// Returns the image checks: first the init containers, then the volumes, both in their order.
    pub(crate) fn checks(&self) -> Vec<usize> {
        [List::InitContainers, List::Volumes]
            .into_iter()
            .flat_map(|list| self.list(list))
            .filter(|&place| self.is_check(place))
            .collect()
    }

    pub(crate) fn has_checks(&self) -> bool {
        !self.checks().is_empty()
    }

    /// Whether a place is an examined init container, and not a native sidecar. An init container
    /// that is not a native sidecar ends before the app containers start.
    pub(crate) fn is_plain_init(&self, place: usize) -> bool {
        let place = &self.places[place];
        place.list == List::InitContainers && !place.is_sidecar && place.is_examined
    }

    /// Returns the places that checks guard. These are the app containers. With
    /// `imageChecks.as: ImageVolume`, checks also guard each image volume that is not a check, if an
    /// app container mounts the volume and no init container does.
    pub(crate) fn guarded(&self) -> Vec<usize> {
        let mounts = |list: List, volume: usize| {
            self.list(list).into_iter().any(|place| {
                self.places[place]
                    .mounts
                    .contains(&self.places[volume].name)
            })
        };
        let containers = self.list(List::Containers).into_iter();
        let volumes = self.list(List::Volumes).into_iter().filter(|&volume| {
            self.settings.as_image_volume()
                && !self.is_check(volume)
                && mounts(List::Containers, volume)
                && !mounts(List::InitContainers, volume)
        });
        containers
            .chain(volumes)
            .filter(|&place| self.places[place].is_examined && self.reference(place).is_some())
            .collect()
    }
}

/// Returns the terms of a Pod spec's required node affinity.
pub(crate) fn required_node_terms(spec: &Value) -> &[Value] {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let affinity = &spec["affinity"]["nodeAffinity"];
    elements(&affinity[required], "nodeSelectorTerms")
}

/// Returns the path of the field that holds the image or the pull policy of an entry.
pub(crate) fn field(list: List, is_image: bool) -> &'static str {
    match (list, is_image) {
        (List::Volumes, true) => "image.reference",
        (List::Volumes, false) => "image.pullPolicy",
        (_, true) => "image",
        (_, false) => "imagePullPolicy",
    }
}
