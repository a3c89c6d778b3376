//! The promises of the design, as a list of named functions. Any case can be held to them: a Pod of
//! the corpus or a random case, with an [`Event`] in the Pod's life.
//!
//! [`broken_promises`] runs a policy as often as the event needs, and returns the promises that it
//! broke. A promise that says nothing about a case is kept.

mod contents;
mod minimal;
mod modes;
mod stories;

use serde_json::Value;

use crate::compare::Observed;
use crate::differential::{Policy, observe};
use crate::events::Event;
use crate::generate::Case;
use crate::settings::Settings;

/// A promise that a case broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPromise {
    /// The name of the promise.
    pub promise: &'static str,
    /// How the case broke it.
    pub details: String,
}

/// "if an API server accepts the object that came in, it accepts the object that goes out"
pub const VALID: &str = "valid-stays-valid";
/// "The removal of checks never lowers the quality of service."
pub const SERVICE: &str = "quality-of-service-is-kept";
/// "Repairs are minimal: only the fields named above change."
pub const MINIMAL: &str = "only-repairs-change";
/// "No secret of the Pod ever reaches a message, a warning, an annotation or a log."
pub const NO_SECRET: &str = "no-secret-is-shown";
/// "when this policy runs on its own output, it changes nothing and finds nothing"
pub const STABLE: &str = "a-second-run-changes-nothing";
/// "`Reject` always accepts what `Fix` returned under the same settings"
pub const REJECT: &str = "reject-accepts-what-fix-returned";
/// "So does the *copy*."
pub const COPY: &str = "the-copy-accepts-what-fix-returned";
/// "a copy of the Pod's last image check that has a `command`"
pub const COMMAND: &str = "an-added-check-has-a-command";
/// "Copied fields: only the fields that a check needs."
pub const COPIED_FIELDS: &str = "an-added-check-has-only-what-it-needs";
/// "a copy of the Pod's last image check … whose `AppArmor` profile is not an annotation"
pub const APPARMOR: &str = "an-added-check-keeps-its-apparmor-profile";
/// "*missing-check* inserts at most 1 MiB (containers, volumes, mounts)."
pub const SIZE: &str = "an-addition-has-at-most-a-mebibyte";
/// "Windows Pods get nothing added or replaced."
pub const WINDOWS: &str = "windows-pods-get-nothing-added";
/// A quota that admits the Pod that came in admits the Pod that goes out.
pub const QUOTA: &str = "a-quota-still-admits-the-pod";
/// Pod Security that admits the Pod that came in admits the Pod that goes out.
pub const POD_SECURITY: &str = "pod-security-still-admits-the-pod";
/// "on every app container that pulls its image …, because a mesh injects some after the volume was
/// added": the copy accepts a repaired Pod with a mesh's containers.
pub const COPY_BESIDE_MESH: &str = "the-copy-accepts-a-mesh";
/// "A second `Fix` adds nothing for the images that were there before" (issue 20, item 2).
pub const NO_CHECK_TWICE: &str = "a-mesh-leads-to-no-second-check";
/// `AlwaysPullImages` and the copy get along, with the settings that go with the plugin.
pub const COPY_BESIDE_PLUGIN: &str = "the-copy-accepts-always-pull-images";
/// "a manifest that is applied once more changes nothing and is accepted"
pub const RE_APPLY: &str = "a-manifest-can-be-applied-again";
/// "`ephemeralcontainers` UPDATE: … for the containers that are new. The others are immutable"
pub const DEBUG: &str = "kubectl-debug-works";
/// An audit accepts a running Pod that was admitted.
pub const AUDIT: &str = "an-audit-accepts-what-was-admitted";
/// "The finding then tells the image whose reference is in the waiting message"
pub const MISSING_IMAGE: &str = "an-audit-names-the-missing-image";
/// "A request with a user may bring a `status` that a person pasted."
pub const PASTED_STATUS: &str = "a-pasted-status-decides-nothing";

/// "All modes compute the same outcome, the repaired object."
pub const MODES: &str = "the-modes-find-the-same";

/// All promises.
pub const ALL: [&str; 23] = [
    VALID,
    SERVICE,
    MINIMAL,
    NO_SECRET,
    STABLE,
    REJECT,
    COPY,
    COMMAND,
    COPIED_FIELDS,
    APPARMOR,
    SIZE,
    WINDOWS,
    QUOTA,
    POD_SECURITY,
    COPY_BESIDE_MESH,
    NO_CHECK_TWICE,
    COPY_BESIDE_PLUGIN,
    RE_APPLY,
    DEBUG,
    AUDIT,
    MISSING_IMAGE,
    PASTED_STATUS,
    MODES,
];

/// A text that stands for every secret of a Pod in the corpus and in random cases.
pub const SECRET: &str = "s3cr3t";

/// The promises that a policy breaks for a case, with an event in the Pod's life. The case is the
/// request that creates an object. A request of another kind is held to the promises on answers and
/// objects alone, and only for [`Event::Created`].
///
/// # Errors
/// If the policy gives no answer or finds fault with the settings.
pub fn broken_promises(
    policy: &impl Policy,
    case: &Case,
    event: Event,
) -> Result<Vec<BrokenPromise>, String> {
    let is_pod_create = case.request["kind"]["kind"] == "Pod"
        && case.request["kind"]["group"] == ""
        && case.request["operation"] == "CREATE"
        && case.request["subResource"].is_null();
    if !is_pod_create && event != Event::Created {
        return Ok(Vec::new());
    }
    let mut case = case.clone();
    if is_pod_create {
        event.happen_before(&mut case.request["object"]);
    }
    let mut story = Story {
        policy,
        first: observe(policy, &case)?,
        case,
        event,
        broken: Vec::new(),
    };
    match event {
        Event::InjectedBetween(mesh) => story.injected_between(mesh)?,
        Event::AppliedAgain => story.applied_again()?,
        Event::Debugged => story.debugged()?,
        Event::Audited => story.audited()?,
        Event::AuditedWhileWaiting => story.audited_while_waiting()?,
        Event::StatusPasted => story.status_pasted()?,
        Event::AlwaysPullImages => {
            story.created(is_pod_create)?;
            story.raised_after()?;
        }
        Event::Created
        | Event::InjectedBefore(_)
        | Event::ResourceQuota
        | Event::PodSecurityRestricted => story.created(is_pod_create)?,
    }
    Ok(story.broken)
}

/// A case that happens: the request, the first answer, and the promises that were broken so far.
struct Story<'p, P> {
    policy: &'p P,
    case: Case,
    event: Event,
    first: Observed,
    broken: Vec<BrokenPromise>,
}

impl<P: Policy> Story<'_, P> {
    fn breaks(&mut self, promise: &'static str, details: impl Into<String>) {
        let details = details.into();
        self.broken.push(BrokenPromise { promise, details });
    }

    fn settings(&self) -> Settings<'_> {
        Settings(&self.case.settings)
    }

    /// The object that an API server would store, or none if the request was rejected.
    fn stored(&self) -> Option<Value> {
        let answer = &self.first.answer;
        (answer["accepted"] == true).then(|| match &answer["mutated_object"] {
            Value::Null => self.case.request["object"].clone(),
            object => object.clone(),
        })
    }

    /// The stored object, if mode `Fix` returned it. Only these are promised to be accepted again.
    fn repaired(&self) -> Option<Value> {
        self.stored().filter(|_| self.settings().mode() == "Fix")
    }

    /// Runs the policy on a request, under the case's settings with some changed.
    fn observe(&mut self, request: Value, changes: &[(&str, Value)]) -> Result<Observed, String> {
        let mut case = self.case.clone();
        case.request = request;
        for (key, value) in changes {
            let mut at = &mut case.settings;
            for key in key.split('.') {
                at = &mut at[key];
            }
            *at = value.clone();
        }
        let observed = observe(self.policy, &case)?;
        self.shows_no_secret(&observed);
        Ok(observed)
    }

    /// The request that creates an object, otherwise like the case's.
    fn create(&self, object: Value) -> Value {
        let mut request = self.case.request.clone();
        request["object"] = object;
        request
    }

    /// "if registries give the same answers both times and there are at most `registry.maxLookups`
    /// distinct images". A registry that was not asked gives no equal answer either.
    fn is_bounded(&self) -> bool {
        let text = self.first.answer["audit_annotations"]["lookups"].as_str();
        let failed: Value = text
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let were_all_asked = failed
            .as_array()
            .into_iter()
            .flatten()
            .all(|lookup| lookup["asked"] == true);
        were_all_asked && (self.first.calls.len() as u64) < self.settings().max_lookups().max(1)
    }

    fn shows_no_secret(&mut self, observed: &Observed) {
        let mut told = observed.answer.clone();
        told["mutated_object"].take();
        if told.to_string().contains(SECRET) {
            self.breaks(NO_SECRET, told.to_string());
        }
    }
}

/// What a rejection says, or the accepted answer as it is.
fn told(observed: &Observed) -> String {
    match observed.answer["message"].as_str() {
        Some(message) if observed.answer["accepted"] == false => format!("rejected: {message}"),
        _ => observed.answer.to_string(),
    }
}

/// The settings of the copy.
fn copy() -> [(&'static str, Value); 2] {
    [("mode", "Reject".into()), ("registry.maxLookups", 0.into())]
}
