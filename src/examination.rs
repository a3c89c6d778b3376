//! The examination of one object: the state that the rules read and change. [`crate::examination_result`] is its result.
//!
//! The submodules hold the types that several rules need. They don't depend on the rules' modules.

pub(crate) mod added_check;
pub(crate) mod coverage;
pub(crate) mod examined_place;
pub(crate) mod image_check_results;
pub(crate) mod leniency_of_copy;
pub(crate) mod role;

use std::collections::BTreeMap;

use self::added_check::AddedChecks;
use self::examined_place::ExaminedPlace;
use self::role::{PodRoles, Role};
use crate::finding::Finding;
use crate::image::{InvalidReference, Reference};
use crate::lookup::failed_lookup::FailedLookup;
use crate::pod_spec::{Place, PlacesByListAndName, PodSpecList};
use crate::request::ExaminedObject;
use crate::settings::Settings;

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
    /// At UPDATE, the places of the stored object, by list and name.
    pub(crate) stored_places: PlacesByListAndName<'p>,
    /// The findings that no change of a place repairs.
    pub(crate) findings: Vec<Finding<'p>>,
    /// The image checks to add.
    pub(crate) added: AddedChecks<'p>,
    /// The lookups that failed or were not made, by the normalised image.
    pub(crate) failed_lookups: BTreeMap<String, FailedLookup>,
}

impl<'p> Examination<'p> {
    /// Begins the examination of an object. None if the rules examine none of its places.
    pub(crate) fn new(object: &'p ExaminedObject<'p>, settings: &'p Settings) -> Option<Self> {
        let stored_places = object.stored_places();
        let places = object.places_to_examine(&stored_places);
        if places.is_empty() {
            return None;
        }
        let has_volumes = places
            .iter()
            .any(|place| place.list == PodSpecList::Volumes);
        let roles = PodRoles::of(&object.pod, has_volumes, settings);
        let mut examined = Vec::with_capacity(places.len());
        let mut invalid_images = Vec::new();
        for place in places {
            let reference = Reference::parse(place.image_text());
            if settings.exempt.covers(&place.name, reference.ok()) {
                continue;
            }
            match reference {
                Ok(reference) => {
                    let role = roles.role(place);
                    examined.push(ExaminedPlace::new(place, role, reference, settings));
                }
                Err(invalid) => invalid_images.push((place, invalid)),
            }
        }
        Some(Self {
            object,
            settings,
            places: examined,
            invalid_images,
            stored_places,
            findings: Vec::new(),
            added: AddedChecks::default(),
            failed_lookups: BTreeMap::new(),
        })
    }

    /// Whether the Pod has an image check.
    pub(crate) fn has_image_checks(&self) -> bool {
        let mut places = self.places.iter();
        places.any(|examined| examined.role == Role::ImageCheck)
    }

    /// The places that are not exempt, those with an invalid image included.
    pub(crate) fn places_not_exempt(&self) -> impl Iterator<Item = &'p Place<'p>> {
        let examined = self.places.iter().map(|examined| examined.place);
        examined.chain(self.invalid_images.iter().map(|(place, _)| *place))
    }

    /// Whether the Pod has one app container that is not exempt.
    pub(crate) fn has_one_app_container(&self) -> bool {
        let is_app_container = |place: &&Place<'_>| place.list == PodSpecList::Containers;
        self.places_not_exempt().filter(is_app_container).count() == 1
    }
}
