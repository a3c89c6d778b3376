//! **missing-check**: "what happens when an image of a Pod that has image checks is not covered".

use serde_json::{Value, json};

use crate::pod::{List, Pod};
use crate::policy::PullPolicy;
use crate::rules::weak_check::as_it_would_stay;
use crate::verdict::{Repair, Weight};

/// "*missing-check* inserts at most 1 MiB (containers, volumes, mounts)."
const MOST_BYTES: usize = 1024 * 1024;

pub(crate) fn apply(pod: &mut Pod) {
    if !is_asked_for(pod) {
        return;
    }
    let missing = missing(pod);
    let additions = additions(pod, &missing);
    pod.is_near_limit |= additions == Additions::NearLimit;
    let form = form(pod);
    for (container, need) in missing {
        let (repair, weight) = match (pod.settings.coverage(), &additions) {
            ("Fix", Additions::Fit) => (Repair::Addition, Weight::Rejects),
            // "`coverage: Reject` still rejects." **Decided**: it rejects a Windows Pod too. "Beyond
            // 1 MiB nothing is added, and each image without a check is a finding without a repair."
            ("Reject", _) | ("Fix", Additions::TooLarge | Additions::NearLimit) => {
                (Repair::None, Weight::Rejects)
            }
            // "`coverage: Fix` acts on a pod template as `coverage: Warn`"; "Windows Pods get nothing
            // added or replaced. They get a warning, in every mode and in the copy"; "**No way to add**:
            // … A warning says why, in every mode and in the copy."
            _ => (Repair::None, Weight::Warns),
        };
        let path = pod.image_path(container);
        let expected = Value::from(need.name());
        pod.find(
            "missing-check",
            container,
            path,
            Value::Null,
            expected,
            repair,
            weight,
        );
        if let Some(form) = form.as_ref().filter(|_| repair == Repair::Addition) {
            add(pod, form, container, need);
        }
    }
}

/// Whether missing checks can be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Additions {
    Fit,
    TooLarge,
    /// The size is within 2 % of the limit. **Decided**: this specification has no text of the request,
    /// so it doesn't know the exact size of a copied value. Such a case is not compared.
    NearLimit,
    /// In templates and in Windows Pods, and where there is no way to add.
    Impossible,
}

/// "The size is worked out before anything is written."
fn additions(pod: &Pod, missing: &[(usize, PullPolicy)]) -> Additions {
    let form = form(pod).filter(|_| pod.settings.coverage() == "Fix" && pod.can_get_checks());
    let Some(form) = form else {
        return Additions::Impossible;
    };
    let margin = MOST_BYTES / 50;
    let mut size = 0;
    let mut trial = pod.clone();
    for &(container, need) in missing {
        size += add(&mut trial, &form, container, need);
        if size > MOST_BYTES + margin {
            return Additions::TooLarge;
        }
    }
    if size > MOST_BYTES - margin {
        Additions::NearLimit
    } else {
        Additions::Fit
    }
}

/// "**Form**: an image volume (`imageChecks.as`), or an init container."
enum Form {
    Volume,
    /// The init container, without name, image and pull policy.
    InitContainer(Value),
}

/// The form of added checks; none if there is no way to add one.
fn form(pod: &Pod) -> Option<Form> {
    if pod.settings.as_image_volume() {
        return Some(Form::Volume);
    }
    // "An added init container is a copy of the Pod's last image check that has a `command` and whose
    // AppArmor profile is not an annotation. If there is no such check, it is made from the check
    // template."
    let came_in = |list: List| -> Vec<usize> {
        let mut checks = pod.checks();
        checks.retain(|&check| {
            let check = &pod.places[check];
            check.list == list && check.came_in.is_some()
        });
        checks
    };
    let entry = |check: usize| &pod.spec["initContainers"][pod.places[check].index];
    let copied = came_in(List::InitContainers)
        .into_iter()
        .rfind(|&check| {
            let command = entry(check)["command"].as_array();
            command.is_some_and(|command| !command.is_empty())
                && !pod.has_apparmor_annotation(&pod.places[check].name)
        })
        .map(|check| copied_fields(entry(check)));
    match copied.or_else(|| pod.settings.template().cloned()) {
        // "The same applies in a Pod with `spec.resources` where the added container asks for resources."
        Some(container) if pod.has_resources() && asks_for_resources(&container) => None,
        Some(container) => Some(Form::InitContainer(container)),
        // "Under `as: InitContainer` without a check template, a Pod gets a volume if it has a check
        // volume and no check that can be copied."
        None => came_in(List::Volumes).first().map(|_| Form::Volume),
    }
}

/// "only the fields that a check needs. They are `command`, `args`, `workingDir`, `volumeMounts`,
/// requests and limits, `securityContext`, `terminationMessagePath` and `terminationMessagePolicy`. `env`
/// and `envFrom` are copied if a `$` is in `command`, `args` or a mount's `subPathExpr`."
fn copied_fields(check: &Value) -> Value {
    let mut copy = json!({});
    let mut fields = vec![
        "command",
        "args",
        "workingDir",
        "volumeMounts",
        "securityContext",
        "terminationMessagePath",
        "terminationMessagePolicy",
    ];
    let has_dollar = |text: &Value| text.as_str().is_some_and(|text| text.contains('$'));
    let list = |key: &str| check[key].as_array().into_iter().flatten();
    if list("command").chain(list("args")).any(has_dollar)
        || list("volumeMounts").any(|mount| has_dollar(&mount["subPathExpr"]))
    {
        fields.extend(["env", "envFrom"]);
    }
    for field in fields {
        // **Decided**: a field that is null is not set.
        if let Some(value) = check.get(field).filter(|value| !value.is_null()) {
            copy[field] = value.clone();
        }
    }
    for field in ["requests", "limits"] {
        let value = check["resources"].get(field);
        if let Some(value) = value.filter(|value| !value.is_null()) {
            copy["resources"][field] = value.clone();
        }
    }
    copy
}

/// "asks for resources (requests or limits)"
fn asks_for_resources(container: &Value) -> bool {
    let resources = &container["resources"];
    ["requests", "limits"].iter().any(|key| {
        resources[*key]
            .as_object()
            .is_some_and(|amounts| !amounts.is_empty())
    })
}

fn is_asked_for(pod: &Pod) -> bool {
    pod.settings.coverage() != "Off" && (pod.has_checks() || pod.settings.every_pod())
}

/// The images, as they are written, that are not covered: the first container that needs most, and
/// the strength that it needs.
fn missing(pod: &Pod) -> Vec<(usize, PullPolicy)> {
    let mut found: Vec<(usize, PullPolicy)> = Vec::new();
    for container in pod.guarded() {
        let of_its_image = |other: &usize| {
            pod.is_same_image(*other, container) && pod.is_written_alike(*other, container)
        };
        let is_known = found.iter().any(|(known, _)| of_its_image(known));
        // The copy can't know what a lookup has shown to be covered.
        let need = need(pod, container);
        if !is_known && !is_covered(pod, container) && !pod.may_be_covered(container, need) {
            let neediest = pod
                .guarded()
                .into_iter()
                .filter(of_its_image)
                .find(|&other| pod.places[other].policy == need);
            found.push((neediest.unwrap_or(container), need));
        }
    }
    // **Decided**: several checks come in the order of their images, init containers first.
    found.sort_by_key(|&(container, _)| {
        let same = pod.examined().into_iter().filter(|&other| {
            pod.is_same_image(other, container) && pod.is_written_alike(other, container)
        });
        same.map(|other| {
            let place = &pod.places[other];
            (place.list != List::InitContainers, place.list, place.index)
        })
        .min()
    });
    found
}

/// Whether `coverage: Fix` is going to add a check for each image that has none.
pub(crate) fn will_add(pod: &Pod) -> bool {
    is_asked_for(pod) && additions(pod, &missing(pod)) == Additions::Fit
}

/// "the strength that its containers need"
pub(crate) fn need(pod: &Pod, container: usize) -> PullPolicy {
    pod.guarded()
        .into_iter()
        .filter(|&other| {
            pod.is_same_image(other, container) && pod.is_written_alike(other, container)
        })
        .map(|other| pod.places[other].policy)
        .max()
        .unwrap_or(pod.places[container].policy)
}

/// "an image that an image check pulls, or that any other init container before the app (no sidecar)
/// pulls with at least the strength that its containers need, under the same written repository"
pub(crate) fn is_covered(pod: &Pod, container: usize) -> bool {
    let need = need(pod, container);
    pod.examined().into_iter().any(|other| {
        pod.serves(other, container)
            && (pod.is_check(other) || pod.is_plain_init(other) && pod.places[other].policy >= need)
    })
}

/// "add a check with the image, and with the strength that the image's containers need. Its name is
/// `imagecheck-N` (the first name prefix, the first free N)." Returns the bytes that it inserts.
fn add(pod: &mut Pod, form: &Form, container: usize, need: PullPolicy) -> usize {
    let image = pod.places[container].image.clone();
    let policy = as_it_would_stay(pod, &image, need);
    match form {
        Form::InitContainer(like) => {
            let mut added = like.clone();
            added["name"] = free_name(pod, false).into();
            added["image"] = image.into();
            added["imagePullPolicy"] = policy.name().into();
            let size = added.to_string().len();
            pod.insert_init("missing-check", position(pod), added);
            size
        }
        Form::Volume => {
            let name = free_name(pod, true);
            let volume = pod.push_volume("missing-check", &name, &image, policy);
            let mount = mount_of(&name);
            let carriers = pod.carriers();
            for &carrier in &carriers {
                pod.mount(carrier, mount.clone());
            }
            volume.to_string().len() + carriers.len() * mount.to_string().len()
        }
    }
}

/// "straight after the Pod's last check that is an init container, whether or not that check has a
/// command. In a Pod without such a check: after the last init container that `imageChecks.after` names,
/// else first. This holds for a copy and for the check template."
fn position(pod: &Pod) -> usize {
    let init = pod.list(List::InitContainers);
    let last_check = init.iter().rfind(|&&place| pod.is_check(place));
    let before = last_check.or_else(|| {
        let mut init = init.iter();
        init.rfind(|&&place| pod.settings.is_before_checks(&pod.places[place].name))
    });
    before.map_or(0, |&place| pod.places[place].index + 1)
}

/// "Mount path `/.imagecheck/<volume name>`", "mounted read-only"
///
/// **Decided**: an added volume is the last of `volumes`, and an added mount is the last of
/// `volumeMounts`.
pub(crate) fn mount_of(volume: &str) -> Value {
    json!({"name": volume, "mountPath": format!("/.imagecheck/{volume}"), "readOnly": true})
}

/// "the number is free among containers and volumes", "Names and mount paths never collide"
fn free_name(pod: &Pod, as_volume: bool) -> String {
    let prefix = pod.settings.name_prefixes()[0];
    let (names, paths) = (pod.names(as_volume), pod.mount_paths());
    (0..=names.len() + paths.len())
        .map(|number| format!("{prefix}{number}"))
        .find(|name| {
            !(names.contains(name) || as_volume && paths.contains(&format!("/.imagecheck/{name}")))
        })
        .unwrap_or_default()
}
