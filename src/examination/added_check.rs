//! The source of an added image check, and its position among the init containers.

use super::check_volume_mounts::{CheckVolumeCarriers, mount_path};
use super::examined_container_or_volume::{ExaminedContainerOrVolume, Role};
use crate::pod::copied_check_fields::CopiedCheckFields;
use crate::pod::resources::ResourceFlags;
use crate::pod::{ContainerOrVolume, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::request::ExaminedObject;
use crate::settings::{AddedCheckKind, CheckTemplate, Settings};

/// The source of an added image check.
#[derive(Clone, Copy, Debug)]
pub enum AddedCheckSource<'p> {
    /// The fields that are copied from an image check of the Pod: not its name, image or pull policy.
    CopyOf(&'p CopiedCheckFields<'p>),
    /// The setting `imageChecks.template`.
    Template(&'p CheckTemplate),
    /// An image volume.
    ImageVolume,
}

/// The reason why a Pod gets no image check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCheckSource {
    /// The Pod has no check that can be copied and no check volume, and there is no template.
    NothingToCopy,
    /// The check to copy, or the template, has resources, and the Pod spec sets pod-level resources.
    /// With an added check, the containers could request more than the Pod, which Kubernetes forbids.
    PodHasResources,
}

impl<'p> AddedCheckSource<'p> {
    /// The source of the checks that are added to a Pod.
    ///
    /// # Errors
    /// The reason why the Pod gets no check.
    pub fn in_pod(
        review: &'p ExaminedObject<'p>,
        settings: &'p Settings,
        places: &[ExaminedContainerOrVolume<'p>],
    ) -> Result<Self, NoCheckSource> {
        let checks = &settings.image_checks;
        if checks.made_of == AddedCheckKind::ImageVolume {
            return Ok(Self::ImageVolume);
        }
        let is_check_volume = |one: &ExaminedContainerOrVolume<'_>| {
            one.role == Role::ImageCheck && one.place.list == PodSpecList::Volumes
        };
        let (source, resources) = match (last_copyable_check(review, places), &checks.template) {
            (Some(check), _) => (Self::CopyOf(check), check.resources),
            (None, Some(template)) => (Self::Template(template), template_resources(template)),
            (None, None) if places.iter().any(is_check_volume) => return Ok(Self::ImageVolume),
            (None, None) => return Err(NoCheckSource::NothingToCopy),
        };
        if review.pod.resources.has_any && resources.has_any {
            return Err(NoCheckSource::PodHasResources);
        }
        Ok(source)
    }

    /// Whether an added check is an image volume, and not an init container.
    #[must_use]
    pub const fn is_image_volume(&self) -> bool {
        matches!(self, Self::ImageVolume)
    }

    /// The number of containers that mount an added check volume.
    #[must_use]
    pub fn carrier_count(&self, review: &'p ExaminedObject<'p>, settings: &Settings) -> usize {
        if self.is_image_volume() {
            let carriers = CheckVolumeCarriers::in_pod(&review.pod, settings);
            carriers.containers(&review.pod).count()
        } else {
            0
        }
    }

    /// Whether every app container of the Pod mounts an added check volume.
    #[must_use]
    pub fn is_mounted_by_app_containers(
        &self,
        review: &'p ExaminedObject<'p>,
        settings: &Settings,
    ) -> bool {
        self.is_image_volume()
            && matches!(
                CheckVolumeCarriers::in_pod(&review.pod, settings),
                CheckVolumeCarriers::AppContainers
            )
    }

    /// The size of an added init container's fields in bytes of JSON, without name, image and pull
    /// policy. An image volume has no such fields.
    #[must_use]
    pub fn fields_size(&self) -> usize {
        match self {
            Self::CopyOf(check) => check
                .copied_fields()
                .iter()
                .map(|(key, value)| key.len().saturating_add(value.len()).saturating_add(4))
                .fold(0, usize::saturating_add),
            Self::Template(template) => serde_json::to_string(template.fields())
                .map_or(0, |fields| fields.len().saturating_sub(1)),
            Self::ImageVolume => 0,
        }
    }
}

fn template_resources(template: &CheckTemplate) -> ResourceFlags {
    let resources = template.fields().get("resources");
    let resources = resources.and_then(serde_json::Value::as_object);
    resources.map(ResourceFlags::of).unwrap_or_default()
}

fn init_container_checks<'c, 'p>(
    places: &'c [ExaminedContainerOrVolume<'p>],
) -> impl DoubleEndedIterator<Item = &'p ContainerOrVolume<'p>> + use<'c, 'p> {
    places
        .iter()
        .filter(|one| one.role == Role::ImageCheck && one.place.list == PodSpecList::InitContainers)
        .map(|one| one.place)
}

/// The last image check that can be copied: it has a command, and no annotation gives it an
/// `AppArmor` profile. The key of such an annotation names one container, so it gives a copy no profile.
fn last_copyable_check<'p>(
    review: &ExaminedObject<'p>,
    places: &[ExaminedContainerOrVolume<'p>],
) -> Option<&'p CopiedCheckFields<'p>> {
    let has_app_armor_annotation = |place: &ContainerOrVolume<'_>| {
        let annotated = &review.metadata.app_armor_containers;
        annotated.iter().any(|name| *name == place.name.value)
    };
    init_container_checks(places)
        .rev()
        .filter(|place| !has_app_armor_annotation(place))
        .filter_map(|place| place.as_check.as_deref())
        .find(|check| check.has_command())
}

/// The position of added init containers: directly after the Pod's last check that is an init
/// container. In a Pod without such a check it is after the last init container that
/// `imageChecks.after` names. If it names none, the added init containers come before all others.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckInsertPosition<'p> {
    /// The init container directly before the added ones. `None` if the added ones come first.
    pub after: Option<&'p ContainerOrVolume<'p>>,
}

impl<'p> CheckInsertPosition<'p> {
    /// The position in a Pod.
    #[must_use]
    pub fn in_pod(
        review: &'p ExaminedObject<'p>,
        settings: &Settings,
        places: &[ExaminedContainerOrVolume<'p>],
    ) -> Self {
        let patterns = &settings.image_checks.after;
        let is_named = |place: &&ContainerOrVolume<'_>| {
            patterns.iter().any(|one| one.matches(&place.name.value))
        };
        let mut init_containers = review.pod.list(PodSpecList::InitContainers).rev();
        Self {
            after: init_container_checks(places)
                .next_back()
                .or_else(|| init_containers.find(is_named)),
        }
    }

    /// The index of the first added init container.
    #[must_use]
    pub fn index(&self) -> usize {
        self.after.map_or(0, |place| place.index.saturating_add(1))
    }
}

/// An image check that is added.
#[derive(Clone, Debug)]
pub struct AddedCheck<'p> {
    /// Its name. No other container has this name. If the check is a volume, no other volume has it.
    pub name: String,
    /// Its image, written like the image of the place that the check guards.
    pub image: String,
    /// Its pull policy.
    pub policy: PullPolicy,
    /// Its source.
    pub source: AddedCheckSource<'p>,
    /// The index of the examined place with the strongest pull policy among those that the check guards.
    pub guarded: usize,
    /// The container or image volume at this index.
    pub place: &'p ContainerOrVolume<'p>,
    /// The reference of an existing check that has the same image in another spelling, if there is one.
    pub written_differently: Option<&'p str>,
}

impl AddedCheck<'_> {
    /// The size of the check and of its mounts, in bytes of JSON. `fields_size` is the size of the
    /// fields that all added checks have in common. `carriers` is the number of the check's mounts.
    #[must_use]
    pub fn size(&self, fields_size: usize, carriers: usize) -> usize {
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
