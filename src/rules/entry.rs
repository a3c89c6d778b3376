//! What the rules work on: the places with an image that could be read, and what each should be.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::Cause;
use crate::image::{ImageIdentity, Reference};
use crate::pattern::{ImagePattern, first_match};
use crate::pod::{Place, Pod, Slot};
use crate::pull_policy::PullPolicy;
use crate::settings::{AddedCheckKind, ImageLookupSettings, LookupMode, Settings};

/// What a container or volume is to the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An init container, or an image volume, that exists to prove that its image can be pulled.
    Check,
    /// Any other init container that ends before the containers start.
    Init,
    /// What image checks guard: a container; where checks are made of volumes, also an image
    /// volume that only containers mount.
    Guarded,
    /// Native sidecars, ephemeral containers and other image volumes: no check can prove them.
    Other,
}

/// A place whose image could be read, and what it should be.
#[derive(Clone, Debug)]
pub struct Entry<'p> {
    /// Where it stands, and what came in.
    pub place: &'p Place<'p>,
    /// What it is to the rules.
    pub role: Role,
    /// Its image as it came in.
    pub reference: Reference<'p>,
    /// `images.requireAlways`, where it names the image.
    pub require_always: Option<&'p ImagePattern>,
    /// `images.forbidAlways`, where it names the image.
    pub forbid_always: Option<&'p ImagePattern>,
    /// `images.forbidNever`, where it names the image.
    pub forbid_never: Option<&'p ImagePattern>,
    /// What `registry` says for the image.
    pub lookup: ImageLookupSettings,
    /// The policy that it should have; before any rule, the one it came with or that the API
    /// server would fill in.
    pub policy: PullPolicy,
    /// Why, once a rule has changed it.
    pub policy_cause: Option<Rc<dyn Cause + 'p>>,
    /// The digest that a lookup of this request gave for its tag.
    pub digest: Option<Rc<str>>,
    /// That digest is written behind its tag.
    pub pinned: bool,
    /// Its registry gave no digest, and what the node has is to serve.
    pub use_cached: bool,
}

impl<'p> Entry<'p> {
    /// An entry as it came in, without its role.
    pub(super) fn new(
        place: &'p Place<'p>,
        reference: Reference<'p>,
        settings: &'p Settings,
    ) -> Self {
        let images = &settings.images;
        Self {
            place,
            role: Role::Other,
            reference,
            require_always: first_match(&images.require_always, &reference),
            forbid_always: first_match(&images.forbid_always, &reference),
            forbid_never: first_match(&images.forbid_never, &reference),
            lookup: settings.registry.for_image(&reference),
            policy: place.policy.unwrap_or_else(|| server_default(&reference)),
            policy_cause: None,
            digest: None,
            pinned: false,
            use_cached: false,
        }
    }

    /// The policy that came in, or that the API server fills in.
    #[must_use]
    pub fn policy_before(&self) -> PullPolicy {
        self.place
            .policy
            .unwrap_or_else(|| server_default(&self.reference))
    }

    /// Sets the policy, and says why; setting what is there changes nothing.
    pub fn set_policy(&mut self, policy: PullPolicy, cause: impl Cause + 'p) {
        if policy != self.policy {
            self.policy = policy;
            self.policy_cause = Some(Rc::new(cause));
        }
    }

    /// Whether the policy ends up different from what came in.
    #[must_use]
    pub fn policy_changed(&self) -> bool {
        self.policy != self.policy_before()
    }

    /// The reason why its policy is wrong, if it is.
    #[must_use]
    pub fn policy_finding(&self) -> Option<&Rc<dyn Cause + 'p>> {
        let cause = self.policy_cause.as_ref()?;
        (self.policy_changed() && cause.is_finding()).then_some(cause)
    }

    /// Whether anything of it is wrong.
    #[must_use]
    pub fn is_finding(&self) -> bool {
        self.pinned || self.policy_finding().is_some()
    }

    /// The image as it came in.
    #[must_use]
    pub fn image(&self) -> &'p str {
        self.place.image_text()
    }

    /// The image as it should be. A pinned one keeps its tag, the implied one written out: people
    /// read it, and patterns go on matching it.
    #[must_use]
    pub fn image_after(&self) -> String {
        let image = self.image();
        match (&self.digest, self.reference.tag()) {
            (Some(digest), Some(_)) if self.pinned => format!("{image}@{digest}"),
            (Some(digest), None) if self.pinned => format!("{image}:latest@{digest}"),
            _ => image.to_owned(),
        }
    }

    /// What makes it the same image as another. A tag and a digest are one image if a lookup of
    /// this request gave that digest for the tag.
    #[must_use]
    pub fn identity(&self) -> ImageIdentity<'_> {
        match &self.digest {
            Some(digest) => self.reference.identity_at(Some(digest)),
            None => self.reference.identity(),
        }
    }

    /// Whether its image names a digest, its own or the one that it is pinned to.
    #[must_use]
    pub fn has_digest(&self) -> bool {
        self.pinned || self.reference.digest().is_some()
    }

    /// Whether a registry would be asked for the digest behind its tag.
    #[must_use]
    pub fn is_looked_up(&self) -> bool {
        self.lookup.mode != LookupMode::Off && self.reference.digest().is_none()
    }
}

/// What the API server fills in for an image.
#[must_use]
pub(super) fn server_default(reference: &Reference<'_>) -> PullPolicy {
    PullPolicy::server_default(reference.tag(), reference.digest())
}

/// The roles in a Pod.
pub(super) struct Roles<'p> {
    settings: &'p Settings,
    volumes: BTreeMap<&'p str, Mounted<'p>>,
    has_init_containers: bool,
}

/// An image volume, and who mounts it.
#[derive(Clone, Copy, Default)]
struct Mounted<'p> {
    image: Option<ImageIdentity<'p>>,
    by_init_container: bool,
    by_container: bool,
    /// Containers that pull its image, and those of them that mount it.
    of_its_image: usize,
    of_its_image_and_mount: usize,
}

impl<'p> Roles<'p> {
    /// The roles in a Pod with these entries.
    pub(super) fn of(pod: &'p Pod<'p>, settings: &'p Settings, entries: &[Entry<'p>]) -> Self {
        let volumes = if pod.has_image_volumes() {
            mounted(pod, entries)
        } else {
            BTreeMap::new()
        };
        Self {
            settings,
            volumes,
            has_init_containers: pod.list(Slot::InitContainer).next().is_some(),
        }
    }

    pub(super) fn role(&self, place: &Place<'_>) -> Role {
        let checks = &self.settings.image_checks;
        match place.slot {
            Slot::InitContainer if place.native_sidecar => Role::Other,
            Slot::InitContainer if checks.names(&place.name.value) => Role::Check,
            Slot::InitContainer => Role::Init,
            Slot::Container => Role::Guarded,
            Slot::EphemeralContainer => Role::Other,
            Slot::ImageVolume => {
                let name = &*place.name.value;
                let mounted = self.volumes.get(name).copied().unwrap_or_default();
                if checks.names(name) && self.proves(mounted) {
                    Role::Check
                } else if checks.made_of == AddedCheckKind::ImageVolume
                    && mounted.by_container
                    && !mounted.by_init_container
                {
                    Role::Guarded
                } else {
                    Role::Other
                }
            }
        }
    }

    /// Whether a volume that can't be pulled holds up what it is to guard: nothing starts before
    /// the first init container, and without any each container has to wait for itself.
    fn proves(&self, mounted: Mounted<'_>) -> bool {
        mounted.by_init_container
            || (!self.has_init_containers
                && mounted.by_container
                && mounted.of_its_image == mounted.of_its_image_and_mount)
    }
}

/// Who mounts each image volume of a Pod. One pass over the containers, one over their mounts.
///
/// Images of a repository that is looked up count as one here: what a registry says must not make a
/// check of a volume that was none, or the other way round, as nobody else hears it.
fn mounted<'p>(pod: &'p Pod<'p>, entries: &[Entry<'p>]) -> BTreeMap<&'p str, Mounted<'p>> {
    let mut looked_up: BTreeMap<ImageIdentity<'_>, usize> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        if entry.lookup.mode != LookupMode::Off {
            looked_up.insert(entry.reference.repository_identity(), index);
        }
    }
    // What is exempt pulls nothing, as far as checks are concerned.
    let identity = |place: &Place<'_>| -> Option<ImageIdentity<'p>> {
        let key = |place: &Place<'_>| (place.slot, place.index);
        let entry = entries.binary_search_by_key(&key(place), |entry| key(entry.place));
        let reference = &entries.get(entry.ok()?)?.reference;
        let repository = reference.repository_identity();
        let is_looked_up = looked_up.contains_key(&repository);
        Some(if is_looked_up {
            repository
        } else {
            reference.identity()
        })
    };
    let mut pulling: BTreeMap<ImageIdentity<'_>, usize> = BTreeMap::new();
    for place in pod.list(Slot::Container) {
        if let Some(image) = identity(place) {
            let count = pulling.entry(image).or_default();
            *count = count.saturating_add(1);
        }
    }
    let mut volumes: BTreeMap<&str, Mounted<'_>> = BTreeMap::new();
    for place in pod.list(Slot::ImageVolume) {
        let image = identity(place);
        let of_its_image = image.and_then(|image| pulling.get(&image).copied());
        let mounted = Mounted {
            image,
            of_its_image: of_its_image.unwrap_or_default(),
            ..Mounted::default()
        };
        volumes.insert(&place.name.value, mounted);
    }
    for place in &pod.places {
        let image = identity(place);
        let mut names: BTreeSet<&str> = BTreeSet::new();
        names.extend(place.mounts.iter().map(|mount| &*mount.name));
        for name in names {
            let Some(mounted) = volumes.get_mut(name) else {
                continue;
            };
            match place.slot {
                Slot::InitContainer => mounted.by_init_container = true,
                Slot::Container => {
                    mounted.by_container = true;
                    if image.is_some() && image == mounted.image {
                        mounted.of_its_image_and_mount =
                            mounted.of_its_image_and_mount.saturating_add(1);
                    }
                }
                Slot::EphemeralContainer | Slot::ImageVolume => {}
            }
        }
    }
    volumes
}
