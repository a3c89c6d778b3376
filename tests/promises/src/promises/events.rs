//! Promises about what happens to a Pod after this policy in mode `Fix` has returned it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::valid::is_no_less_valid;
use super::{Kept, Story, guard, hold, told};
use crate::events::{Event, Webhook, applied_again, audit, debugged, image_set, raise_all};
use crate::json::{LISTS, elements, elements_mut, text};
use crate::requests::{claims_to_be_mirror, has_controller};

/// Checks the promise about an event.
pub(super) fn check(story: &Story, event: Event) {
    match event {
        Event::Created => {}
        Event::ChangedBetween(webhook) => {
            story.check("the-guard-sees-what-a-webhook-changes", || {
                changed_between(story, webhook)
            });
        }
        Event::AlwaysPullImages => {
            story.check("always-pull-images-is-accepted", || raised_after(story));
        }
        Event::Debugged => story.check("kubectl-debug-works", || debug(story)),
        Event::ImageSet => story.check("kubectl-set-image-works", || set_image(story)),
        Event::AppliedAgain => story.check("a-manifest-applied-again-changes-nothing", || {
            apply_again(story)
        }),
        Event::Audited => story.check("an-audit-accepts-what-was-admitted", || audited(story)),
    }
}

/// A webhook changes the Pod that `Fix` returned. The API server refuses the result only if it
/// refuses the request's Pod after the same change. The guard accepts
/// the Pod, or its message names what the webhook changed.
fn changed_between(story: &Story, webhook: Webhook) -> Kept {
    let Some(repaired) = story.repaired() else {
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
    is_no_less_valid(&changed(&story.case.request["object"]), &object)?;
    let request = story.request_with(object);
    let second = story.run(request.clone(), &guard())?;
    let message = text(&second.answer["message"]);
    let names = differing(&repaired["spec"], &request["object"]["spec"]);
    // With volumes as checks, an injected init container can take the place of the first one, which
    // needs no check. Then the author's own containers need checks too.
    let moves_first = webhook == Webhook::InitContainerInjected && story.settings().as_volumes();
    let is_named = names.iter().any(|name| message.contains(name));
    hold(second.is_accepted() || is_named || moves_first, || {
        told(&second)
    })?;
    Ok(())
}

/// The names and images of the entries that differ between two Pod specs.
fn differing<'v>(before: &'v Value, after: &'v Value) -> BTreeSet<&'v str> {
    let mut names = BTreeSet::new();
    for (one, other) in [(before, after), (after, before)] {
        for list in LISTS {
            let differs = |entry: &&Value| !elements(other, list).contains(entry);
            for entry in elements(one, list).iter().filter(differs) {
                let image = &entry["image"];
                names.extend([image, &image["reference"], &entry["name"]].map(text));
            }
        }
    }
    names.remove("");
    names
}

/// The plugin `AlwaysPullImages` raises all pull policies before and after `Fix`. The guard
/// accepts the result, unless the settings forbid `Always`.
fn raised_after(story: &Story) -> Kept {
    let forbids = !story.settings().list("images.forbidAlways").is_empty();
    let Some(mut object) = story.repaired().filter(|_| !forbids) else {
        return Ok(());
    };
    raise_all(&mut object);
    let request = story.request_with(object);
    story.must_accept(request, &guard())?;
    Ok(())
}

/// The Pod that `Fix` returned, if a person may change it.
fn living_pod(story: &Story) -> Option<Value> {
    story.repaired().filter(|pod| !claims_to_be_mirror(pod))
}

/// A debug container is accepted. The other entries keep their values. The guard accepts the
/// result.
fn debug(story: &Story) -> Kept {
    let Some(stored) = living_pod(story) else {
        return Ok(());
    };
    let mut request = debugged(&story.case.request, &stored);
    let observed = story.must_accept(request.clone(), &[])?;
    let after = observed.object_after(&request);
    let is_kept = LISTS.iter().all(|list| {
        let (stored, after) = (
            elements(&stored["spec"], list),
            elements(&after["spec"], list),
        );
        let added = usize::from(*list == "ephemeralContainers");
        after.len() == stored.len() + added && after.starts_with(stored)
    });
    hold(is_kept, || observed.answer.to_string())?;
    request["object"] = after;
    story.must_accept(request, &guard())?;
    Ok(())
}

/// If `kubectl set image` is accepted, only images differ from the stored Pod. Each container has
/// the requested image, which may have got a digest. The guard accepts the request too.
fn set_image(story: &Story) -> Kept {
    let Some(stored) = living_pod(story) else {
        return Ok(());
    };
    let mut request = image_set(&story.case.request, &stored);
    let fixed = story.run(request.clone(), &[])?;
    if !fixed.is_accepted() {
        return Ok(());
    }
    let after = fixed.object_after(&request);
    let containers = |pod: &Value| elements(&pod["spec"], "containers").to_vec();
    let has_requested_image = |(after, requested): (&Value, &Value)| {
        text(&after["image"]).starts_with(text(&requested["image"]))
    };
    let (new, requested) = (containers(&after), containers(&request["object"]));
    let is_right = new.iter().zip(&requested).all(has_requested_image)
        && without_images(&after["spec"]) == without_images(&stored["spec"]);
    hold(is_right, || fixed.answer.to_string())?;
    request["object"] = after;
    story.must_accept(request, &guard())?;
    Ok(())
}

/// After the same manifest again, the stored Pod stays as it is, and no registry is asked. Newly
/// required pull policies change nothing of this.
fn apply_again(story: &Story) -> Kept {
    let Some(stored) = living_pod(story) else {
        return Ok(());
    };
    let request = applied_again(&story.case.request, &stored);
    for patterns in [json!([]), json!(["*"])] {
        let fixed = story.must_accept(request.clone(), &[("images.requireAlways", patterns)])?;
        let is_same = fixed.object_after(&request) == stored && fixed.calls.is_empty();
        hold(is_same, || format!("{} {:?}", fixed.answer, fixed.calls))?;
    }
    Ok(())
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

/// An audit of the running Pod accepts what was admitted. A Pod that `Fix` or `Reject` accepted is
/// audited in `Reject`, and a Pod that `Warn` accepted in `Warn`.
fn audited(story: &Story) -> Kept {
    let Some(stored) = story.stored().filter(|_| story.is_bounded()) else {
        return Ok(());
    };
    // Every real mirror Pod has a node as its controller. Without it, an audit examines the Pod.
    if claims_to_be_mirror(&stored) && !has_controller(&stored, Some("Node")) {
        return Ok(());
    }
    let mode = match story.settings().mode() {
        "Warn" => "Warn",
        _ => "Reject",
    };
    let request = audit(&story.case.request, &stored);
    story.must_accept(request, &[("mode", mode.into())])?;
    Ok(())
}
