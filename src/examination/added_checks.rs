//! The image checks that a Pod gets, and their JSON.

use std::rc::Rc;

use super::place::PlaceId;
use crate::document::quoted;
use crate::pod::Place;
use crate::pull_policy::PullPolicy;

/// The folder in which this policy mounts check volumes.
pub(crate) const MOUNT_FOLDER: &str = "/.imagecheck/";

/// The image checks that are added to a Pod.
#[derive(Default)]
pub(crate) struct AddedChecks<'p> {
    /// The checks, all of one form.
    pub(crate) checks: Vec<AddedCheck<'p>>,
    /// The init container directly before the added ones. None if the added ones come first.
    pub(crate) predecessor: Option<&'p Place<'p>>,
    /// The containers that mount each added volume.
    pub(crate) carriers: Vec<&'p Place<'p>>,
}

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
        let (name, path) = (
            quoted(&self.name),
            quoted(&[MOUNT_FOLDER, &self.name].concat()),
        );
        format!(r#"{{"name":{name},"mountPath":{path},"readOnly":true}}"#)
    }

    /// The size of the check and of its mounts in the Pod, each with a comma, in bytes.
    pub(crate) fn size(&self, carriers: usize) -> usize {
        let element = self.element().len().saturating_add(1);
        if !self.is_image_volume() {
            return element;
        }
        let mount = self.mount().len().saturating_add(1);
        element.saturating_add(mount.saturating_mul(carriers))
    }
}
