//! The Pod spec as the rules see it: the places where an image stands, and what they are to each
//! other (design, *Words*).

mod change;
mod read;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::image::{Reference, is_image_id};
use crate::policy::PullPolicy;
use crate::settings::Settings;
use crate::verdict::{FailedLookup, Finding};

pub(crate) use change::paths;

/// The labels by which nodes tell their OS.
pub(crate) const OS_LABELS: [&str; 2] = ["kubernetes.io/os", "beta.kubernetes.io/os"];

/// Which row of the table *Requests* a Pod spec is examined by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    PodCreate,
    PodUpdate,
    EphemeralContainers,
    Template,
}

/// The lists in which images stand, in the order in which registries are asked.
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

/// A place where an image stands: a container of any kind, or an image volume.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Place {
    pub(crate) list: List,
    /// Its index in the list, as additions move it.
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) image: String,
    /// An unset policy is what the API server would write.
    pub(crate) policy: PullPolicy,
    /// What came in; `None` for a check that was added.
    pub(crate) came_in: Option<CameIn>,
    pub(crate) is_sidecar: bool,
    /// **Decided**: an exempt container counts as absent, with three exceptions. Its name is in use,
    /// `imageChecks.after` may name it, and it may carry mounts.
    pub(crate) is_exempt: bool,
    /// Whether the rules look at it.
    pub(crate) is_examined: bool,
    /// The volumes that the container mounts.
    pub(crate) mounts: Vec<String>,
    /// The image that the stored object has in its place.
    pub(crate) stored: Option<String>,
    /// The rule that wrote image or policy last, or that added the place.
    pub(crate) image_rule: &'static str,
    pub(crate) policy_rule: &'static str,
    /// Whether *replace-check* took it out.
    pub(crate) is_gone: bool,
}

/// A place as it came in.
#[derive(Clone, Debug)]
pub(crate) struct CameIn {
    pub(crate) index: usize,
    pub(crate) image: Value,
    pub(crate) policy: Value,
    pub(crate) effective: PullPolicy,
}

impl Place {
    /// The policy that came in, or that the API server writes.
    pub(crate) fn policy_before(&self) -> PullPolicy {
        let came_in = self.came_in.as_ref();
        came_in.map_or(self.policy, |came_in| came_in.effective)
    }

    /// Whether somebody, an author or the API server, has written the policy.
    pub(crate) fn is_policy_written(&self) -> bool {
        self.came_in
            .as_ref()
            .is_none_or(|came_in| came_in.policy.as_str().is_some_and(|text| !text.is_empty()))
    }
}

/// What the registries said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookups {
    /// The full name of the image of each place before any was asked for.
    pub(crate) images: Vec<Option<String>>,
    pub(crate) asked: Vec<String>,
    pub(crate) manifests: Vec<String>,
    pub(crate) failed: Vec<FailedLookup>,
    /// The digest of each `registry/repository:tag` that was answered.
    pub(crate) digests: BTreeMap<String, String>,
    /// The `registry/repository:tag` to which `UseCached` was applied.
    pub(crate) cached: BTreeSet<String>,
}

/// A Pod spec, and what the rules have made of it so far.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Pod<'a> {
    pub(crate) settings: Settings<'a>,
    pub(crate) event: Event,
    /// Where the spec stands in the object: `spec`, `spec.template.spec`, …
    pub(crate) root: &'static str,
    pub(crate) spec: Value,
    /// "Pods with a controller in `ownerReferences`"
    pub(crate) has_controller: bool,
    /// The annotations of the object: some name containers.
    pub(crate) annotations: Value,
    /// "names no user (`userInfo` is absent, null or without a `username`)"
    pub(crate) is_audit: bool,
    /// Whether the size of additions is so near to its limit that this specification can't tell on which
    /// side it is.
    pub(crate) is_near_limit: bool,
    pub(crate) places: Vec<Place>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) lookups: Lookups,
    /// Whether no registry is asked, so that "whatever `Pin`, `KeepTag` or `UseCached` may have left" is
    /// accepted: in the copy, and to see whether an object "would otherwise be accepted".
    pub(crate) is_lenient: bool,
}

impl Pod<'_> {
    /// The places that the rules look at.
    pub(crate) fn examined(&self) -> Vec<usize> {
        (0..self.places.len())
            .filter(|&place| self.places[place].is_examined && !self.places[place].is_gone)
            .collect()
    }

    /// The places of a list in their order, the exempt ones included.
    pub(crate) fn list(&self, list: List) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.places.len())
            .filter(|&place| self.places[place].list == list && !self.places[place].is_gone)
            .collect();
        places.sort_by_key(|&place| self.places[place].index);
        places
    }

    /// What a place pulls; `None` for what no node can pull from a registry.
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

    /// The field of the image, in the object that came in.
    pub(crate) fn image_path(&self, place: usize) -> String {
        format!(
            "{}.{}",
            self.came_in_at(place),
            field(self.places[place].list, true)
        )
    }

    /// The field of the policy, in the object that came in.
    pub(crate) fn policy_path(&self, place: usize) -> String {
        format!(
            "{}.{}",
            self.came_in_at(place),
            field(self.places[place].list, false)
        )
    }

    /// The place itself, in the object that came in, and in the one that goes out.
    pub(crate) fn path_in(&self, place: usize) -> String {
        self.came_in_at(place)
    }

    /// See [`Self::path_in`].
    pub(crate) fn path_out(&self, place: usize) -> String {
        self.at(self.places[place].list, self.places[place].index)
    }

    /// "**Only in Pods**", at CREATE, and "Windows Pods get nothing added or replaced".
    pub(crate) fn can_get_checks(&self) -> bool {
        self.event == Event::PodCreate && !self.is_windows()
    }

    /// "Whether a Pod is a Windows Pod is decided by the first of these that says something:
    /// `spec.os.name`; the nodeSelector; the required node affinity."
    ///
    /// **Decided**: an empty `spec.os.name` says nothing. If a nodeSelector has both labels,
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
        // "The affinity makes it a Windows Pod only if every term has an `In` for `kubernetes.io/os` or
        // `beta.kubernetes.io/os` whose only value is `windows`."
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

    /// Whether the Pod itself asks for resources: `spec.resources`.
    pub(crate) fn has_resources(&self) -> bool {
        let resources = self.spec["resources"].as_object();
        resources.is_some_and(|resources| !resources.is_empty())
    }

    /// Whether an annotation holds the `AppArmor` profile of a container.
    pub(crate) fn has_apparmor_annotation(&self, container: &str) -> bool {
        let key = format!("container.apparmor.security.beta.kubernetes.io/{container}");
        self.annotations.get(key).is_some()
    }

    /// "an init container, not a native sidecar, whose name starts with one of
    /// `imageChecks.namePrefixes`; an image volume with such a name, mounted in one of two ways: on any
    /// init container; or on every app container that pulls its image, and on at least one app container.
    /// This holds whether or not there are init containers, because a mesh injects some after the volume
    /// was added."
    ///
    /// **Decided**: an exempt app container need not mount the volume. A volume with the name of a check
    /// is no check if nothing mounts it.
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

    /// The image checks, "init containers in their order, then volumes".
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

    /// Whether a place is an init container that ends before the app starts: "any other init
    /// container before the app (no sidecar)".
    pub(crate) fn is_plain_init(&self, place: usize) -> bool {
        let place = &self.places[place];
        place.list == List::InitContainers
            && !place.is_sidecar
            && place.is_examined
            && !place.is_gone
    }

    /// "an entry of `spec.containers`; with `imageChecks.as: ImageVolume` also an image volume that
    /// only app containers mount"
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

    /// "with a digest, repository and digest decide and the tag does not. A tag and a digest are one
    /// image only if this request's lookup gave that digest for the tag; then they are one for all
    /// rules"
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

    /// Whether two places have the same image, or an answer of a registry could make it the same.
    ///
    /// **Decided\***: if an image of the repository is looked up, all its tags and digests count as one
    /// image for the question which app containers have to mount a check volume. The answer of a
    /// registry must not decide whether a Pod has checks.
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

    /// "under the same written repository: a node keeps credentials by the name as written"
    pub(crate) fn is_written_alike(&self, a: usize, b: usize) -> bool {
        match (self.reference(a), self.reference(b)) {
            (Some(a), Some(b)) => a.spelling == b.spelling,
            _ => false,
        }
    }

    /// Whether what one place pulls serves another: the same image, written alike.
    pub(crate) fn serves(&self, proof: usize, place: usize) -> bool {
        proof != place && self.is_written_alike(proof, place) && self.is_same_image(proof, place)
    }

    /// The strongest pull policies that checks and other init containers came in with, if an answer of
    /// a registry may make their image the same as the image of a place. That is possible if the Pod has
    /// several images of the repository, in any spelling, and one of them is a tag that is looked up.
    ///
    /// **Decided\***: the copy doesn't know which tag and which other reference were the same image. It
    /// is lenient where an answer may have shown a check that is strong enough, or an init container
    /// that covers the image. It is lenient nowhere else.
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

    /// Whether an answer may make the image of a place one with another that is pulled first.
    pub(crate) fn may_be_pulled_first(&self, place: usize) -> bool {
        self.may_be_joined(place)
            .is_some_and(|(checks, inits)| checks.or(inits).is_some())
    }

    /// "accepts whatever [the first copy] may have left": whether an answer to it may have shown that a
    /// check of the image is strong enough.
    pub(crate) fn may_be_checked(&self, place: usize, need: PullPolicy) -> bool {
        let joined = self.may_be_joined(place).filter(|_| self.is_lenient);
        joined.is_some_and(|(checks, _)| checks >= Some(need))
    }

    /// The same: whether it may have shown that the image is covered.
    pub(crate) fn may_be_covered(&self, place: usize, need: PullPolicy) -> bool {
        let joined = self.may_be_joined(place).filter(|_| self.is_lenient);
        joined.is_some_and(|(checks, inits)| checks.is_some() || inits >= Some(need))
    }

    /// Whether two places pull from one repository.
    fn is_same_repository(&self, a: usize, b: usize) -> bool {
        match (self.reference(a), self.reference(b)) {
            (Some(a), Some(b)) => a.name() == b.name(),
            _ => false,
        }
    }

    /// Whether a tag stands in a place that is looked up.
    pub(crate) fn is_looked_up(&self, place: usize) -> bool {
        self.reference(place)
            .is_some_and(|image| image.digest.is_none() && self.settings.lookup(&image) != "Off")
    }

    /// Whether a place is one whose `Always` spares a container its own: an init container that is
    /// no sidecar ("Native sidecars don't cover an image, and prove nothing"), or a check volume. "Such a
    /// volume that no init container mounts proves nothing for *pull-once*." A volume that the container
    /// itself mounts proves nothing either: its image would be pulled again.
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

    /// Whether an answer to a lookup in its written repository may change the policy of a place.
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

    /// Whether an effective `on…` is `UseCached`.
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

    /// In the copy: whether `UseCached` may have left the pull policy of a place.
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

/// The field that holds the image (or the policy) of an entry.
pub(crate) fn field(list: List, is_image: bool) -> &'static str {
    match (list, is_image) {
        (List::Volumes, true) => "image.reference",
        (List::Volumes, false) => "image.pullPolicy",
        (_, true) => "image",
        (_, false) => "imagePullPolicy",
    }
}
