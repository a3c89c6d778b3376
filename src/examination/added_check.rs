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
    /// A copy of an image check, with another name, image and pull policy.
    CopyOf(&'p CopiedCheckFields<'p>),
    /// `imageChecks.template`
    Template(&'p CheckTemplate),
    /// An image volume.
    ImageVolume,
}

/// Why a Pod gets no image check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCheckSource {
    /// The Pod has no check that can be copied and no check volume, and there is no template.
    NothingToCopy,
    /// The check asks for resources, and the Pod has resources of its own. The containers of such
    /// a Pod may not ask for more than the Pod.
    PodHasResources,
}

impl<'p> AddedCheckSource<'p> {
    /// The source in a Pod.
    ///
    /// # Errors
    /// Why the Pod gets no check.
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

    /// Whether it makes an image volume, and not an init container.
    #[must_use]
    pub const fn is_image_volume(&self) -> bool {
        matches!(self, Self::ImageVolume)
    }

    /// How many containers mount the volume that it makes.
    #[must_use]
    pub fn carrier_count(&self, review: &'p ExaminedObject<'p>, settings: &Settings) -> usize {
        if self.is_image_volume() {
            let carriers = CheckVolumeCarriers::in_pod(&review.pod, settings);
            carriers.containers(&review.pod).count()
        } else {
            0
        }
    }

    /// Whether every app container of the Pod mounts the volume that it makes.
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

    /// The size of the fields, apart from name, image and pull policy, in bytes of JSON.
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
/// `AppArmor` profile. Such an annotation names its container, so a copy would have no profile.
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
/// `imageChecks.after` names. If there is none, the added init containers come first.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckInsertPosition<'p> {
    /// The init container before them. None if they come first.
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
    /// Its name. Nothing else in the Pod has it.
    pub name: String,
    /// Its image, written like the image of the place that it guards.
    pub image: String,
    /// Its pull policy.
    pub policy: PullPolicy,
    /// Its source.
    pub source: AddedCheckSource<'p>,
    /// The index of the examined place that it guards.
    pub guarded: usize,
    /// The container or image volume that it guards.
    pub place: &'p ContainerOrVolume<'p>,
    /// The image of a check that writes the same image differently, if there is one.
    pub written_differently: Option<&'p str>,
}

impl AddedCheck<'_> {
    /// The size of the check and of its mounts, in bytes of JSON. `fields_size` is the size of the
    /// fields that all added checks have in common, `carriers` is the count of its mounts.
    #[must_use]
    pub fn size(&self, fields_size: usize, carriers: usize) -> usize {
        /// The keys and quotes of a container's or volume's name, image and pull policy.
        const KEYS: usize = 48;
        /// The keys and quotes of a mount, with `readOnly`.
        const MOUNT_KEYS: usize = 40;
        let name = self.name.len();
        let mount = MOUNT_KEYS
            .saturating_add(name)
            .saturating_add(mount_path(&self.name).len());
        KEYS.saturating_add(name)
            .saturating_add(self.image.len())
            .saturating_add(self.policy.as_str().len())
            .saturating_add(fields_size)
            .saturating_add(mount.saturating_mul(carriers))
    }
}
