//! The source of an added image check, and its position among the init containers.

use super::check_volumes::{check_volume_carriers, mount_path};
use super::copied_fields::{copied_fields, runs_program_of_a_mount};
use crate::document::quoted;
use crate::examination::place::{ExaminedPlace, PlaceId, Role};
use crate::findings::reason::WhyNoCheck;
use crate::pod::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::request::ExaminedObject;
use crate::settings::{AddedCheckKind, CheckTemplate, Settings};

/// The source of an added image check.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AddedCheckSource<'p> {
    /// An init container with the fields of an image check of the Pod, or of the setting
    /// `imageChecks.template`.
    InitContainer {
        /// The fields, without name, image and pull policy.
        fields: CheckFields<'p>,
        /// Whether the added check has requests and limits. Beside `spec.resources` it has none: its
        /// requests could exceed those of the Pod, and the API server would refuse the Pod.
        with_resources: bool,
    },
    /// An image volume.
    ImageVolume,
}

/// The fields of an added init container, without name, image and pull policy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CheckFields<'p> {
    /// The fields of an image check of the Pod.
    CopyOf(&'p Place<'p>),
    /// The setting `imageChecks.template`.
    Template(&'p CheckTemplate),
}

impl<'p> AddedCheckSource<'p> {
    /// The source of the checks that are added to a Pod.
    ///
    /// # Errors
    /// The reason why the Pod gets no check.
    pub(crate) fn in_pod(
        object: &'p ExaminedObject<'p>,
        settings: &'p Settings,
        places: &[ExaminedPlace<'p>],
    ) -> Result<Self, WhyNoCheck<'p>> {
        let pod = &object.pod;
        let checks = &settings.image_checks;
        if pod.is_windows() {
            return Err(WhyNoCheck::Windows);
        }
        let image_volume = if pod.can_mount_image_volumes() {
            Ok(Self::ImageVolume)
        } else {
            let beside = if pod.has_user_namespace {
                "hostUsers: false"
            } else {
                "runtimeClassName"
            };
            Err(WhyNoCheck::NoImageVolumes { beside })
        };
        if checks.made_of == AddedCheckKind::ImageVolume {
            return image_volume;
        }
        let is_check_volume = |one: &ExaminedPlace<'_>| {
            one.role == Role::ImageCheck && one.place.list == PodSpecList::Volumes
        };
        let template = checks.template.as_ref();
        let missing_volume = template.and_then(|template| missing_volume(template, object));
        let copied = last_copyable_check(object, places).map(CheckFields::CopyOf);
        let template = template.filter(|_| missing_volume.is_none());
        match copied.or(template.map(CheckFields::Template)) {
            Some(fields) => Ok(Self::InitContainer {
                fields,
                with_resources: !pod.has_resources(),
            }),
            None if places.iter().any(is_check_volume) => image_volume,
            None => Err(match missing_volume {
                Some(volume) => WhyNoCheck::TemplateNeedsVolume(volume),
                None => WhyNoCheck::NothingToCopy,
            }),
        }
    }

    /// Whether an added check is an image volume, and not an init container.
    pub(crate) const fn is_image_volume(&self) -> bool {
        matches!(self, Self::ImageVolume)
    }

    /// The number of containers that mount an added check volume.
    pub(crate) fn carrier_count(
        &self,
        object: &'p ExaminedObject<'p>,
        settings: &Settings,
    ) -> usize {
        if self.is_image_volume() {
            check_volume_carriers(&object.pod, settings).len()
        } else {
            0
        }
    }

    /// The size of an added init container's fields in bytes of JSON, without name, image and pull
    /// policy. An image volume has no such fields.
    pub(crate) fn fields_size(&self) -> usize {
        self.fields_text().len()
    }

    /// The fields of an added init container as members of a JSON object, each with a comma before it.
    /// Empty for an image volume.
    pub(crate) fn fields_text(&self) -> String {
        let Self::InitContainer {
            fields,
            with_resources,
        } = self
        else {
            return String::new();
        };
        let fields: Vec<String> = match fields {
            CheckFields::CopyOf(check) => {
                let fields = copied_fields(check, *with_resources).into_iter();
                fields
                    .map(|(key, value)| format!(",\"{key}\":{value}"))
                    .collect()
            }
            CheckFields::Template(template) => {
                let fields = template.fields_beside(*with_resources);
                fields
                    .into_iter()
                    .map(|(key, value)| format!(",{}:{value}", quoted(&key)))
                    .collect()
            }
        };
        fields.concat()
    }
}

/// The first volume that the check template mounts and that the Pod doesn't have. The claim templates
/// of a `StatefulSet` count as volumes.
fn missing_volume<'p>(template: &'p CheckTemplate, object: &ExaminedObject<'_>) -> Option<&'p str> {
    let claims = object.claim_template_names();
    let is_there = |name: &str| {
        let mut volumes = object.pod.volume_names.iter().chain(&claims);
        volumes.any(|volume| volume == name)
    };
    template.volumes().find(|name| !is_there(name))
}

fn init_container_checks<'c, 'p>(
    places: &'c [ExaminedPlace<'p>],
) -> impl DoubleEndedIterator<Item = &'p Place<'p>> + use<'c, 'p> {
    places
        .iter()
        .filter(|one| one.role == Role::ImageCheck && one.place.list == PodSpecList::InitContainers)
        .map(|one| one.place)
}

/// The last image check that can be copied: its program comes from a mount, and no annotation gives it
/// an `AppArmor` profile. The key of such an annotation names one container, so it gives a copy no profile.
fn last_copyable_check<'p>(
    object: &ExaminedObject<'p>,
    places: &[ExaminedPlace<'p>],
) -> Option<&'p Place<'p>> {
    init_container_checks(places)
        .rev()
        .filter(|check| !object.metadata.has_app_armor_annotation(&check.name))
        .find(|check| runs_program_of_a_mount(check))
}

/// The position of added init containers: directly after the Pod's last check that is an init
/// container. In a Pod without such a check it is after the last init container that
/// `imageChecks.after` names. If it names none, the added init containers come before all others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CheckInsertPosition<'p> {
    /// The init container directly before the added ones. `None` if the added ones come first.
    pub(crate) after: Option<&'p Place<'p>>,
}

impl<'p> CheckInsertPosition<'p> {
    /// The position in a Pod.
    pub(crate) fn in_pod(
        object: &'p ExaminedObject<'p>,
        settings: &Settings,
        places: &[ExaminedPlace<'p>],
    ) -> Self {
        let patterns = &settings.image_checks.after;
        let is_named = |place: &&Place<'_>| patterns.iter().any(|one| one.matches(&place.name));
        let mut init_containers = object.pod.list(PodSpecList::InitContainers).rev();
        Self {
            after: init_container_checks(places)
                .next_back()
                .or_else(|| init_containers.find(is_named)),
        }
    }

    /// The index of the first added init container.
    pub(crate) fn index(self) -> usize {
        self.after.map_or(0, |place| place.index.saturating_add(1))
    }
}

/// An image check that is added.
#[derive(Clone, Debug)]
pub(crate) struct AddedCheck<'p> {
    /// Its name. No other container has this name. If the check is a volume, no other volume has it.
    pub(crate) name: String,
    /// Its image, written like the image of the place that the check guards.
    pub(crate) image: String,
    /// Its pull policy.
    pub(crate) policy: PullPolicy,
    /// Its source.
    pub(crate) source: AddedCheckSource<'p>,
    /// The place with the strongest pull policy among those that the check guards.
    pub(crate) guarded: PlaceId,
    /// The container or image volume with this id.
    pub(crate) place: &'p Place<'p>,
    /// The reference of an existing check that has the same image in another spelling, if there is one.
    pub(crate) written_differently: Option<&'p str>,
}

impl AddedCheck<'_> {
    /// The size of the check and of its mounts, in bytes of JSON. `fields_size` is the size of the
    /// fields that all added checks have in common. `carriers` is the number of the check's mounts.
    pub(crate) fn size(&self, fields_size: usize, carriers: usize) -> usize {
        /// The braces, keys, quotes and commas of `{"name":"","image":"","imagePullPolicy":""},`.
        const CONTAINER: usize = 44;
        /// The same of `{"name":"","image":{"reference":"","pullPolicy":""}},`.
        const VOLUME: usize = 53;
        /// The same of `{"name":"","mountPath":"","readOnly":true},`.
        const MOUNT: usize = 43;
        let name = self.name.len();
        let keys = if self.source.is_image_volume() {
            VOLUME
        } else {
            CONTAINER
        };
        let mount = MOUNT
            .saturating_add(name)
            .saturating_add(mount_path(&self.name).len());
        keys.saturating_add(name)
            .saturating_add(self.image.len())
            .saturating_add(self.policy.as_str().len())
            .saturating_add(fields_size)
            .saturating_add(mount.saturating_mul(carriers))
    }
}
