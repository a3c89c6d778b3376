//! Promises about several answers: in other modes, for the object that `Fix` returned, for the
//! guard, for a workload that makes such Pods, and later in the Pod's life.

use serde_json::{Value, json};

use super::repair::faults;
use super::{Kept, OfStory, Story, hold};
use crate::json::{elements, elements_mut};
use crate::policy::Observed;
use crate::words::Pod;

pub(super) const PROMISES: [OfStory; 7] = [
    ("the-modes-find-the-same", modes_agree),
    ("a-second-run-changes-nothing", second_run_changes_nothing),
    ("reject-accepts-what-fix-returned", reject_accepts_it),
    ("the-guard-accepts-what-fix-returned", guard_accepts_it),
    (
        "a-template-is-told-what-would-become-of-its-pods",
        template_is_told,
    ),
    (
        "a-manifest-applied-again-changes-nothing",
        applied_again_changes_nothing,
    ),
    ("an-audit-accepts-what-was-admitted", audit_accepts_it),
];

fn findings(one: &Observed) -> &Value {
    &one.answer["audit_annotations"]["findings"]
}

/// All modes have the same findings. `Warn` rejects only an object that this policy can't read, and
/// `Reject` rejects what `Fix` rejects.
fn modes_agree(story: &Story) -> Kept {
    let request = &story.case.request;
    let run = |mode: &str| story.run(request.clone(), &[("mode", mode.into())]);
    let (warn, reject, fix) = (run("Warn")?, run("Reject")?, run("Fix")?);
    let is_read = warn.is_accepted() || findings(&warn).is_null() && !fix.is_accepted();
    let is_same = [&reject, &fix].map(findings) == [findings(&warn); 2];
    let is_right = is_read && is_same && (fix.is_accepted() || !reject.is_accepted());
    hold(is_right, || {
        [&warn, &reject, &fix].map(Observed::told).join(" ")
    })
}

/// Mode `Fix` accepts its own output, does not change it, and finds nothing that it would have to
/// repair: a rule that has changed something leaves nothing to change.
fn second_run_changes_nothing(story: &Story) -> Kept {
    let Some(object) = story.repaired().filter(|_| story.is_bounded()) else {
        return Ok(());
    };
    let again = story.must_accept(story.request_with(object), &[])?;
    let changes = story.first.list("changes");
    let is_advice = |finding: &Value| {
        finding["expected"].is_null()
            || !changes
                .iter()
                .any(|change| change["rule"] == finding["rule"])
    };
    let is_right = !again.is_changed() && again.list("findings").iter().all(is_advice);
    hold(is_right, || again.answer.to_string())
}

fn reject_accepts_it(story: &Story) -> Kept {
    let Some(object) = story.repaired().filter(|_| story.is_bounded()) else {
        return Ok(());
    };
    story.must_accept(story.request_with(object), &[("mode", "Reject".into())])?;
    Ok(())
}

/// The guard has the settings of the first policy, apart from these.
fn guard_accepts_it(story: &Story) -> Kept {
    let Some(object) = story.repaired() else {
        return Ok(());
    };
    let guard = [
        ("mode", "Reject".into()),
        ("imageChecks.onMissing", "Warn".into()),
        ("podTemplates", "Off".into()),
        ("registry", Value::Null),
    ];
    story.must_accept(story.request_with(object), &guard)?;
    Ok(())
}

/// A Job that makes the Pod is rejected with `podTemplates: Reject` exactly if the Pod would be, or
/// if an image is not found. Else it has the findings of its Pod. Empty images are left to the API
/// server.
fn template_is_told(story: &Story) -> Kept {
    let request = &story.case.request;
    let Some(pod) = story.created() else {
        return Ok(());
    };
    let places = Pod::read(&pod["spec"], story.settings()).places;
    if places.iter().any(|place| place.image.trim().is_empty()) {
        return Ok(());
    }
    let mut template = request.clone();
    template["kind"] = json!({"group": "batch", "version": "v1", "kind": "Job"});
    template["object"] = json!({"metadata": {}, "spec": {"template": pod}});
    let template = story.run(template, &[("podTemplates", "Reject".into())])?;
    let is_cut = |list: &str| {
        template
            .list(list)
            .iter()
            .any(|entry| entry["more"].is_u64())
    };
    if is_cut("findings") || is_cut("lookups") {
        return Ok(());
    }
    let lookups = template.list("lookups");
    let mut failures = lookups.iter().map(|lookup| &lookup["failure"]);
    let is_not_found =
        failures.any(|failure| failure == "notFound") && story.settings().mode() != "Warn";
    let rules = |one: &Observed| -> Vec<String> {
        let findings = one.list("findings").into_iter();
        findings
            .map(|finding| format!("{} {}", finding["rule"], finding["container"]))
            .collect()
    };
    let is_right = template.is_accepted() == (story.first.is_accepted() && !is_not_found)
        && (!lookups.is_empty() || rules(&template) == rules(&story.first))
        && template.calls.starts_with(&story.first.calls);
    hold(is_right, || {
        format!(
            "the Pod gets {}, its template {}",
            story.first.told(),
            template.told()
        )
    })
}

/// After the images of the same manifest again, the stored Pod stays as it is, and no registry is
/// asked. A Pod that is being deleted is apart, because its UPDATE isn't examined.
fn applied_again_changes_nothing(story: &Story) -> Kept {
    let object = &story.case.request["object"];
    let is_deleted = !object["metadata"]["deletionTimestamp"].is_null();
    let is_valid = faults(object).is_empty() && !is_deleted;
    let Some(stored) = story.repaired().filter(|_| is_valid) else {
        return Ok(());
    };
    let mut object = stored.clone();
    for list in ["initContainers", "containers"] {
        let written = elements(&story.case.request["object"]["spec"], list);
        for container in elements_mut(&mut object["spec"], list) {
            if let Some(written) = written.iter().find(|one| one["name"] == container["name"]) {
                container["image"] = written["image"].clone();
            }
        }
    }
    let mut request = story.request_with(object);
    request["operation"] = "UPDATE".into();
    request["oldObject"] = stored.clone();
    let again = story.must_accept(request.clone(), &[])?;
    let is_same = again.object_after(&request) == stored && again.calls.is_empty();
    hold(is_same, || format!("{} {:?}", again.answer, again.calls))
}

/// An audit is a CREATE that names no user. It accepts in `Reject` what `Fix` or `Reject` accepted,
/// and in `Warn` what `Warn` accepted.
fn audit_accepts_it(story: &Story) -> Kept {
    let Some(stored) = story.stored().filter(|_| story.is_bounded()) else {
        return Ok(());
    };
    let mode = match story.settings().mode() {
        "Warn" => "Warn",
        _ => "Reject",
    };
    let mut request = story.request_with(stored);
    request["userInfo"] = json!({});
    story.must_accept(request, &[("mode", mode.into())])?;
    Ok(())
}
