//! The promises of the design, as a list of named functions. A test can check them for any case: a
//! Pod of the corpus or a random case, together with an [`Event`] in the Pod's life.
//!
//! [`broken_promises`] runs this policy as often as the event needs, and returns the broken
//! promises. A promise that doesn't apply to a case counts as kept.

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

/// If an API server accepts the request's object, it also accepts the returned object.
pub const VALID: &str = "valid-stays-valid";
/// "The removal of checks never lowers the quality of service."
pub const SERVICE: &str = "quality-of-service-is-kept";
/// Repairs are minimal: only the fields change that the design names.
pub const MINIMAL: &str = "only-repairs-change";
/// "No secret of the Pod ever reaches a message, a warning, an annotation or a log."
pub const NO_SECRET: &str = "no-secret-is-shown";
/// When this policy runs on its own output, it changes nothing and finds nothing.
pub const STABLE: &str = "a-second-run-changes-nothing";
/// Mode `Reject` accepts each object that mode `Fix` returned under the same settings.
pub const REJECT: &str = "reject-accepts-what-fix-returned";
/// The copy accepts an object that mode `Fix` returned.
pub const COPY: &str = "the-copy-accepts-what-fix-returned";
/// An added check is a copy of an image check with a `command`, so it has a command too.
pub const COMMAND: &str = "an-added-check-has-a-command";
/// An added check has only the fields that a check needs.
pub const COPIED_FIELDS: &str = "an-added-check-has-only-what-it-needs";
/// A check is only copied if its `AppArmor` profile is not an annotation. Otherwise the added check
/// would have no profile.
pub const APPARMOR: &str = "an-added-check-keeps-its-apparmor-profile";
/// *missing-check* adds containers, volumes and mounts of at most 1 MiB.
pub const SIZE: &str = "an-addition-has-at-most-a-mebibyte";
/// In a Windows Pod, no check is added or replaced.
pub const WINDOWS: &str = "windows-pods-get-nothing-added";
/// If a quota admits the request's Pod, it also admits the returned Pod.
pub const QUOTA: &str = "a-quota-still-admits-the-pod";
/// If Pod Security admits the request's Pod, it also admits the returned Pod.
pub const POD_SECURITY: &str = "pod-security-still-admits-the-pod";
/// The copy accepts a repaired Pod into which a mesh then injected containers.
pub const COPY_BESIDE_MESH: &str = "the-copy-accepts-a-mesh";
/// A second run in mode `Fix` adds no check for the images of the first run, even if a mesh
/// injected containers between the two runs.
pub const NO_CHECK_TWICE: &str = "a-mesh-leads-to-no-second-check";
/// The copy accepts a repaired Pod after the plugin `AlwaysPullImages` changed it, with settings
/// that suit the plugin.
pub const COPY_BESIDE_PLUGIN: &str = "the-copy-accepts-always-pull-images";
/// A manifest that is applied once more changes nothing and is accepted.
pub const RE_APPLY: &str = "a-manifest-can-be-applied-again";
/// `kubectl debug` works. Only the new ephemeral containers are examined, because all other
/// containers are immutable.
pub const DEBUG: &str = "kubectl-debug-works";
/// An audit accepts a running Pod that was admitted.
pub const AUDIT: &str = "an-audit-accepts-what-was-admitted";
/// If the waiting message contains an image reference, the finding of the audit names this image.
pub const MISSING_IMAGE: &str = "an-audit-names-the-missing-image";
/// The `status` in a request with a user has no effect, because a person may have pasted it.
pub const PASTED_STATUS: &str = "a-pasted-status-decides-nothing";

/// All modes compute the same findings and the same repaired object.
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

/// The text of every secret in the Pods of the corpus and of random cases.
pub const SECRET: &str = "s3cr3t";

/// Returns the promises that this policy breaks for a case with an event in the Pod's life. The
/// case is usually a CREATE of a Pod. For any other request, only the promises about answers and
/// objects are checked, and only for [`Event::Created`].
///
/// # Errors
/// If this policy gives no answer, or if it refuses the settings.
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

/// A case while it runs: the request, the first answer, and the promises that are broken so far.
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

    /// Returns the object that an API server would store. `None` means that the request was
    /// rejected.
    fn stored(&self) -> Option<Value> {
        let answer = &self.first.answer;
        (answer["accepted"] == true).then(|| match &answer["mutated_object"] {
            Value::Null => self.case.request["object"].clone(),
            object => object.clone(),
        })
    }

    /// Returns the stored object if the mode is `Fix`. The design promises only for such objects
    /// that they are accepted again.
    fn repaired(&self) -> Option<Value> {
        self.stored().filter(|_| self.settings().mode() == "Fix")
    }

    /// Runs this policy on a request. The settings are those of the case with some changes.
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

    /// Returns a CREATE request for an object. Its other fields are those of the case's request.
    fn create(&self, object: Value) -> Value {
        let mut request = self.case.request.clone();
        request["object"] = object;
        request
    }

    /// Whether a second run gets the same answers from registries. The first run must have made all
    /// lookups that it needed, and the number of lookups must be below `registry.maxLookups`.
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

/// Returns the message of a rejection, or the whole answer of an accepted request.
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
