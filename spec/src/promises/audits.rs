//! Events that give a Pod a status: an audit examines the Pod, or a person pastes a status.

use serde_json::{Value, json};

use super::stories::is_mirror;
use super::{AUDIT, MISSING_IMAGE, PASTED_STATUS, Story};
use crate::differential::Policy;
use crate::events::{audit, running_status, waiting_status};
use crate::image::Reference;
use crate::json::{CONTAINER_LISTS, all_of, elements, named, text};
use crate::request::{controllers, names_no_user};

impl<P: Policy> Story<'_, P> {
    /// An audit examines the running Pod. This policy accepted the Pod at its creation, so the audit
    /// must accept the Pod too.
    pub(super) fn audited(&mut self) -> Result<(), String> {
        let Some(stored) = self.stored().filter(|_| self.is_bounded()) else {
            return Ok(());
        };
        // Every real mirror Pod has a node as its controller. If a kubelet creates a Pod with only the
        // mirror annotation, the Pod is accepted untouched. But an audit would examine and may reject
        // the Pod, so this case is skipped.
        if is_mirror(&stored) && !controllers(&stored).any(|one| one["kind"] == "Node") {
            return Ok(());
        }
        // Mode `Warn` accepts Pods with findings, so their audit runs in `Warn` too. A Pod that `Fix` or
        // `Reject` accepted is audited in `Reject`.
        let mode = if self.settings().mode() == "Warn" {
            "Warn"
        } else {
            "Reject"
        };
        let request = audit(&self.case.request, &stored, running_status(&stored));
        self.must_accept(AUDIT, &request, &[("mode", mode.into())])?;
        Ok(())
    }

    /// For each image volume, a container waits for the volume's image. The audit's finding names this
    /// image, and no other.
    pub(super) fn audited_while_waiting(&mut self) -> Result<(), String> {
        let Some(stored) = self.stored().filter(|stored| !is_mirror(stored)) else {
            return Ok(());
        };
        let containers = all_of(&stored["spec"], &CONTAINER_LISTS);
        for volume in elements(&stored["spec"], "volumes") {
            let image = text(&volume["image"]["reference"]);
            let mounts =
                |one: &&Value| named(elements(one, "volumeMounts"), &volume["name"]).is_some();
            // A text that isn't an image reference is a finding of *invalid-image*. So no finding of
            // *stuck-pull* names it.
            let (Some(reference), Some(carrier)) =
                (Reference::parse(image), containers.clone().find(mounts))
            else {
                continue;
            };
            // If an exempt volume or container waits for its own image, there is no finding.
            let is_missing = |image: &Value| {
                let image = Reference::parse(text(image));
                image.is_some_and(|image| image.normalised() == reference.normalised())
            };
            let is_exempt = |one: &Value| {
                let name = text(&one["name"]);
                self.settings().is_exempt(name, Some(&reference))
            };
            // No API server accepts two containers of the same name, and a status would not tell which
            // of them waits.
            let mut of_name = containers
                .clone()
                .filter(|one| one["name"] == carrier["name"]);
            if is_exempt(volume)
                || is_missing(&carrier["image"]) && is_exempt(carrier)
                || of_name.nth(1).is_some()
            {
                continue;
            }
            let status = waiting_status(&stored, &carrier["name"], image);
            let request = audit(&self.case.request, &stored, status);
            let observed = self.observe(request, &[("mode", "Reject".into())])?;
            let mut stuck = observed.annotation("findings");
            stuck.retain(|finding| finding["rule"] == "stuck-pull");
            if stuck.len() != 1 || !is_missing(&stuck[0]["image"]) {
                let details = format!("{} waits for {image}: {stuck:?}", carrier["name"]);
                self.breaks(MISSING_IMAGE, details);
            }
        }
        Ok(())
    }

    /// If a request names a user, the `status` of its object changes no answer in any mode.
    pub(super) fn status_pasted(&mut self) -> Result<(), String> {
        let mut without = self.case.request.clone();
        let object = without["object"].clone();
        let first = all_of(&object["spec"], &CONTAINER_LISTS).next();
        let Some(first) = first.filter(|_| object["status"].is_null()) else {
            return Ok(());
        };
        if names_no_user(&without) {
            without["userInfo"] = json!({"username": "jane"});
        }
        let mut pasted = without.clone();
        pasted["object"]["status"] = waiting_status(&object, &first["name"], text(&first["image"]));
        for mode in ["Fix", "Reject", "Warn"] {
            // The copy can't have mode `Fix`.
            if mode == "Fix" && self.settings().is_copy() {
                continue;
            }
            let expected = self.observe(without.clone(), &[("mode", mode.into())])?;
            let observed = self.observe(pasted.clone(), &[("mode", mode.into())])?;
            if observed.told() != expected.told() {
                self.breaks(PASTED_STATUS, format!("mode {mode}: {}", observed.told()));
            }
        }
        Ok(())
    }
}
