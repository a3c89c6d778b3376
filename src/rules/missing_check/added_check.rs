//! An image check that is added, and the form of the checks that one Pod gets.

use std::rc::Rc;

use super::check_volumes::mount_path;
use super::copied_fields::{copied_fields, runs_program_of_a_mount};
use crate::document::quoted;
use crate::examination::Examination;
use crate::examination::place::{ExaminedPlace, PlaceId, Role};
use crate::findings::reason::WhyNoCheck;
use crate::pod::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::request::ExaminedObject;
use crate::settings::{AddedCheckKind, CheckTemplate};

/// An image check that is added.
pub(crate) struct AddedCheck<'p> {
    /// Its name. No other container has this name. If the check is a volume, no other volume has it.
    pub(crate) name: String,
    /// Its image, written like the image of the place that the check guards.
    pub(crate) image: String,
    /// Its pull policy.
    pub(crate) policy: PullPolicy,
    /// Its form.
    pub(crate) form: AddedCheckForm,
    /// The place with the strongest pull policy among those that the check guards.
    pub(crate) guarded: PlaceId,
    /// The reference of an existing check that has the same image in another spelling, if there is one.
    pub(crate) written_differently: Option<&'p str>,
}

/// The form of the checks that a Pod gets.
#[derive(Clone, Debug)]
pub(crate) enum AddedCheckForm {
    /// An init container with these fields, apart from name, image and pull policy. The fields are members
    /// of a JSON object, each with a comma before it.
    InitContainer(Rc<str>),
    /// An image volume.
    ImageVolume,
}

impl AddedCheck<'_> {
    /// Whether the check is an image volume, and not an init container.
    pub(crate) const fn is_image_volume(&self) -> bool {
        matches!(self.form, AddedCheckForm::ImageVolume)
    }

    /// The check as JSON. For an init container, only name, image and pull policy. The record shows this.
    pub(crate) fn summary(&self) -> String {
        let (name, image) = (quoted(&self.name), quoted(&self.image));
        let policy = self.policy.as_str();
        match &self.form {
            AddedCheckForm::InitContainer(_) => {
                format!(r#"{{"name":{name},"image":{image},"imagePullPolicy":"{policy}"}}"#)
            }
            AddedCheckForm::ImageVolume => {
                format!(
                    r#"{{"name":{name},"image":{{"reference":{image},"pullPolicy":"{policy}"}}}}"#
                )
            }
        }
    }

    /// The check as JSON, as it is written into the Pod.
    pub(crate) fn element(&self) -> String {
        let summary = self.summary();
        match (&self.form, summary.strip_suffix('}')) {
            (AddedCheckForm::InitContainer(fields), Some(open)) => format!("{open}{fields}}}"),
            _ => summary,
        }
    }

    /// The mount of a check volume as JSON.
    pub(crate) fn mount(&self) -> String {
        let (name, path) = (quoted(&self.name), quoted(&mount_path(&self.name)));
        format!(r#"{{"name":{name},"mountPath":{path},"readOnly":true}}"#)
    }
}

impl AddedCheckForm {
    /// The form of the checks for a Pod, or for the Pods of a pod template.
    ///
    /// # Errors
    /// The reason why the Pod gets no check.
    pub(super) fn in_pod<'p>(examination: &Examination<'p>) -> Result<Self, WhyNoCheck<'p>> {
        let Examination {
            object,
            settings,
            places,
            ..
        } = examination;
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
        // Beside `spec.resources` an added check has no requests and no limits: its requests could exceed
        // those of the Pod, and the API server would refuse the Pod.
        let with_resources = !pod.has_resources();
        if let Some(check) = last_copyable_check(object, places) {
            let fields = copied_fields(check, with_resources);
            return Ok(Self::InitContainer(fields.into()));
        }
        let template = checks.template.as_ref();
        let missing_volume = template.and_then(|template| missing_volume(template, object));
        if let (Some(template), None) = (template, missing_volume) {
            let fields = template.fields_beside(with_resources);
            let fields = fields
                .iter()
                .map(|(key, value)| format!(",{}:{value}", quoted(key)));
            return Ok(Self::InitContainer(fields.collect::<String>().into()));
        }
        let is_check_volume = |one: &ExaminedPlace<'_>| {
            one.role == Role::ImageCheck && one.place.list == PodSpecList::Volumes
        };
        match missing_volume {
            _ if places.iter().any(is_check_volume) => image_volume,
            Some(volume) => Err(WhyNoCheck::TemplateNeedsVolume(volume)),
            None => Err(WhyNoCheck::NothingToCopy),
        }
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

/// The init container directly before the added ones: the Pod's last check that is an init container. In
/// a Pod without such a check, it is the last init container that `imageChecks.after` names. None if the
/// added init containers come before all others.
pub(crate) fn predecessor<'p>(examination: &Examination<'p>) -> Option<&'p Place<'p>> {
    let patterns = &examination.settings.image_checks.after;
    let is_named = |place: &&Place<'_>| patterns.iter().any(|one| one.matches(&place.name));
    let mut init_containers = examination.object.pod.list(PodSpecList::InitContainers);
    init_container_checks(&examination.places)
        .next_back()
        .or_else(|| init_containers.rfind(is_named))
}
