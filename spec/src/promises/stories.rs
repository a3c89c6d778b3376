//! Runs this policy on the requests of each event, and checks the promises that apply to the event.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    AUDIT, COPY, COPY_BESIDE_PLUGIN, COPY_BESIDE_WEBHOOK, DEBUG, MINIMAL, NO_CHECK_TWICE,
    PULLED_FIRST, RE_APPLY, REJECT, SET_IMAGE, STABLE, Story, VALID, contents, copy, minimal, told,
    valid,
};
use crate::differential::Policy;
use crate::events::{Webhook, applied_again, audit, debugged, forge_record, image_set, raise_all};
use crate::json::{LISTS, elements, elements_mut, text};
use crate::record::RECORD;
use crate::request::controllers;
use crate::settings::Settings;

impl<P: Policy> Story<'_, P> {
    /// Checks the promises about the first answer, about the returned object and about a second run.
    pub(super) fn created(&mut self, is_pod: bool) -> Result<(), String> {
        let first = self.first.clone();
        self.shows_no_secret(&first);
        let is_create = self.case.request["operation"] == "CREATE";
        if let Some(after) = self.stored().filter(|_| is_create) {
            let before = &self.case.request["object"];
            let minimal = minimal::problem(before, &after, self.settings());
            let refused = valid::newly_refused(before, &after).filter(|_| is_pod);
            for (promise, problem) in [(MINIMAL, minimal), (VALID, refused)] {
                if let Some(details) = problem {
                    self.breaks(promise, details);
                }
            }
            let (changes, were_lookups) = (first.annotation("changes"), !first.calls.is_empty());
            let lowered = contents::lowered_without_pull(&changes, &after, were_lookups);
            if let Some(details) = lowered.filter(|_| is_pod) {
                self.breaks(PULLED_FIRST, details);
            }
        }
        if is_pod {
            self.modes_agree()?;
        }
        self.second_look()
    }

    /// If mode `Fix` runs on its own output, it accepts this output and changes nothing. After a repair, it
    /// finds only what a person has to correct. Mode `Reject` and the copy accept the output of `Fix` too.
    fn second_look(&mut self) -> Result<(), String> {
        let operation = text(&self.case.request["operation"]);
        let is_written = ["CREATE", "UPDATE"].contains(&operation);
        let Some(object) = self.repaired().filter(|_| is_written) else {
            return Ok(());
        };
        let request = self.request_with(object);
        if self.is_bounded() {
            let again = self.must_accept(STABLE, &request, &[])?;
            let was_repaired = self.first.answer["mutated_object"].is_object();
            let finds_more = !again.annotation("findings").iter().all(is_advice);
            if !again.answer["mutated_object"].is_null() || was_repaired && finds_more {
                self.breaks(STABLE, told(&again));
            }
        }
        // In a Pod with a status, *stuck-pull* may have findings in `Reject`, but has none in `Fix`. So
        // the promises about `Reject` and the copy don't apply to this Pod.
        if request["object"]["status"].is_object() {
            return Ok(());
        }
        if self.is_bounded() {
            self.must_accept(REJECT, &request, &[("mode", "Reject".into())])?;
        }
        let copied = self.must_accept(COPY, &request, &copy())?;
        if !copied.calls.is_empty() {
            self.breaks(COPY, "the copy makes lookups");
        }
        Ok(())
    }

    /// A webhook changes the Pod that `Fix` returned. The API server refuses the result only if it refuses
    /// the request's Pod after the same change. The copy accepts the result, or names what the webhook
    /// changed. If `Fix` runs on the result of a service mesh, it adds no second check for an image of the
    /// first request.
    pub(super) fn changed_between(&mut self, webhook: Webhook) -> Result<(), String> {
        let Some(repaired) = self.repaired().filter(|pod| pod["status"].is_null()) else {
            return Ok(());
        };
        let changed = |pod: &Value| {
            let mut pod = pod.clone();
            webhook.change(&mut pod);
            pod
        };
        let object = changed(&repaired);
        if object == repaired {
            return Ok(());
        }
        let refused = valid::newly_refused(&changed(&self.case.request["object"]), &object);
        if let Some(details) = refused {
            self.breaks(VALID, details);
        }
        let request = self.request_with(object);
        let observed = self.observe(request.clone(), &copy())?;
        let message = text(&observed.answer["message"]);
        // An added digest makes `IfNotPresent` the server default of `app`. So a default `Always` raises it.
        let is_raised = self.settings().default_policy() == Some("Always");
        let must_accept = match webhook {
            Webhook::Mesh(_) => true,
            Webhook::DigestsPinned => !is_raised,
            _ => false,
        };
        let mut names = differing(&repaired["spec"], &request["object"]["spec"]);
        if webhook == Webhook::VolumeImagesDropped {
            // A check is gone. The copy can't know why, and names the containers.
            let containers = elements(&repaired["spec"], "containers").iter();
            names.extend(containers.map(|one| text(&one["name"])));
        }
        names.remove("");
        let is_named = !must_accept && names.iter().any(|name| message.contains(name));
        if !observed.is_accepted() && !is_named {
            self.breaks(COPY_BESIDE_WEBHOOK, told(&observed));
        }
        if let Webhook::Mesh(_) = webhook {
            self.adds_no_second_check(&request)?;
        }
        Ok(())
    }

    fn adds_no_second_check(&mut self, request: &Value) -> Result<(), String> {
        let second = self.observe(request.clone(), &[])?;
        let images = contents::images(&self.case.request["object"]["spec"]);
        let added = contents::added(&request["object"], &second.answer["mutated_object"]);
        let mut added = added.into_iter().map(contents::image);
        if let Some(image) = added.find(|image| images.contains(image)) {
            let details = format!("a second check of {image}");
            self.breaks(NO_CHECK_TWICE, details);
        }
        Ok(())
    }

    /// The plugin `AlwaysPullImages` raises all pull policies after `Fix`. The copy accepts the result.
    pub(super) fn raised_after(&mut self) -> Result<(), String> {
        let Some(mut object) = self.repaired().filter(|pod| !pod["status"].is_object()) else {
            return Ok(());
        };
        if goes_with_plugin(self.settings()) {
            raise_all(&mut object);
            let request = self.request_with(object);
            self.must_accept(COPY_BESIDE_PLUGIN, &request, &copy())?;
        }
        Ok(())
    }

    /// A manifest that is applied once more changes nothing and is accepted.
    pub(super) fn applied_again(&mut self) -> Result<(), String> {
        let records = self.settings().record_changes();
        let owners = &self.case.request["object"]["metadata"]["ownerReferences"];
        let is_nobodys = !owners.is_array();
        // A record without all changes can't restore every field.
        let is_whole = |stored: &Value| {
            let record = stored["metadata"]["annotations"][RECORD].as_str();
            record.is_some_and(|record| !record.contains("{\"more\":"))
        };
        let can_restore = |stored: &Value| records && is_nobodys && is_whole(stored);
        let Some(stored) = self.repaired().filter(can_restore) else {
            return Ok(());
        };
        let request = applied_again(&self.case.request, &stored);
        let observed = self.must_accept(RE_APPLY, &request, &[])?;
        if observed.object_after(&request)["spec"] != stored["spec"] {
            self.breaks(RE_APPLY, told(&observed));
        }
        Ok(())
    }

    /// A debug container is accepted, and every stored place keeps its values. The copy accepts the
    /// result.
    pub(super) fn debugged(&mut self) -> Result<(), String> {
        let Some(stored) = self.repaired().filter(|stored| !is_mirror(stored)) else {
            return Ok(());
        };
        let mut request = debugged(&self.case.request, &stored);
        let observed = self.must_accept(DEBUG, &request, &[])?;
        let after = observed.object_after(&request).clone();
        let is_kept = LISTS.iter().all(|list| {
            let stored = elements(&stored["spec"], list);
            let after = elements(&after["spec"], list);
            // The new ephemeral container comes after the stored ones.
            let is_added = *list == "ephemeralContainers" && after.len() == stored.len() + 1;
            after == stored || is_added && after.starts_with(stored)
        });
        if !is_kept {
            self.breaks(DEBUG, told(&observed));
        }
        if observed.is_accepted() && is_kept {
            request["object"] = after;
            self.must_accept(DEBUG, &request, &copy())?;
        }
        Ok(())
    }

    /// A person changes an image, beside a forged record.
    pub(super) fn image_set(&mut self) -> Result<(), String> {
        let Some(stored) = self.repaired().filter(|stored| !is_mirror(stored)) else {
            return Ok(());
        };
        let mut request = image_set(&self.case.request, &stored);
        forge_record(&mut request);
        let fixed = self.observe(request.clone(), &[])?;
        if fixed.is_accepted() {
            let mut after = request.clone();
            after["object"] = fixed.object_after(&request).clone();
            let containers =
                |request: &Value| elements(&request["object"]["spec"], "containers").to_vec();
            let has_requested_image = |(after, requested): (&Value, &Value)| {
                text(&after["image"]).starts_with(text(&requested["image"]))
            };
            let (new, requested) = (containers(&after), containers(&request));
            if !new.iter().zip(&requested).all(has_requested_image)
                || without_images(&after["object"]["spec"]) != without_images(&stored["spec"])
            {
                self.breaks(SET_IMAGE, told(&fixed));
            }
            self.must_accept(SET_IMAGE, &after, &copy())?;
        }
        Ok(())
    }

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
        let request = audit(&self.case.request, &stored);
        self.must_accept(AUDIT, &request, &[("mode", mode.into())])?;
        Ok(())
    }
}

/// Whether mode `Fix` only warns of a finding. Such a finding has no value that should be there, or it is a missing
/// check that the settings don't add.
fn is_advice(finding: &Value) -> bool {
    finding["expected"].is_null() || finding["expected"] == "an image check"
}

/// Returns the names and images of the entries that differ between two Pod specs, and the names of the
/// other fields that differ.
fn differing<'v>(before: &'v Value, after: &'v Value) -> BTreeSet<&'v str> {
    let mut names = BTreeSet::new();
    for (one, other) in [(before, after), (after, before)] {
        for list in LISTS {
            let differs = |entry: &&Value| !elements(other, list).contains(entry);
            for entry in elements(one, list).iter().filter(differs) {
                names.extend([text(&entry["name"]), contents::image(entry)]);
            }
        }
        let fields = one.as_object().into_iter().flatten();
        let differs = fields.filter(|(key, value)| other[key] != **value);
        let keys = differs.map(|(key, _)| key.as_str());
        names.extend(keys.filter(|key| !LISTS.contains(key)));
    }
    names
}

/// Returns a Pod spec without the images of its containers and init containers.
fn without_images(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for list in ["containers", "initContainers"] {
        for container in elements_mut(&mut spec, list) {
            container["image"].take();
        }
    }
    spec
}

fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"]
        .get("kubernetes.io/config.mirror")
        .is_some()
}

/// Whether the promise `COPY_BESIDE_PLUGIN` applies to settings. The copy would reject the pull policies
/// that the plugin raised if `images.forbidAlways` forbids them, or if a default lowers them.
fn goes_with_plugin(settings: Settings<'_>) -> bool {
    settings.list("images.forbidAlways").is_empty() && settings.get("defaults").is_none()
}
