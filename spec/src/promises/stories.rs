//! Runs this policy on the requests of each event, and checks the promises that apply to the event.

use serde_json::{Value, json};

use super::{
    AUDIT, COPY, COPY_BESIDE_MESH, COPY_BESIDE_PLUGIN, DEBUG, MISSING_IMAGE, NO_CHECK_TWICE,
    PASTED_STATUS, RE_APPLY, REJECT, STABLE, Story, contents, copy, told,
};
use crate::compare::Observed;
use crate::differential::Policy;
use crate::events::{
    CONTAINER_LISTS, Mesh, applied_again, audit, debugged, elements, named, raise_all,
    running_status, waiting_status,
};
use crate::image::Reference;
use crate::request::controllers;
use crate::settings::Settings;

impl<P: Policy> Story<'_, P> {
    /// Checks the promises about the first answer, about the returned object and about a second run.
    pub(super) fn created(&mut self, is_pod: bool) -> Result<(), String> {
        let first = self.first.clone();
        self.shows_no_secret(&first);
        if let Some(after) = self
            .stored()
            .filter(|_| self.case.request["operation"] == "CREATE")
        {
            let before = self.case.request["object"].clone();
            self.broken.extend(contents::broken(
                &before,
                &after,
                &self.case.settings,
                self.event,
                is_pod,
            ));
        }
        if is_pod {
            self.modes_agree()?;
        }
        self.second_look()
    }

    /// If mode `Fix` runs on its own output, it accepts this output and changes nothing. After a repair, it
    /// finds only what a person has to correct. Mode `Reject` and the copy accept the output of `Fix` too.
    fn second_look(&mut self) -> Result<(), String> {
        let operation = &self.case.request["operation"];
        let is_written = operation == "CREATE" || operation == "UPDATE";
        let Some(object) = self.repaired().filter(|_| is_written) else {
            return Ok(());
        };
        let request = self.create(object);
        // In a Pod with a status, *stuck-pull* may have findings in `Reject`, but has none in `Fix`. So
        // the promises about `Reject` and the copy don't apply to this Pod.
        let has_status = request["object"]["status"].is_object();
        if self.is_bounded() {
            let again = self.observe(request.clone(), &[])?;
            let was_repaired = self.first.answer["mutated_object"].is_object();
            let finds_more = !findings(&again).iter().all(is_advice);
            if again.answer["accepted"] != true
                || !again.answer["mutated_object"].is_null()
                || (was_repaired && finds_more)
            {
                self.breaks(STABLE, told(&again));
            }
            if !has_status {
                let reject = self.observe(request.clone(), &[("mode", "Reject".into())])?;
                if reject.answer["accepted"] != true {
                    self.breaks(REJECT, told(&reject));
                }
            }
        }
        if !has_status {
            let copy = self.observe(request, &copy())?;
            if copy.answer["accepted"] != true || !copy.calls.is_empty() {
                self.breaks(COPY, told(&copy));
            }
        }
        Ok(())
    }

    /// A service mesh injects containers into the Pod that `Fix` returned. The copy accepts the result.
    /// If `Fix` runs on the result, it adds no second check for an image of the first request.
    pub(super) fn injected_between(&mut self, mesh: Mesh) -> Result<(), String> {
        let Some(mut object) = self.repaired() else {
            return Ok(());
        };
        let before = object.clone();
        mesh.inject(&mut object);
        if object == before || object["status"].is_object() {
            return Ok(());
        }
        let request = self.create(object);
        let observed = self.observe(request.clone(), &copy())?;
        if observed.answer["accepted"] != true {
            self.breaks(COPY_BESIDE_MESH, told(&observed));
        }
        let second = self.observe(request.clone(), &[])?;
        let after = &second.answer["mutated_object"];
        if after.is_object() {
            let images = contents::images(&self.case.request["object"]["spec"]);
            let added = contents::added(&request["object"], after);
            // *replace-check* replaces a check by a volume of the same name. This is no second check.
            let inits = elements(&request["object"]["spec"], "initContainers");
            let again = added.iter().find(|check| {
                images.contains(check.image()) && named(inits, &check.fields["name"]).is_none()
            });
            if let Some(check) = again {
                let details = format!("a second check of {}", check.image());
                self.breaks(NO_CHECK_TWICE, details);
            }
        }
        Ok(())
    }

    /// The plugin `AlwaysPullImages` raises all pull policies after `Fix`. The copy accepts the result.
    pub(super) fn raised_after(&mut self) -> Result<(), String> {
        let Some(mut object) = self
            .repaired()
            .filter(|_| goes_with_plugin(self.settings()))
        else {
            return Ok(());
        };
        if object["status"].is_object() {
            return Ok(());
        }
        raise_all(&mut object);
        let request = self.create(object);
        let observed = self.observe(request, &copy())?;
        if observed.answer["accepted"] != true {
            self.breaks(COPY_BESIDE_PLUGIN, told(&observed));
        }
        Ok(())
    }

    /// A manifest that is applied once more changes nothing and is accepted.
    pub(super) fn applied_again(&mut self) -> Result<(), String> {
        let settings = self.settings();
        let records = settings.record_changes();
        let owners = &self.case.request["object"]["metadata"]["ownerReferences"];
        let is_nobodys = !owners.is_array();
        // If the audit annotation `record` is set, the record is incomplete and can't restore every field.
        let is_whole = self.first.answer["audit_annotations"]["record"].is_null();
        let Some(stored) = self
            .repaired()
            .filter(|_| records && is_nobodys && is_whole)
        else {
            return Ok(());
        };
        let request = applied_again(&self.case.request, &stored);
        let observed = self.observe(request.clone(), &[])?;
        let after = match &observed.answer["mutated_object"] {
            Value::Null => &request["object"],
            object => object,
        };
        if observed.answer["accepted"] != true || after["spec"] != stored["spec"] {
            self.breaks(RE_APPLY, told(&observed));
        }
        Ok(())
    }

    /// A debug container is accepted, and every other place keeps its stored values. The copy
    /// accepts the result.
    pub(super) fn debugged(&mut self) -> Result<(), String> {
        let Some(stored) = self.repaired() else {
            return Ok(());
        };
        if is_mirror(&stored) {
            return Ok(());
        }
        let request = debugged(&self.case.request, &stored);
        let observed = self.observe(request.clone(), &[])?;
        let after = match &observed.answer["mutated_object"] {
            Value::Null => &request["object"],
            object => object,
        };
        let lists = ["initContainers", "containers", "volumes"];
        let is_kept = lists
            .iter()
            .all(|list| elements(&after["spec"], list) == elements(&stored["spec"], list));
        if observed.answer["accepted"] != true || !is_kept {
            self.breaks(DEBUG, told(&observed));
            return Ok(());
        }
        let mut request = request.clone();
        request["object"] = after.clone();
        let copied = self.observe(request, &copy())?;
        if copied.answer["accepted"] != true {
            self.breaks(DEBUG, format!("the copy: {}", told(&copied)));
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
        if is_mirror(&stored) && !controllers(&stored).iter().any(|one| one["kind"] == "Node") {
            return Ok(());
        }
        let status = running_status(&stored);
        let request = audit(&self.case.request, &stored, status);
        let observed = self.observe(request, &[("mode", self.audit_mode())])?;
        if observed.answer["accepted"] != true {
            self.breaks(AUDIT, told(&observed));
        }
        Ok(())
    }

    /// The mode of the audit. Mode `Warn` accepts Pods with findings, so their audit runs in `Warn` too.
    /// A Pod that `Fix` or `Reject` accepted is audited in `Reject`.
    fn audit_mode(&self) -> Value {
        match self.settings().mode() {
            "Fix" => "Reject".into(),
            mode => mode.into(),
        }
    }

    /// A container waits for the image of a volume that it mounts. The audit's finding names this
    /// image, and no other.
    pub(super) fn audited_while_waiting(&mut self) -> Result<(), String> {
        let Some(stored) = self.stored().filter(|stored| !is_mirror(stored)) else {
            return Ok(());
        };
        for volume in elements(&stored["spec"], "volumes") {
            let Some(image) = volume["image"]["reference"].as_str() else {
                continue;
            };
            let name = volume["name"].as_str().unwrap_or_default();
            // A text that isn't an image reference is a finding of *invalid-image*. An exempt
            // volume is not examined. In both cases, no finding of *stuck-pull* names the image.
            let Some(reference) = Reference::parse(image) else {
                continue;
            };
            if self.settings().is_exempt(name, Some(&reference)) {
                continue;
            }
            let carriers = CONTAINER_LISTS.iter().flat_map(|list| {
                let all = elements(&stored["spec"], list).iter();
                all.filter(|one| named(elements(one, "volumeMounts"), &volume["name"]).is_some())
            });
            let Some(carrier) = carriers.into_iter().next() else {
                continue;
            };
            // If an exempt container waits for its own image, there is no finding.
            let own = carrier["image"].as_str().and_then(Reference::parse);
            let is_own = own.as_ref().map(Reference::normalised) == Some(reference.normalised());
            let carrier_name = carrier["name"].as_str().unwrap_or_default();
            if is_own && self.settings().is_exempt(carrier_name, own.as_ref()) {
                continue;
            }
            let all = CONTAINER_LISTS
                .iter()
                .flat_map(|list| elements(&stored["spec"], list));
            // If two containers had the same name, a status would not tell which one waits. No API
            // server accepts two containers of the same name, so this case is skipped.
            if all.filter(|one| one["name"] == carrier["name"]).count() > 1 {
                continue;
            }
            let status = waiting_status(&stored, &carrier["name"], image);
            let request = audit(&self.case.request, &stored, status);
            let observed = self.observe(request, &[("mode", "Reject".into())])?;
            let findings = findings(&observed);
            let stuck: Vec<&Value> = findings
                .iter()
                .filter(|finding| finding["rule"] == "stuck-pull")
                .collect();
            // The finding may have another spelling of the same image, so normalised images are compared.
            let is_missing = |finding: &Value| {
                let named = finding["image"].as_str().and_then(Reference::parse);
                named.map(|named| named.normalised()) == Some(reference.normalised())
            };
            if stuck.len() != 1 || !stuck.iter().all(|finding| is_missing(finding)) {
                let details = format!("{} waits for {image}: {stuck:?}", carrier["name"]);
                self.breaks(MISSING_IMAGE, details);
            }
        }
        Ok(())
    }

    /// If a request names a user, the `status` of its object changes no answer in any mode.
    pub(super) fn status_pasted(&mut self) -> Result<(), String> {
        let object = self.case.request["object"].clone();
        let lists = ["initContainers", "containers"];
        let first = lists
            .iter()
            .find_map(|list| elements(&object["spec"], list).first());
        let Some(first) = first.filter(|_| object["status"].is_null()) else {
            return Ok(());
        };
        let image = first["image"].as_str().unwrap_or_default();
        let mut pasted = self.case.request.clone();
        pasted["object"]["status"] = waiting_status(&object, &first["name"], image);
        if pasted["userInfo"]["username"]
            .as_str()
            .unwrap_or_default()
            .is_empty()
        {
            pasted["userInfo"] = json!({"username": "jane"});
        }
        for mode in ["Fix", "Reject", "Warn"] {
            // Settings with `maxLookups: 0` are allowed only in mode `Reject` or `Warn`.
            if mode == "Fix" && self.settings().max_lookups() == 0 {
                continue;
            }
            let mut without = pasted.clone();
            without["object"] = object.clone();
            let without = self.observe(without, &[("mode", mode.into())])?;
            let with = self.observe(pasted.clone(), &[("mode", mode.into())])?;
            let keys = [
                "accepted",
                "message",
                "code",
                "warnings",
                "audit_annotations",
            ];
            if let Some(key) = keys
                .iter()
                .find(|key| with.answer[**key] != without.answer[**key])
            {
                let details = format!("mode {mode}: {key}: {}", with.answer[*key]);
                self.breaks(PASTED_STATUS, details);
            }
        }
        Ok(())
    }
}

/// Returns the findings of an answer.
fn findings(observed: &Observed) -> Vec<Value> {
    let text = observed.answer["audit_annotations"]["findings"].as_str();
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// Whether mode `Fix` only warns of a finding: a missing check that the settings don't add, or an image
/// that doesn't exist for the platform that the Pod asks for.
fn is_advice(finding: &Value) -> bool {
    let is_missing_check = finding["rule"] == "missing-check";
    is_missing_check && finding["expected"] == "an image check" || finding["rule"] == "registry"
}

fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"]
        .get("kubernetes.io/config.mirror")
        .is_some()
}

/// Whether the promise `COPY_BESIDE_PLUGIN` applies to settings. Settings with `images.forbidAlways`
/// are excluded, because the copy would reject the pull policies that the plugin raised. Settings
/// with `Pin`, `UseCached` or `defaults` are excluded too. The section *Beside `AlwaysPullImages`* of
/// docs/settings.md has the reasons.
fn goes_with_plugin(settings: Settings<'_>) -> bool {
    let text = settings.0.to_string();
    settings.list("images.forbidAlways").is_empty()
        && !text.contains("\"Pin\"")
        && !text.contains("\"UseCached\"")
        && settings.get("defaults").is_none()
}
