//! *outdated-check*: at UPDATE of a Pod, warns of an image check whose image no container has any more.
//!
//! `kubectl set image` changes the image of a container, and not the image of its check. If the check
//! waits for a misspelt tag, it goes on waiting, and the Pod never starts.

use std::collections::BTreeSet;

use crate::examination::Examination;
use crate::examination::passed_checks::PassedChecks;
use crate::findings::{Finding, FindingField, Reason, Repairability};
use crate::image::{ImageIdentity, Reference};
use crate::pod::{Mounters, Place, PodSpecList};
use crate::settings::Settings;

/// Reports each check whose image a container had before, written alike, if no container has this image
/// now and the check has not passed.
pub(crate) fn report(examination: &mut Examination<'_>) {
    let object = examination.object;
    let pod = &object.pod;
    let before = pod
        .list(PodSpecList::Containers)
        .filter(|place| place.is_in_scope)
        .filter_map(|place| Reference::parse(place.stored_image.as_deref()?).ok());
    let before: BTreeSet<(ImageIdentity<'_>, &str)> = before
        .map(|image| (image.identity(), image.written()))
        .collect();
    if before.is_empty() {
        return;
    }
    let now = pod
        .list(PodSpecList::Containers)
        .filter_map(|place| Reference::parse(place.image_text()).ok());
    let now: BTreeSet<ImageIdentity<'_>> = now.map(Reference::identity).collect();
    let mounters = pod.mounters();
    let status = object.status();
    let passed = PassedChecks::of(&mounters, &status);
    let checks = pod.places.iter().filter(|place| {
        is_check(place, &mounters, examination.settings)
            && Reference::parse(place.image_text()).is_ok_and(|image| {
                before.contains(&(image.identity(), image.written()))
                    && !now.contains(&image.identity())
            })
            && !passed.has_passed(place)
    });
    for check in checks {
        let mut finding = Finding::unrepairable(check, FindingField::Image, Reason::ReplacedImage);
        finding.repairability = Repairability::Advice;
        examination.findings.push(finding);
    }
}

/// Whether a place is an image check: an init container or image volume with the name of a check. An app
/// container, or an init container that ends, mounts the volume.
fn is_check(place: &Place<'_>, mounters: &Mounters<'_>, settings: &Settings) -> bool {
    let name = &*place.name;
    let can_be_check = match place.list {
        PodSpecList::InitContainers => !place.is_native_sidecar,
        PodSpecList::Volumes => {
            let mut mounters = mounters.get(name).into_iter().flatten();
            mounters.any(|container| !container.is_native_sidecar)
        }
        PodSpecList::Containers | PodSpecList::EphemeralContainers => false,
    };
    let reference = Reference::parse(place.image_text()).ok();
    can_be_check && settings.image_checks.names(name) && !settings.exempt.covers(name, reference)
}
