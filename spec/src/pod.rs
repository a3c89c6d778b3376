//! The Pod spec as a list of places (an entry with an image), and the relations between these
//! places that the rules need (design, *Words*).

mod change;
mod read;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::image::{Reference, is_image_id};
use crate::policy::PullPolicy;
use crate::settings::Settings;
use crate::verdict::{FailedLookup, Finding};

pub(crate) use change::paths;

/// The node labels for the OS.
pub(crate) const OS_LABELS: [&str; 2] = ["kubernetes.io/os", "beta.kubernetes.io/os"];

/// The row of the design's table *Requests* that applies to a Pod spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    PodCreate,
    PodUpdate,
    EphemeralContainers,
    Template,
}

/// The lists with images, in the order of the lookups.
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
    /// The current pull policy. If none is set, it is the API server's default.
    pub(crate) policy: PullPolicy,
    /// The values in the request. `None` if this policy added the place.
    pub(crate) came_in: Option<CameIn>,
    pub(crate) is_sidecar: bool,
    /// **Decided**: an exempt container counts as absent, with three exceptions. Its name is taken,
    /// `imageChecks.after` may name it, and it may be a carrier.
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
    /// Whether *replace-check* removed the place.
    pub(crate) is_gone: bool,
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
    /// The pull policy in the request. If none was set, it is the API server's default. An added
    /// place has its current pull policy.
    pub(crate) fn policy_before(&self) -> PullPolicy {
        let came_in = self.came_in.as_ref();
        came_in.map_or(self.policy, |came_in| came_in.effective)
    }

    /// Whether the request sets the pull policy. It may come from an author or from the API server.
    /// An added place counts as set.
    pub(crate) fn is_policy_written(&self) -> bool {
        self.came_in
            .as_ref()
            .is_none_or(|came_in| came_in.policy.as_str().is_some_and(|text| !text.is_empty()))
    }
}

/// The lookups, and the registries' answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookups {
    /// The normalised image of each place before the first lookup.
    pub(crate) images: Vec<Option<String>>,
    pub(crate) asked: Vec<String>,
    pub(crate) manifests: Vec<String>,
    pub(crate) failed: Vec<FailedLookup>,
    /// The digest of each `registry/repository:tag` that a lookup found.
    pub(crate) digests: BTreeMap<String, String>,
    /// Each `registry/repository:tag` to which `UseCached` was applied.
    pub(crate) cached: BTreeSet<String>,
}

/// A Pod spec with the findings and changes of the rules so far.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Pod<'a> {
    pub(crate) settings: Settings<'a>,
    pub(crate) event: Event,
    /// The path of the spec in the object: `spec`, `spec.template.spec`, …
    pub(crate) root: &'static str,
    pub(crate) spec: Value,
    /// Whether the object has a controller in `ownerReferences`.
    pub(crate) has_controller: bool,
    /// The object's annotations. Some of them name containers.
    pub(crate) annotations: Value,
    /// Whether the request names no user: `userInfo` is absent, null or without a `username`.
    pub(crate) is_audit: bool,
    /// Whether the size of the additions is too near to its limit. Then this specification can't
    /// tell whether the limit is exceeded.
    pub(crate) is_near_limit: bool,
    pub(crate) places: Vec<Place>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) lookups: Lookups,
    /// Whether `registry.maxLookups` is 0, as in the copy. Then a value is accepted if an earlier
    /// run with `Pin`, `KeepTag` or `UseCached` could have written it.
    pub(crate) is_lenient: bool,
}

impl Pod<'_> {
    /// Returns the places that the rules examine.
    pub(crate) fn examined(&self) -> Vec<usize> {
        (0..self.places.len())
            .filter(|&place| self.places[place].is_examined && !self.places[place].is_gone)
            .collect()
    }

    /// Returns the places of a list in their order, including exempt places.
    pub(crate) fn list(&self, list: List) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.places.len())
            .filter(|&place| self.places[place].list == list && !self.places[place].is_gone)
            .collect();
        places.sort_by_key(|&place| self.places[place].index);
        places
    }

    /// Returns the parsed image of a place. `None` means that no node can pull it from a registry.
    pub(crate) fn reference(&self, place: usize) -> Option<Reference> {
        let image = &self.places[place].image;
        if is_image_id(image) {
            None
        } else {
            Reference::parse(image)
        }
    }

    fn at(&self, list: List, index: usize) -> String {
        format!("{}.{}[{index}]", self.root, list.key())
    }

    fn came_in_at(&self, place: usize) -> String {
        let place = &self.places[place];
        let index = place
            .came_in
            .as_ref()
            .map_or(place.index, |came_in| came_in.index);
        self.at(place.list, index)
    }

    /// Returns the path of the image in the request's object.
    pub(crate) fn image_path(&self, place: usize) -> String {
        format!(
            "{}.{}",
            self.came_in_at(place),
            field(self.places[place].list, true)
        )
    }

    /// Returns the path of the pull policy in the request's object.
    pub(crate) fn policy_path(&self, place: usize) -> String {
        format!(
            "{}.{}",
            self.came_in_at(place),
            field(self.places[place].list, false)
        )
    }

    /// Returns the path of the place in the request's object.
    pub(crate) fn path_in(&self, place: usize) -> String {
        self.came_in_at(place)
    }

    /// Returns the path of the place in the returned object.
    pub(crate) fn path_out(&self, place: usize) -> String {
        self.at(self.places[place].list, self.places[place].index)
    }

    /// Whether checks may be added or replaced: only at CREATE of a Pod, and never in a Windows
    /// Pod.
    pub(crate) fn can_get_checks(&self) -> bool {
        self.event == Event::PodCreate && !self.is_windows()
    }

    /// Whether the Pod is a Windows Pod. These fields are read in this order, and the first with a
    /// value decides: `spec.os.name`, the nodeSelector, the required node affinity.
    ///
    /// **Decided**: an empty `spec.os.name` is no value. If a nodeSelector has both labels,
    /// `kubernetes.io/os` decides.
    pub(crate) fn is_windows(&self) -> bool {
        let os_name = self.spec.pointer("/os/name").and_then(Value::as_str);
        if let Some(name) = os_name.filter(|name| !name.is_empty()) {
            return name == "windows";
        }
        let selector = &self.spec["nodeSelector"];
        let mut selected = OS_LABELS.iter();
        if let Some(name) = selected.find_map(|label| selector[*label].as_str()) {
            return name == "windows";
        }
        // Every term of the affinity must have an `In` for `kubernetes.io/os` or
        // `beta.kubernetes.io/os` with the only value `windows`.
        let terms = self.spec.pointer(
            "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
        );
        let asks_for_windows = |term: &Value| {
            let expressions = term["matchExpressions"].as_array().into_iter().flatten();
            expressions.into_iter().any(|one| {
                OS_LABELS.iter().any(|label| one["key"] == *label)
                    && one["operator"] == "In"
                    && one["values"] == serde_json::json!(["windows"])
            })
        };
        terms
            .and_then(Value::as_array)
            .is_some_and(|terms| !terms.is_empty() && terms.iter().all(asks_for_windows))
    }

    /// Whether the Pod spec has resources of its own, in `spec.resources`.
    pub(crate) fn has_resources(&self) -> bool {
        let resources = self.spec["resources"].as_object();
        resources.is_some_and(|resources| !resources.is_empty())
    }

    /// Whether an annotation holds the `AppArmor` profile of a container.
    pub(crate) fn has_apparmor_annotation(&self, container: &str) -> bool {
        let key = format!("container.apparmor.security.beta.kubernetes.io/{container}");
        self.annotations.get(key).is_some()
    }

    /// Whether a place is an image check. Its name must start with one of
    /// `imageChecks.namePrefixes`. An init container must not be a native sidecar. An image volume
    /// must be mounted in one of two ways: on any init container, or on all app containers that
    /// pull its image (and on at least one app container). The second way counts in a Pod with init
    /// containers too, because a mesh may inject init containers after the volume was added.
    ///
    /// **Decided**: an exempt app container need not mount the volume. A volume that nothing mounts
    /// is never a check.
    pub(crate) fn is_check(&self, index: usize) -> bool {
        let place = &self.places[index];
        let has_prefix = self
            .settings
            .name_prefixes()
            .iter()
            .any(|prefix| place.name.starts_with(prefix));
        if !has_prefix || !place.is_examined || place.is_gone || self.reference(index).is_none() {
            return false;
        }
        let mounts_it = |other: usize| self.places[other].mounts.contains(&place.name);
        match place.list {
            List::InitContainers => !place.is_sidecar,
            List::Volumes => {
                let app = self.list(List::Containers);
                let is_on_each_that_pulls = app
                    .iter()
                    .filter(|&&app| self.places[app].is_examined)
                    .filter(|&&app| self.may_be_same_image(app, index))
                    .all(|&app| mounts_it(app));
                self.is_on_init_container(index)
                    || app.iter().any(|&app| mounts_it(app)) && is_on_each_that_pulls
            }
            List::Containers | List::EphemeralContainers => false,
        }
    }

    /// Whether an init container mounts a volume.
    pub(crate) fn is_on_init_container(&self, volume: usize) -> bool {
        let name = &self.places[volume].name;
        let mut init = self.list(List::InitContainers).into_iter();
        init.any(|place| self.places[place].mounts.contains(name))
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

    /// Whether a place is an examined init container that is no native sidecar. It ends before the
    /// app starts.
    pub(crate) fn is_plain_init(&self, place: usize) -> bool {
        let place = &self.places[place];
        place.list == List::InitContainers
            && !place.is_sidecar
            && place.is_examined
            && !place.is_gone
    }

    /// Returns the places that checks guard: the app containers and, with
    /// `imageChecks.as: ImageVolume`, the image volumes that only app containers mount.
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

    /// Whether two places have the same image. If both have a digest, repository and digest must be
    /// equal, and the tags don't matter. A tag and a digest are the same image only if a lookup of
    /// this request gave that digest for the tag.
    pub(crate) fn is_same_image(&self, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.reference(a), self.reference(b)) else {
            return false;
        };
        a.name() == b.name()
            && match (&a.digest, &b.digest) {
                (Some(a), Some(b)) => a == b,
                (Some(digest), None) => self.looked_up(&b) == Some(digest),
                (None, Some(digest)) => self.looked_up(&a) == Some(digest),
                (None, None) => {
                    a.tag == b.tag
                        || self.looked_up(&a).is_some() && self.looked_up(&a) == self.looked_up(&b)
                }
            }
    }

    /// Whether two places have the same image, or a registry's answer could show that they do.
    ///
    /// **Decided\***: if an image of the repository is looked up, this function treats all its tags
    /// and digests as the same image. It decides which app containers have to mount a check volume,
    /// and a registry's answer must not decide whether a Pod has checks.
    fn may_be_same_image(&self, a: usize, b: usize) -> bool {
        let looks_up = |place: usize| {
            self.reference(place)
                .is_some_and(|image| self.settings.lookup(&image) != "Off")
        };
        self.is_same_image(a, b)
            || self.is_same_repository(a, b)
                && self
                    .examined()
                    .into_iter()
                    .any(|other| self.is_same_repository(other, a) && looks_up(other))
    }

    fn looked_up(&self, image: &Reference) -> Option<&String> {
        self.lookups.digests.get(&image.name_and_tag()?)
    }

    /// Whether two references are written alike: they have the same repository as text. This
    /// matters because a node keeps credentials by the name as written.
    pub(crate) fn is_written_alike(&self, a: usize, b: usize) -> bool {
        match (self.reference(a), self.reference(b)) {
            (Some(a), Some(b)) => a.spelling == b.spelling,
            _ => false,
        }
    }

    /// Whether the pull of one place also proves the image of another place. Both have the same
    /// image, written alike.
    pub(crate) fn serves(&self, proof: usize, place: usize) -> bool {
        proof != place && self.is_written_alike(proof, place) && self.is_same_image(proof, place)
    }

    /// Looks at all places of the same repository, in any spelling. Returns `None` unless they have
    /// several images and one of these is a tag that is looked up. Only then could a registry's
    /// answer show that two of these images are the same. The result is the strongest pull policy
    /// of the checks among these places in the request, and that of their other init containers.
    ///
    /// **Decided\***: the copy doesn't know which references had the same image in the first run.
    /// It is lenient if an answer could have shown a check that is strong enough, or an init
    /// container that covers the image. In all other cases it is not lenient.
    fn may_be_joined(&self, place: usize) -> Option<(Option<PullPolicy>, Option<PullPolicy>)> {
        let alike: Vec<usize> = self
            .examined()
            .into_iter()
            .filter(|&other| self.places[other].came_in.is_some())
            .filter(|&other| self.is_same_repository(other, place))
            .collect();
        let has_others = alike
            .iter()
            .any(|&other| !self.is_same_image(other, alike[0]));
        if !has_others || !alike.iter().any(|&other| self.is_looked_up(other)) {
            return None;
        }
        let strongest = |is_one: &dyn Fn(usize) -> bool| {
            let them = alike.iter().filter(|&&other| is_one(other));
            them.map(|&other| self.places[other].policy_before()).max()
        };
        let by_checks = strongest(&|other| self.is_check(other));
        let by_inits = strongest(&|other| self.is_plain_init(other) && !self.is_check(other));
        Some((by_checks, by_inits))
    }

    /// Whether an answer could show that the image of a place is the same as another image that is
    /// pulled first.
    pub(crate) fn may_be_pulled_first(&self, place: usize) -> bool {
        self.may_be_joined(place)
            .is_some_and(|(checks, inits)| checks.or(inits).is_some())
    }

    /// Whether, in the copy, a registry's answer to the first run could have shown a check of the
    /// image that is strong enough. The copy accepts every value that the first run could have
    /// written.
    pub(crate) fn may_be_checked(&self, place: usize, need: PullPolicy) -> bool {
        let joined = self.may_be_joined(place).filter(|_| self.is_lenient);
        joined.is_some_and(|(checks, _)| checks >= Some(need))
    }

    /// Whether, in the copy, an answer to the first run could have shown that the image is covered.
    pub(crate) fn may_be_covered(&self, place: usize, need: PullPolicy) -> bool {
        let joined = self.may_be_joined(place).filter(|_| self.is_lenient);
        joined.is_some_and(|(checks, inits)| checks.is_some() || inits >= Some(need))
    }

    /// Whether two places pull from the same repository.
    fn is_same_repository(&self, a: usize, b: usize) -> bool {
        match (self.reference(a), self.reference(b)) {
            (Some(a), Some(b)) => a.name() == b.name(),
            _ => false,
        }
    }

    /// Whether the image of a place has no digest and is looked up.
    pub(crate) fn is_looked_up(&self, place: usize) -> bool {
        self.reference(place)
            .is_some_and(|image| image.digest.is_none() && self.settings.lookup(&image) != "Off")
    }

    /// Whether a pull by the place `proof` makes a pull by the container unnecessary. The place
    /// must be an init container that is no native sidecar, or a check volume that an init
    /// container mounts. A volume that the container itself mounts doesn't count, because the
    /// container would pull that image again.
    pub(crate) fn proves(&self, proof: usize, container: usize) -> bool {
        self.is_pulled_before(proof, container) && self.serves(proof, container)
    }

    fn is_pulled_before(&self, proof: usize, container: usize) -> bool {
        match self.places[proof].list {
            List::InitContainers => self.is_plain_init(proof),
            List::Volumes => {
                self.is_check(proof)
                    && self.is_on_init_container(proof)
                    && !self.places[container]
                        .mounts
                        .contains(&self.places[proof].name)
            }
            List::Containers | List::EphemeralContainers => false,
        }
    }

    /// Whether an answer to a lookup in the place's repository could change the pull policy of the
    /// place.
    pub(crate) fn may_be_pinned_or_cached(&self, place: usize) -> bool {
        let changes = self.reference(place).is_some_and(|image| {
            self.settings.lookup(&image) == "Pin" || self.has_use_cached(&image)
        });
        changes
            && self
                .examined()
                .into_iter()
                .any(|other| self.is_same_repository(other, place) && self.is_looked_up(other))
    }

    /// Whether one of the image's effective `on…` settings is `UseCached`.
    fn has_use_cached(&self, image: &Reference) -> bool {
        let actions = [
            "onNotFound",
            "onDenied",
            "onRateLimited",
            "onUnreachable",
            "onUnknown",
        ];
        let mut actions = actions.iter();
        self.settings.lookup(image) != "Off"
            && actions.any(|key| self.settings.registry(image, key, "") == "UseCached")
    }

    /// Whether, in the copy, the pull policy of a place could be a result of `UseCached`.
    ///
    /// **Decided**: `UseCached` never excuses a check with `Never`.
    pub(crate) fn may_be_cached(&self, place: usize) -> bool {
        self.is_lenient
            && self.places[place].policy_before() == PullPolicy::IfNotPresent
            && matches!(self.event, Event::PodCreate | Event::EphemeralContainers)
            && self.is_looked_up(place)
            && self.reference(place).is_some_and(|image| {
                self.has_use_cached(&image) && !self.settings.requires_always(&image)
            })
    }
}

/// Returns the field of an entry that holds the image or the pull policy.
pub(crate) fn field(list: List, is_image: bool) -> &'static str {
    match (list, is_image) {
        (List::Volumes, true) => "image.reference",
        (List::Volumes, false) => "image.pullPolicy",
        (_, true) => "image",
        (_, false) => "imagePullPolicy",
    }
}
