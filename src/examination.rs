//! The examination of one object: the values that all rules share and change.
//!
//! The submodules hold the types that several rules need. They don't depend on the rules' modules.

pub(crate) mod images;
pub(crate) mod limits;
pub(crate) mod place;
pub(crate) mod possible_lookup_answers;
pub(crate) mod roles;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use self::images::ImageGroups;
use self::place::KnownDigest;
use self::place::{ExaminedPlace, Role};
use self::possible_lookup_answers::{PossibleLookupAnswers, may_be_left_by_use_cached};
use self::roles::PodRoles;
use crate::findings::Finding;
use crate::findings::failed_lookup::FailedLookup;
use crate::findings::reason::WhyNoCheck;
use crate::image::{InvalidReference, Reference};
use crate::lookup::{ImageToLookUp, LookedUpImage};
use crate::pod::{Place, PodSpecList};
use crate::request::{ExaminedObject, RequestType};
use crate::rules::missing_check::added_check::{AddedCheck, AddedCheckSource};
use crate::settings::{LookupMode, MissingCheckAction, Settings};

/// The examination of one object. Each rule works on the result of the rule before it.
///
/// The rules set the image and the pull policy that every place should have, with the reasons. A
/// value that differs from the value in the request is a finding, unless the change only saves a pull
/// or is part of another finding. The mode decides later what happens to the findings. So all modes
/// compute the same outcome, apart from lookups, *stuck-pull* and fields that re-apply restores.
#[derive(Clone, Debug)]
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
    /// Whether the Pod has an image check.
    pub(crate) has_image_checks: bool,
    /// How many app containers are not exempt.
    pub(crate) app_containers: usize,
    /// Whether one app container is the only place that is not exempt, not a native sidecar and not an
    /// ephemeral container. No other container runs while this container waits for its image, so it needs
    /// no check.
    pub(crate) has_only_one_place: bool,
    /// The source of the checks for this Pod, or for the Pods of this pod template. None without
    /// `coverage: Fix`, and None in an existing Pod.
    pub(crate) added_check_source: Option<Result<AddedCheckSource<'p>, WhyNoCheck<'p>>>,
    /// The findings that have no repair.
    pub(crate) findings: Vec<Finding<'p>>,
    /// The image checks to add.
    pub(crate) added_checks: Vec<Rc<AddedCheck<'p>>>,
    /// The planned lookups, or their answers.
    pub(crate) lookups: PlannedOrAnsweredLookups,
    /// The lookups that failed or were not made, by the normalised image.
    pub(crate) failed_lookups: BTreeMap<String, FailedLookup>,
    image_groups: OnceCell<Rc<ImageGroups>>,
}

/// The lookups of a request. The rules run first without answers. If registries are asked, the
/// rules run again with the answers.
#[derive(Clone, Debug)]
pub(crate) enum PlannedOrAnsweredLookups {
    /// The images to look up. The rule *registry* chooses them.
    Planned(Vec<ImageToLookUp>),
    /// The same images, each with its answer or with the reason why there is none.
    Answered(Rc<[LookedUpImage]>),
}

impl<'p> Examination<'p> {
    /// Begins the examination of an object.
    pub(crate) fn new(
        object: &'p ExaminedObject<'p>,
        settings: &'p Settings,
        lookups: PlannedOrAnsweredLookups,
    ) -> Self {
        let mut places = Vec::with_capacity(object.pod.places.len());
        let mut invalid_images = Vec::new();
        let mut app_containers: usize = 0;
        let mut others: usize = 0;
        for place in object.pod.places.iter().filter(|place| place.is_in_scope) {
            let reference = Reference::parse(place.image_text());
            if settings.exempt.covers(&place.name, || reference.ok()) {
                continue;
            }
            match place.list {
                PodSpecList::Containers => app_containers = app_containers.saturating_add(1),
                PodSpecList::InitContainers if place.is_native_sidecar => {}
                PodSpecList::InitContainers | PodSpecList::Volumes => {
                    others = others.saturating_add(1);
                }
                // An ephemeral container starts after the app containers.
                PodSpecList::EphemeralContainers => {}
            }
            match reference {
                Ok(reference) => {
                    places.push(ExaminedPlace::new(place, reference, settings));
                }
                Err(invalid) => invalid_images.push((place, invalid)),
            }
        }
        for examined in &mut places {
            examined.digest = known_resolution(examined, object.request_type, settings);
        }
        if let PlannedOrAnsweredLookups::Answered(images) = &lookups {
            resolve_tags(&mut places, images);
        }
        let roles = PodRoles::of(&object.pod, settings, &places);
        let mut has_image_checks = false;
        for examined in &mut places {
            examined.role = roles.role(examined.place);
            has_image_checks |= examined.role == Role::ImageCheck;
        }
        let adds_checks = settings.image_checks.coverage == MissingCheckAction::Fix
            && object.request_type.is_before_start();
        let added_check_source =
            adds_checks.then(|| AddedCheckSource::in_pod(object, settings, &places));
        Self {
            object,
            settings,
            added_check_source,
            places,
            invalid_images,
            has_image_checks,
            app_containers,
            has_only_one_place: app_containers == 1 && others == 0,
            findings: Vec::new(),
            added_checks: Vec::new(),
            lookups,
            failed_lookups: BTreeMap::new(),
            image_groups: OnceCell::new(),
        }
    }

    /// The places in groups of the same image. A rule never changes these groups.
    pub(crate) fn image_groups(&self) -> Rc<ImageGroups> {
        let groups = self
            .image_groups
            .get_or_init(|| Rc::new(ImageGroups::of(&self.places)));
        Rc::clone(groups)
    }

    /// Whether *weak-check* and *pull-once* compare the checks of the request with the containers
    /// that the checks guard.
    pub(crate) fn compares_checks(&self) -> bool {
        self.object.request_type.is_before_start() && self.has_image_checks
    }

    /// Whether this is the copy, and the Pod has one app container. When the first installation saw the
    /// Pod, this container may have been the only place. So a missing check is only a warning.
    pub(crate) fn may_have_had_one_place(&self) -> bool {
        self.settings.registry.accepts_unknown_answers() && self.app_containers == 1
    }

    /// The source of the checks that *missing-check* adds. None if it adds none to this object.
    ///
    /// A pod template gets no checks, because nothing removes an added check whose image is no
    /// longer used. If this image disappeared from the registry, the workload could not start.
    pub(crate) fn source_of_checks_to_add(&self) -> Option<AddedCheckSource<'p>> {
        let source = self.added_check_source?.ok()?;
        let adds_checks = self.object.request_type == RequestType::PodCreate;
        (adds_checks && !self.may_have_had_one_place()).then_some(source)
    }

    /// What the copy can't know: the lookup answers that the first installation may have received, and
    /// the digests that another webhook may have added later. Empty except in the copy.
    pub(crate) fn answers_unknown_to_the_copy(&self) -> PossibleLookupAnswers<'p> {
        if self.settings.registry.accepts_unknown_answers() {
            PossibleLookupAnswers::in_copy(&self.places)
        } else {
            PossibleLookupAnswers::default()
        }
    }
}

/// The digest behind a tag, as far as it is known without a lookup.
///
/// At UPDATE of a Pod, under `Pin`, a tag that is stored with a digest keeps that digest. Otherwise a
/// manifest that is applied again would restart containers whose tag has moved.
fn known_resolution(
    examined: &ExaminedPlace<'_>,
    request_type: RequestType,
    settings: &Settings,
) -> KnownDigest {
    if may_be_left_by_use_cached(examined, request_type, settings) {
        return KnownDigest::UseCached;
    }
    // In the copy, a tag without a digest is no finding, so the copy doesn't need the stored digest.
    if request_type == RequestType::PodUpdate
        && !settings.registry.accepts_unknown_answers()
        && examined.lookup.mode == LookupMode::Pin
        && let Some(stored) = examined.place.stored_image.as_deref()
        && let Ok(stored) = Reference::parse(stored)
        && examined.reference.is_pinned_as(stored)
        && let Some(digest) = stored.digest()
    {
        return KnownDigest::Pinned(Rc::from(digest));
    }
    KnownDigest::Unknown
}

/// Gives the places the digests that lookups found behind their tags.
fn resolve_tags(places: &mut [ExaminedPlace<'_>], images: &[LookedUpImage]) {
    for image in images {
        let Ok(answer) = &image.answer else {
            continue;
        };
        let digest: Rc<str> = Rc::from(&*answer.digest);
        for index in &image.places {
            if let Some(examined) = places.get_mut(*index)
                && !examined.has_digest()
            {
                examined.digest = KnownDigest::Resolved(Rc::clone(&digest));
            }
        }
    }
}
