//! The examination of one object: the values that all rules share and change.
//!
//! The submodules hold the types that several rules need. They don't depend on the rules' modules.

pub(crate) mod added_checks;
pub(crate) mod chosen_policy;
pub(crate) mod images;
pub(crate) mod limits;
pub(crate) mod passed_checks;
pub(crate) mod place;
pub(crate) mod possibly_same_images;
pub(crate) mod roles;

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::rc::Rc;

use self::added_checks::AddedChecks;
use self::images::set_spellings;
use self::place::{DigestOfTag, ExaminedPlace, PlaceId, Role};
use self::possibly_same_images::{PossiblySameImages, may_be_left_by_use_cached};
use self::roles::set_roles;
use crate::findings::Finding;
use crate::findings::failed_lookup::FailedLookup;
use crate::image::{InvalidReference, Reference};
use crate::lookup::{ImageToLookUp, LookupAnswer, LookupError};
use crate::pod::{Place, PodSpecList};
use crate::request::{ExaminedObject, RequestType};
use crate::settings::{LookupMode, Settings};

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
            if settings.exempt.covers(&place.name, || reference.ok()) {
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

    /// Whether *weak-check* and *pull-once* compare the checks of the request with the containers
    /// that the checks guard.
    pub(crate) fn compares_checks(&self) -> bool {
        self.object.request_type.is_before_start() && self.has_image_checks()
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
    /// the digests that another webhook may have added later. Empty except in the copy.
    pub(crate) fn answers_unknown_to_the_copy(&self) -> PossiblySameImages<'p> {
        if self.settings.registry.accepts_unknown_answers() {
            PossiblySameImages::in_copy(&self.places)
        } else {
            PossiblySameImages::default()
        }
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
    if may_be_left_by_use_cached(examined, request_type, settings) {
        return DigestOfTag::UseCached;
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
        return DigestOfTag::Pinned(Rc::from(digest));
    }
    DigestOfTag::Unknown
}
