//! Runs this policy on the requests of each event, and checks the promises that apply to the event.

use serde_json::{Value, json};

use super::{
    AUDIT, COPY, COPY_BESIDE_PLUGIN, COPY_BESIDE_WEBHOOK, DEBUG, MISSING_IMAGE, NO_CHECK_TWICE,
    OUTDATED_CHECK, PASTED_STATUS, PULLED_FIRST, RE_APPLY, REJECT, SET_IMAGE, STABLE, Story, VALID,
    contents, copy, told,
};
use crate::compare::Observed;
use crate::differential::Policy;
use crate::events::{
    CONTAINER_LISTS, Webhook, applied_again, audit, copied_to_debug, debugged, elements,
    elements_mut, image_set, named, raise_all, running_status, waiting_status,
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
            let lowered = contents::lowered_without_pull(
                &annotation(&first, "changes"),
                &after,
                !first.calls.is_empty(),
            );
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
        let operation = &self.case.request["operation"];
        let is_written = operation == "CREATE" || operation == "UPDATE";
        let Some(object) = self.repaired().filter(|_| is_written) else {
            return Ok(());
        };
        let request = self.request_with(object);
        // In a Pod with a status, *stuck-pull* may have findings in `Reject`, but has none in `Fix`. So
        // the promises about `Reject` and the copy don't apply to this Pod.
        let has_status = request["object"]["status"].is_object();
        if self.is_bounded() {
            let again = self.observe(request.clone(), &[])?;
            let was_repaired = self.first.answer["mutated_object"].is_object();
            let finds_more = !annotation(&again, "findings").iter().all(is_advice);
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
            webhook.change(&mut pod, self.settings());
            pod
        };
        let object = changed(&repaired);
        if object == repaired {
            return Ok(());
        }
        let refused = contents::newly_refused(&changed(&self.case.request["object"]), &object);
        if let Some(details) = refused {
            self.breaks(VALID, details);
        }
        let request = self.request_with(object);
        let observed = self.observe(request.clone(), &copy())?;
        let message = observed.answer["message"].as_str().unwrap_or_default();
        let must_accept = matches!(webhook, Webhook::Mesh(_) | Webhook::DigestsPinned);
        let is_named = |name: &str| !must_accept && message.contains(name);
        let mut names = names_of_changes(&repaired["spec"], &request["object"]["spec"]);
        if let Webhook::VolumesAdded | Webhook::RuntimeClassRemoved = webhook {
            // Now a check can be added, and the copy can't know why there is none. It names the containers.
            let containers = elements(&repaired["spec"], "containers").iter();
            names.extend(containers.filter_map(|one| one["name"].as_str().map(str::to_owned)));
        }
        if observed.answer["accepted"] != true && !names.iter().any(|name| is_named(name)) {
            self.breaks(COPY_BESIDE_WEBHOOK, told(&observed));
        }
        if let Webhook::Mesh(_) = webhook {
            self.adds_no_second_check(&request)?;
        }
        Ok(())
    }

    fn adds_no_second_check(&mut self, request: &Value) -> Result<(), String> {
        let second = self.observe(request.clone(), &[])?;
        let after = &second.answer["mutated_object"];
        let images = contents::images(&self.case.request["object"]["spec"]);
        let added = contents::added(&request["object"], after);
        if let Some(check) = added.iter().find(|check| images.contains(check.image())) {
            let details = format!("a second check of {}", check.image());
            self.breaks(NO_CHECK_TWICE, details);
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
        let request = self.request_with(object);
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

    /// A debug container is accepted, and every stored place keeps its values. The copy accepts the
    /// result.
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
        let is_kept = LISTS.iter().all(|list| {
            let stored = elements(&stored["spec"], list);
            let after = elements(&after["spec"], list);
            // The new ephemeral container comes after the stored ones.
            let is_added = *list == "ephemeralContainers" && after.len() == stored.len() + 1;
            after == stored || is_added && after.starts_with(stored)
        });
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

    /// The copy of a repaired Pod keeps the promises about a Pod that is created.
    pub(super) fn copied_to_debug(&mut self) -> Result<(), String> {
        let Some(stored) = self.repaired() else {
            return Ok(());
        };
        self.case.request = copied_to_debug(&self.case.request, &stored);
        self.first = self.observe(self.case.request.clone(), &[])?;
        self.created(true)
    }

    /// A person changes an image while a check waits for the old one.
    pub(super) fn image_set(&mut self) -> Result<(), String> {
        let Some(stored) = self.repaired().filter(|stored| !is_mirror(stored)) else {
            return Ok(());
        };
        let waiting = elements(&stored["spec"], "initContainers").first();
        let waiting = waiting.map_or(Value::Null, |one| one["name"].clone());
        let status = waiting_status(&stored, &waiting, "the old image");
        let request = image_set(&self.case.request, &stored, &status);
        let outdated = self.outdated_check(&stored, &request["object"]);
        let fixed = self.observe(request.clone(), &[])?;
        if fixed.answer["accepted"] == true {
            let mut after = request.clone();
            if fixed.answer["mutated_object"].is_object() {
                after["object"] = fixed.answer["mutated_object"].clone();
            }
            if without_images(&after["object"]["spec"]) != without_images(&stored["spec"]) {
                self.breaks(SET_IMAGE, told(&fixed));
            }
            let copied = self.observe(after, &copy())?;
            if copied.answer["accepted"] != true {
                self.breaks(SET_IMAGE, format!("the copy: {}", told(&copied)));
            }
        }
        for mode in ["Fix", "Reject", "Warn"] {
            let Some(check) = &outdated else { break };
            let observed = self.observe(request.clone(), &[("mode", mode.into())])?;
            let is_told = observed.answer["warnings"]
                .as_array()
                .is_some_and(|lines| !lines.is_empty());
            if observed.answer["accepted"] == true && !is_told {
                self.breaks(OUTDATED_CHECK, format!("mode {mode}: {check}"));
            }
        }
        Ok(())
    }

    /// Returns the name of a check that this policy added for the image of the stored Pod's first app
    /// container, if no other container of the changed Pod has this image.
    fn outdated_check(&self, stored: &Value, changed: &Value) -> Option<String> {
        let image = stored["spec"]["containers"][0]["image"].as_str()?;
        let added = contents::added(&self.case.request["object"], stored);
        let check = added.into_iter().find(|check| check.image() == image)?;
        let name = check.fields["name"].as_str()?;
        let normalised = |text: &str| Reference::parse(text).map(|image| image.normalised());
        let has_image = |one: &Value| {
            one["name"] != name && one["image"].as_str().and_then(normalised) == normalised(image)
        };
        let lists = CONTAINER_LISTS.iter();
        let mut containers = lists.flat_map(|list| elements(&changed["spec"], list));
        (!containers.any(has_image)).then(|| name.to_owned())
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
            let findings = annotation(&observed, "findings");
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

/// Returns the entries of an audit annotation.
fn annotation(observed: &Observed, name: &str) -> Vec<Value> {
    let text = observed.answer["audit_annotations"][name].as_str();
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// Whether mode `Fix` only warns of a finding: a missing check that the settings don't add, or an image
/// that doesn't exist for the platform that the Pod asks for. Another finding of *registry* has the image
/// that should be there.
fn is_advice(finding: &Value) -> bool {
    match finding["rule"].as_str() {
        Some("missing-check") => finding["expected"] == "an image check",
        Some("registry") => finding["expected"].is_null(),
        _ => false,
    }
}

/// The lists of a Pod spec that this policy examines.
const LISTS: [&str; 4] = [
    "containers",
    "initContainers",
    "ephemeralContainers",
    "volumes",
];

/// Returns the names and images of the entries that differ between two Pod specs, and the names of the
/// other fields that differ.
fn names_of_changes(before: &Value, after: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for (one, other) in [(before, after), (after, before)] {
        for list in LISTS {
            let differs = |entry: &&Value| !elements(other, list).contains(entry);
            for entry in elements(one, list).iter().filter(differs) {
                let fields = [
                    &entry["name"],
                    &entry["image"],
                    &entry["image"]["reference"],
                ];
                names.extend(
                    fields
                        .into_iter()
                        .filter_map(Value::as_str)
                        .map(str::to_owned),
                );
            }
        }
        let fields = one.as_object().into_iter().flatten();
        let differs = fields.filter(|(key, value)| other.get(key) != Some(value));
        names.extend(
            differs
                .map(|(key, _)| key.clone())
                .filter(|key| !LISTS.contains(&key.as_str())),
        );
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
