//! Promises about several answers to the same request: in other modes, for the object that `Fix`
//! returned, for the guard, and for a workload that makes such Pods.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::lookups::LIMIT;
use super::{Kept, OfStory, Story, guard, hold, told};
use crate::json::{LISTS, elements, list_mut, text};
use crate::policy::Observed;
use crate::requests::{has_shape_of_pod, is_untouched, template_path};

pub(super) const PROMISES: [OfStory; 5] = [
    ("the-modes-find-the-same", modes_agree),
    ("a-second-run-changes-nothing", second_run_changes_nothing),
    ("reject-accepts-what-fix-returned", reject_accepts_it),
    ("the-guard-accepts-what-fix-returned", guard_accepts_it),
    (
        "a-template-is-told-what-would-become-of-its-pods",
        template_is_told,
    ),
];

/// All modes have the same findings. `Warn` rejects only an object that this policy can't read, and
/// `Reject` rejects what `Fix` rejects.
fn modes_agree(story: &Story) -> Kept {
    let request = &story.case.request;
    let run = |mode: &str| story.run(request.clone(), &[("mode", mode.into())]);
    let (warn, reject, fix) = (run("Warn")?, run("Reject")?, run("Fix")?);
    hold(!reject.is_accepted() || fix.is_accepted(), || {
        format!(
            "`Reject` accepts an object that `Fix` rejects: {}",
            told(&fix)
        )
    })?;
    if !warn.is_accepted() {
        return hold(
            !reject.is_accepted() && warn.list("findings").is_empty(),
            || told(&warn),
        );
    }
    for other in [&reject, &fix] {
        let findings = |one: &Observed| one.answer["audit_annotations"]["findings"].clone();
        let is_same = findings(other) == findings(&warn);
        hold(is_same, || {
            format!("{} and in `Warn` {}", other.told(), warn.told())
        })?;
    }
    // Only in `Warn` are all Pods of a pod template created.
    let warnings = |one: &Observed| -> Vec<String> {
        let of_pods = |line: &Value| {
            let line = text(line)
                .strip_prefix("its Pods would ")
                .unwrap_or(text(line));
            let starts = ["be rejected: ", "wait: "];
            let rest = starts.iter().find_map(|start| line.strip_prefix(start));
            rest.unwrap_or(line).to_owned()
        };
        one.warnings().iter().map(of_pods).collect()
    };
    let is_same = !reject.is_accepted() || warnings(&reject) == warnings(&warn);
    hold(is_same, || {
        format!("{} and in `Warn` {}", reject.told(), warn.told())
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

fn guard_accepts_it(story: &Story) -> Kept {
    let Some(object) = story.repaired() else {
        return Ok(());
    };
    let changes = guard();
    story.must_accept(story.request_with(object), &changes)?;
    Ok(())
}

/// With `podTemplates: Reject`, a pod template is rejected exactly if its Pod would be rejected, or if
/// an image is not found, and with `Warn` it is warned of this. It has the findings of its Pod, and
/// asks for the images of its Pod first. Its sentences say what becomes of the Pods. There is no
/// warning of what `Fix` repairs in the Pod.
fn template_is_told(story: &Story) -> Kept {
    let settings = story.settings();
    let template = template_path(&story.case.request)
        .filter(|_| !is_untouched(&story.case.request, settings))
        .and_then(|path| story.case.request["object"].pointer(path));
    let Some(pod) = template.and_then(|template| pod_of(&story.case.request["object"], template))
    else {
        return Ok(());
    };
    let mut create = story.request_with(pod);
    create["kind"] = json!({"group": "", "version": "v1", "kind": "Pod"});
    create["operation"] = "CREATE".into();
    create["oldObject"] = Value::Null;
    let pod = story.run(create.clone(), &[])?;
    let run = |templates: &str| {
        let request = story.case.request.clone();
        story.run(request, &[("podTemplates", templates.into())])
    };
    let (warned, rejected) = (run("Warn")?, run("Reject")?);
    let told = |template: &Observed| {
        let (pod, template) = (pod.told(), template.told());
        format!("the Pod gets {pod}, its template {template}")
    };
    let lookups = rejected.list("lookups");
    let is_not_found = |lookup: &&Value| lookup["failure"] == "notFound";
    let not_found: Vec<_> = lookups.iter().filter(is_not_found).collect();
    let is_warn = settings.mode() == "Warn";
    let is_accepted = pod.is_accepted() && (is_warn || not_found.is_empty());
    let is_cut = |one: &Observed, list: &str| {
        let mut entries = one.list(list).into_iter();
        entries.any(|entry| entry["more"].is_u64())
    };
    let are_cut = is_cut(&pod, "findings") || is_cut(&rejected, "findings");
    let is_right = rejected.is_accepted() == is_accepted || is_cut(&rejected, "lookups");
    hold(is_right, || told(&rejected))?;
    let findings = |one: &Observed| -> BTreeSet<String> {
        let of = |finding: &Value| format!("{} {}", text(&finding["rule"]), finding["container"]);
        one.list("findings").iter().map(of).collect()
    };
    let (of_pod, of_template) = (findings(&pod), findings(&rejected));
    let mut others = of_template.difference(&of_pod);
    let is_same = of_template.is_superset(&of_pod)
        && others.all(|finding| !not_found.is_empty() && finding.starts_with("registry "));
    hold(is_same || are_cut, || told(&rejected))?;
    hold(rejected.calls.starts_with(&pod.calls), || {
        format!("{:?} and {:?}", pod.calls, rejected.calls)
    })?;
    hold(warned.is_accepted(), || told(&warned))?;
    let begins = |with: &str| {
        let mut lines = warned.warnings().iter();
        lines.any(|line| text(line).starts_with(with))
    };
    let waits = |lookup: &&&Value| is_warn || lookup["action"] != "Reject";
    let waits = not_found.iter().find(waits).is_some();
    let is_told = begins("its Pods would be rejected: ") != pod.is_accepted()
        && begins("its Pods would wait: ") == waits;
    let is_whole = warned.warnings().len() < 10;
    hold(is_told || !is_whole, || told(&warned))?;
    if pod.is_accepted() && settings.mode() == "Fix" && pod.calls.len() < LIMIT {
        create["object"] = pod.object_after(&create);
        let again = story.run(create, &[])?;
        let is_silent = warned.warnings().is_empty() && rejected.warnings().is_empty();
        // A failed lookup is never silent. After `UseCached`, `PinAlways` doesn't ask for the image again.
        let has_failed = !warned.list("lookups").is_empty();
        let is_right = is_silent || has_failed || !again.warnings().is_empty();
        hold(is_right, || told(&warned))?;
    }
    Ok(())
}

/// The Pod that a workload makes of its template. `None` if the template has another shape than a
/// Pod. An empty image in a template is left to the API server, so such a template has no Pod
/// either.
fn pod_of(workload: &Value, template: &Value) -> Option<Value> {
    let mut pod = template.clone();
    let spec = &template["spec"];
    let has_image = |list: &str, entry: &Value| match list {
        "volumes" if entry["image"].is_object() => {
            !text(&entry["image"]["reference"]).trim().is_empty()
        }
        "volumes" => true,
        _ => !text(&entry["image"]).trim().is_empty(),
    };
    let mut lists = LISTS.into_iter();
    let is_whole = has_shape_of_pod(template)
        && lists.all(|list| {
            elements(spec, list)
                .iter()
                .all(|entry| has_image(list, entry))
        });
    if !is_whole {
        return None;
    }
    for claim in elements(&workload["spec"], "volumeClaimTemplates") {
        let name = &claim["metadata"]["name"];
        let volume = json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
        list_mut(&mut pod["spec"], "volumes").push(volume);
    }
    Some(pod)
}
