//! The promises: statements about this policy that must hold for each request. Each promise has a
//! name, which is a constant of this file. A test can check the promises for any [`Case`] with an
//! [`Event`] in the Pod's life. [`broken_promises`] runs this policy as often as the event needs, and
//! returns the broken promises. A promise that doesn't apply to a case counts as kept.

mod contents;
mod minimal;
mod modes;
mod stories;
mod valid;

use serde_json::Value;

use crate::compare::Observed;
use crate::differential::{Policy, observe};
use crate::events::{Event, raise_all};
use crate::generate::Case;
use crate::json::text;
use crate::settings::Settings;

/// A promise that this policy broke for a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPromise {
    /// The name of the promise.
    pub promise: &'static str,
    /// The proof: for example the wrong answer, or the field that must not change.
    pub details: String,
}

/// If no name and no mount path of the request's Pod is used twice, and each mounted volume exists, this also
/// holds for the Pod that this policy returns.
pub const VALID: &str = "valid-stays-valid";
/// Repairs are minimal: a repair changes only the fields that docs/rules.md names.
pub const MINIMAL: &str = "only-repairs-change";
/// No secret of the Pod is in the answer, except in the returned object.
pub const NO_SECRET: &str = "no-secret-is-shown";
/// If mode `Fix` runs on its own output, it accepts this output and changes nothing. It finds only what
/// it can't repair.
pub const STABLE: &str = "a-second-run-changes-nothing";
/// Mode `Reject` accepts each object that mode `Fix` returned under the same settings.
pub const REJECT: &str = "reject-accepts-what-fix-returned";
/// The copy accepts an object that mode `Fix` returned.
pub const COPY: &str = "the-copy-accepts-what-fix-returned";
/// *pull-once* lowers a container only if an init container pulls the container's image first.
pub const PULLED_FIRST: &str = "pull-once-needs-an-init-container";
/// The copy accepts a repaired Pod after a service mesh injected containers. It also accepts the Pod after
/// a webhook pinned digests, except with a default `Always`. After any other webhook, the copy accepts the
/// Pod, or its message names what the webhook changed.
pub const COPY_BESIDE_WEBHOOK: &str = "the-copy-accepts-or-names-what-a-webhook-changed";
/// A second run in mode `Fix` adds no check for an image that the Pod had in the first run, even if a
/// service mesh injected containers between the two runs.
pub const NO_CHECK_TWICE: &str = "a-mesh-leads-to-no-second-check";
/// The copy accepts a repaired Pod after the plugin `AlwaysPullImages` changed the Pod. This holds for
/// settings without `images.forbidAlways` and `defaults`.
pub const COPY_BESIDE_PLUGIN: &str = "the-copy-accepts-always-pull-images";
/// A manifest that is applied once more is accepted, and the spec in the stored object doesn't change.
pub const RE_APPLY: &str = "a-manifest-can-be-applied-again";
/// A request of `kubectl debug` is accepted. The Pod's init containers, app containers and volumes
/// don't change.
pub const DEBUG: &str = "kubectl-debug-works";
/// If `kubectl set image` is accepted, only images differ from the stored Pod, and the copy accepts the
/// request too. Each container has the requested image, which may have got a digest.
pub const SET_IMAGE: &str = "kubectl-set-image-works";
/// An audit accepts a running Pod that this policy accepted at its creation.
pub const AUDIT: &str = "an-audit-accepts-what-was-admitted";

/// All modes compute the same findings, except those of *stuck-pull*. Only mode `Fix` changes the object.
pub const MODES: &str = "the-modes-find-the-same";

/// The mark of a secret. Every secret in a Pod of the corpus or of a random case contains this text.
pub const SECRET: &str = "s3cr3t";

/// Returns the promises that this policy breaks if `event` happens to the Pod of `case`. The request
/// of `case` is usually a CREATE of a Pod. For any other request, fewer promises are checked, and only
/// if the event is [`Event::Created`].
///
/// # Errors
/// If this policy gives no answer, or if it refuses the settings.
pub fn broken_promises(
    policy: &impl Policy,
    case: &Case,
    event: Event,
) -> Result<Vec<BrokenPromise>, String> {
    let request = &case.request;
    let is_pod_create = request["kind"]["kind"] == "Pod"
        && request["kind"]["group"] == ""
        && request["operation"] == "CREATE"
        && request["subResource"].is_null();
    if !is_pod_create && event != Event::Created {
        return Ok(Vec::new());
    }
    let mut case = case.clone();
    if is_pod_create && event == Event::AlwaysPullImages {
        raise_all(&mut case.request["object"]);
    }
    let mut story = Story {
        policy,
        first: observe(policy, &case)?,
        case,
        broken: Vec::new(),
    };
    match event {
        Event::ChangedBetween(webhook) => story.changed_between(webhook)?,
        Event::AppliedAgain => story.applied_again()?,
        Event::Debugged => story.debugged()?,
        Event::ImageSet => story.image_set()?,
        Event::Audited => story.audited()?,
        Event::AlwaysPullImages => {
            story.created(is_pod_create)?;
            story.raised_after()?;
        }
        Event::Created => story.created(is_pod_create)?,
    }
    Ok(story.broken)
}

/// A case while it runs: the request, the first answer, and the promises that are broken so far.
struct Story<'p, P> {
    policy: &'p P,
    case: Case,
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

    /// Returns the object that an API server would store after the first answer. `None` means that this
    /// answer rejects the request.
    fn stored(&self) -> Option<Value> {
        let object = self.first.object_after(&self.case.request);
        self.first.is_accepted().then(|| object.clone())
    }

    /// Returns the stored object if the mode is `Fix`. The other modes repair nothing, so a second run
    /// may find the same problems again.
    fn repaired(&self) -> Option<Value> {
        self.stored().filter(|_| self.settings().mode() == "Fix")
    }

    /// Runs this policy on a request, with the settings of the case. First it writes each key and value
    /// of `changes` into these settings.
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

    /// Runs this policy as `observe` does. If the answer is a rejection, `promise` is broken.
    fn must_accept(
        &mut self,
        promise: &'static str,
        request: &Value,
        changes: &[(&str, Value)],
    ) -> Result<Observed, String> {
        let observed = self.observe(request.clone(), changes)?;
        if !observed.is_accepted() {
            self.breaks(promise, told(&observed));
        }
        Ok(observed)
    }

    /// Returns the case's request with `object` as its object.
    fn request_with(&self, object: Value) -> Value {
        let mut request = self.case.request.clone();
        request["object"] = object;
        request
    }

    /// Whether a second run surely gets the same answers from registries as the first run. The first
    /// run must have skipped no lookup. It also must have made fewer host calls than
    /// `registry.maxLookups`.
    fn is_bounded(&self) -> bool {
        let failed = self.first.annotation("lookups");
        failed.iter().all(|lookup| lookup["asked"] == true)
            && (self.first.calls.len() as u64) < self.settings().max_lookups()
    }

    fn shows_no_secret(&mut self, observed: &Observed) {
        let told = observed.told();
        if told.contains(SECRET) {
            self.breaks(NO_SECRET, told);
        }
    }
}

/// Returns the message of a rejection. If the answer is not a rejection with a message, returns it whole.
fn told(observed: &Observed) -> String {
    match text(&observed.answer["message"]) {
        "" => observed.answer.to_string(),
        message => format!("rejected: {message}"),
    }
}

/// The settings of the copy that differ from the settings of the case.
fn copy() -> [(&'static str, Value); 2] {
    [("mode", "Reject".into()), ("validatingCopy", true.into())]
}
