//! The examination of one object: the values that all rules share and change.
//!
//! The submodules hold the types that several rules need. They don't depend on the rules' modules.

pub(crate) mod added_checks;
pub(crate) mod images;
pub(crate) mod passed_checks;
pub(crate) mod place;
pub(crate) mod possibly_same_images;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Index, IndexMut};
use std::rc::Rc;

use self::added_checks::AddedChecks;
use self::images::set_spellings;
use self::place::{DigestOfTag, ExaminedPlace, PlaceId, Role};
use self::possibly_same_images::{PossiblySameImages, may_be_left_by_use_cached};
use crate::findings::Finding;
use crate::findings::failed_lookup::FailedLookup;
use crate::image::{ImageIdentity, InvalidReference, Reference};
use crate::lookup::{ImageToLookUp, LookupAnswer, LookupError};
use crate::pod::{Mounters, Place, Pod, PodSpecList};
use crate::request::{ExaminedObject, RequestType};
use crate::settings::{InitContainerOrImageVolume, LookupMode, Settings};

/// The examination of one object. Each rule works on the result of the rule before it.
///
/// The rules set the image and the pull policy that every place should have, with the reasons. A
/// value that differs from the value in the request is a finding, unless the change only saves a pull
/// or is part of another finding. The mode decides later what happens to the findings. So all modes
/// compute the same outcome, apart from lookups, *stuck-pull* and fields that re-apply restores.
pub(crate) struct Examination<'p> {
    /// The object in the request.
    pub(crate) object: &'p ExaminedObject<'p>,
    /// The settings.
    pub(crate) settings: &'p Settings,
    /// The places that the rules examine, in the order of the Pod. Exempt places are not among
    /// them.
    pub(crate) places: Vec<ExaminedPlace<'p>>,
    /// The places whose image could not be read, each with the mistake. Exempt places are not among
    /// them.
    pub(crate) invalid_images: Vec<(&'p Place<'p>, InvalidReference)>,
    /// The findings that have no repair.
    pub(crate) findings: Vec<Finding<'p>>,
    /// The image checks to add.
    pub(crate) added: AddedChecks<'p>,
    /// The images to look up. In the first run of the rules, the rule *registry* chooses them.
    pub(crate) lookups: Vec<PlannedLookup>,
    /// The answers to the lookups, in the second run of the rules.
    pub(crate) answers: Option<Vec<AnsweredLookup>>,
    /// The lookups that failed or were not made, by the normalised image.
    pub(crate) failed_lookups: BTreeMap<String, FailedLookup>,
}

/// An image to look up, and the places that pull it.
pub(crate) struct PlannedLookup {
    /// The image.
    pub(crate) image: ImageToLookUp,
    /// The places with this image for which `lookup` isn't `Off`, those of app containers first.
    pub(crate) places: Vec<PlaceId>,
    /// The first of them. A finding about the image names it.
    pub(crate) first: PlaceId,
}

/// A planned lookup, and its answer or the reason why there is none.
pub(crate) type AnsweredLookup = (PlannedLookup, Result<LookupAnswer, LookupError>);

// `abort` is never reached. Unlike a panic, it needs no message.
impl<'p> Index<PlaceId> for Examination<'p> {
    type Output = ExaminedPlace<'p>;

    fn index(&self, PlaceId(index): PlaceId) -> &Self::Output {
        let place = self.places.get(index);
        place.unwrap_or_else(|| std::process::abort())
    }
}

impl IndexMut<PlaceId> for Examination<'_> {
    fn index_mut(&mut self, PlaceId(index): PlaceId) -> &mut Self::Output {
        let place = self.places.get_mut(index);
        place.unwrap_or_else(|| std::process::abort())
    }
}

impl<'p> Examination<'p> {
    /// Begins the examination of an object. `answers` are those of registries, if they were asked.
    pub(crate) fn new(
        object: &'p ExaminedObject<'p>,
        settings: &'p Settings,
        answers: Option<Vec<AnsweredLookup>>,
    ) -> Self {
        let mut places: Vec<ExaminedPlace<'_>> = Vec::with_capacity(object.pod.places.len());
        let mut invalid_images = Vec::new();
        for place in object.pod.places.iter().filter(|place| place.is_in_scope) {
            let reference = Reference::parse(place.image_text());
            if settings.exempt.covers(&place.name, reference.ok()) {
                continue;
            }
            match reference {
                Ok(reference) => {
                    let mut examined = ExaminedPlace::new(place, reference, settings);
                    examined.digest = known_digest(&examined, object.request_type, settings);
                    places.push(examined);
                }
                Err(invalid) => invalid_images.push((place, invalid)),
            }
        }
        // The digests that lookups found behind the tags.
        for (lookup, answer) in answers.iter().flatten() {
            let Ok(answer) = answer else {
                continue;
            };
            let digest: Rc<str> = Rc::from(&*answer.digest);
            for PlaceId(index) in &lookup.places {
                if let Some(examined) = places.get_mut(*index)
                    && !examined.has_digest()
                {
                    examined.digest = DigestOfTag::Resolved(Rc::clone(&digest));
                }
            }
        }
        set_roles(&object.pod, settings, &mut places);
        set_spellings(&mut places);
        Self {
            object,
            settings,
            places,
            invalid_images,
            findings: Vec::new(),
            added: AddedChecks::default(),
            lookups: Vec::new(),
            answers,
            failed_lookups: BTreeMap::new(),
        }
    }

    /// Whether the Pod has an image check.
    pub(crate) fn has_image_checks(&self) -> bool {
        let mut places = self.places.iter();
        places.any(|examined| examined.role == Role::ImageCheck)
    }

    /// The places that are not exempt, those with an invalid image included.
    pub(crate) fn places_not_exempt(&self) -> impl Iterator<Item = &'p Place<'p>> {
        let valid = self.places.iter().map(|examined| examined.place);
        valid.chain(self.invalid_images.iter().map(|(place, _)| *place))
    }

    /// Whether the Pod has one app container that is not exempt.
    pub(crate) fn has_one_app_container(&self) -> bool {
        let is_app_container = |place: &&Place<'_>| place.list == PodSpecList::Containers;
        self.places_not_exempt().filter(is_app_container).count() == 1
    }

    /// Whether this is the copy, and the Pod has one app container. When the first installation saw the
    /// Pod, this container may have been the only place. So a missing check is only a warning.
    pub(crate) fn may_have_had_one_place(&self) -> bool {
        self.settings.registry.accepts_unknown_answers() && self.has_one_app_container()
    }

    /// What the copy can't know: the lookup answers that the first installation may have received, and
    /// the digests that another webhook may have added later. None except in the copy.
    pub(crate) fn answers_unknown_to_the_copy(&self) -> Option<PossiblySameImages<'p>> {
        let is_copy = self.settings.registry.accepts_unknown_answers();
        is_copy.then(|| PossiblySameImages::in_copy(&self.places))
    }
}

/// The digest behind a tag, as far as it is known without a lookup.
///
/// At UPDATE of a Pod, under `Pin`, a tag that is stored with a digest keeps that digest. Otherwise a
/// manifest that is applied again would restart containers whose tag has moved.
fn known_digest(
    examined: &ExaminedPlace<'_>,
    request_type: RequestType,
    settings: &Settings,
) -> DigestOfTag {
    if settings.registry.accepts_unknown_answers() {
        // In the copy, a tag without a digest is no finding, so the copy doesn't need the stored digest.
        return if may_be_left_by_use_cached(examined, request_type) {
            DigestOfTag::UseCached
        } else {
            DigestOfTag::Unknown
        };
    }
    if request_type == RequestType::PodUpdate
        && examined.lookup.mode == LookupMode::Pin
        && let Some(stored) = examined.place.stored_image.as_deref()
        && let Ok(stored) = Reference::parse(stored)
        && examined.reference.is_pinned_as(stored)
        && let Some(digest) = stored.digest()
    {
        return DigestOfTag::Pinned(Rc::from(digest));
    }
    DigestOfTag::Unknown
}

/// Sets the roles of the places of a Pod.
fn set_roles<'p>(pod: &'p Pod<'p>, settings: &Settings, places: &mut [ExaminedPlace<'p>]) {
    let checks = &settings.image_checks;
    let has_image_volumes = pod.has_image_volumes();
    let mounted = has_image_volumes.then(|| MountedVolumes::of(pod, places));
    for examined in places {
        let place = examined.place;
        let has_check_name = checks.names(&place.name);
        examined.role = match (place.list, &mounted) {
            (PodSpecList::InitContainers, _) if place.is_native_sidecar => Role::Unguarded,
            (PodSpecList::InitContainers, _) if has_check_name => Role::ImageCheck,
            (PodSpecList::InitContainers, _) => Role::InitContainer,
            (PodSpecList::Containers, _) => Role::Guarded,
            (PodSpecList::Volumes, Some(mounted))
                if has_check_name && mounted.holds_up_app_containers(place) =>
            {
                Role::ImageCheck
            }
            (PodSpecList::Volumes, Some(mounted))
                if checks.made_of == InitContainerOrImageVolume::ImageVolume
                    && mounted.has_only_app_containers(place) =>
            {
                Role::Guarded
            }
            (PodSpecList::EphemeralContainers | PodSpecList::Volumes, _) => Role::Unguarded,
        };
    }
}

/// The volumes of a Pod that containers mount, and the images of its places.
///
/// All images of a repository that is looked up count as one image here. Otherwise a registry's
/// answer could decide whether a volume is a check, and the copy doesn't get that answer.
struct MountedVolumes<'p> {
    mounters: Mounters<'p>,
    /// The images by list and index. A place that is exempt or has an invalid image is not among them.
    images: BTreeMap<(PodSpecList, usize), ImageIdentity<'p>>,
    /// How many app containers pull each image.
    app_containers: BTreeMap<ImageIdentity<'p>, usize>,
}

impl<'p> MountedVolumes<'p> {
    fn of(pod: &'p Pod<'p>, places: &[ExaminedPlace<'p>]) -> Self {
        let looked_up: BTreeSet<ImageIdentity<'p>> = places
            .iter()
            .filter(|examined| examined.lookup.mode != LookupMode::Off)
            .map(|examined| examined.reference.repository_identity())
            .collect();
        let mut images = BTreeMap::new();
        let mut app_containers: BTreeMap<ImageIdentity<'p>, usize> = BTreeMap::new();
        for examined in places {
            let repository = examined.reference.repository_identity();
            let image = if looked_up.contains(&repository) {
                repository
            } else {
                examined.reference.identity()
            };
            images.insert((examined.place.list, examined.place.index), image);
            if examined.place.list == PodSpecList::Containers {
                let count = app_containers.entry(image).or_default();
                *count = count.saturating_add(1);
            }
        }
        Self {
            mounters: pod.mounters(),
            images,
            app_containers,
        }
    }

    fn mounters(&self, volume: &Place<'_>) -> impl Iterator<Item = &'p Place<'p>> {
        let mounters = self.mounters.get(&*volume.name);
        mounters.into_iter().flatten().copied()
    }

    fn image(&self, place: &Place<'_>) -> Option<&ImageIdentity<'p>> {
        self.images.get(&(place.list, place.index))
    }

    /// Whether every app container of the volume's image has to wait until the volume is pulled.
    /// This is so if an init container that ends mounts the volume. It is also so if an app container
    /// mounts the volume, and every app container with its image mounts it too. In the second case the
    /// Pod may still have init containers, because a mesh may have added them after the volume.
    fn holds_up_app_containers(&self, volume: &Place<'_>) -> bool {
        let image = self.image(volume);
        let all = image.and_then(|image| self.app_containers.get(image));
        let mounters = self.mounters(volume);
        let mut app_containers = mounters.filter(|place| is_app_container(place)).peekable();
        let has_app_container = app_containers.peek().is_some();
        let waiting = app_containers.filter(|place| self.image(place) == image);
        self.mounters(volume).any(ends_before_app_containers)
            || (has_app_container && waiting.count() == all.copied().unwrap_or_default())
    }

    /// Whether app containers mount the volume, and no init container does.
    fn has_only_app_containers(&self, volume: &Place<'_>) -> bool {
        let (mut mounters, mut all) = (self.mounters(volume), self.mounters(volume));
        mounters.any(is_app_container) && all.all(|one| one.list != PodSpecList::InitContainers)
    }
}

fn is_app_container(place: &Place<'_>) -> bool {
    place.list == PodSpecList::Containers
}

fn ends_before_app_containers(place: &Place<'_>) -> bool {
    place.list == PodSpecList::InitContainers && !place.is_native_sidecar
}
