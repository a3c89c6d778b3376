//! **missing-check**: reports images that are not covered, and may add a check for each of them. This
//! rule examines Pods that have image checks, or all Pods if `everyPod` is set.

use serde_json::{Value, json};

use crate::json::{all_of, as_container, elements, text};
use crate::pod::{List, Pod, RequestKind};
use crate::policy::PullPolicy;
use crate::verdict::{Repair, Weight};

/// The most bytes that *missing-check* inserts into an object: 1 MiB of containers, volumes and
/// mounts.
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
            // In the copy, a missing check in a Pod with one app container is only a warning.
            _ if is_copy_with_one_app_container(pod) => (Repair::None, Weight::Warns),
            // With `coverage: Reject`, the finding has the weight `Rejects`. **Decided**: this also
            // applies to a Windows Pod. If the additions are larger than 1 MiB, nothing
            // is added, and each image that is not covered is a finding without a repair.
            ("Reject", _) | ("Fix", Additions::TooLarge | Additions::NearLimit) => {
                (Repair::None, Weight::Rejects)
            }
            // In all other cases, the finding is a warning in every mode and in the copy. These cases
            // are `coverage: Warn`, and `coverage: Fix` for a pod template, for a Windows Pod, or for a
            // Pod in which there is no way to add a check.
            _ => (Repair::None, Weight::Warns),
        };
        let path = pod.image_path(container);
        pod.find("missing-check", container, path, repair, weight);
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
    /// The size is within 2 % of the limit. **Decided**: this specification doesn't see the text of
    /// the request, so it doesn't know the exact size of a copied value. So the results of the
    /// specification and the module are not compared if the size is within these 2 %.
    NearLimit,
    /// No check is added. `coverage` is not `Fix`, the object is a pod template, or there is no way to
    /// add a check to the Pod.
    Impossible,
}

/// Whether the checks of these images can be added. The size of the additions is computed before any
/// check is written into the Pod.
fn additions(pod: &Pod, missing: &[(usize, PullPolicy)]) -> Additions {
    let is_added = pod.settings.coverage() == "Fix"
        && pod.request_kind == RequestKind::PodCreate
        && !is_copy_with_one_app_container(pod);
    let form = form(pod).filter(|_| is_added);
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

/// The form of an added check: an image volume or an init container.
enum Form {
    Volume,
    /// An init container. The value has all its fields, except name, image and pull policy.
    InitContainer(Value),
}

/// The form of added checks. `None` if there is no way to add a check to the Pod, or to the Pods of this
/// pod template.
fn form(pod: &Pod) -> Option<Form> {
    // A Windows Pod gets no checks.
    if pod.is_windows() {
        return None;
    }
    let volume = pod.can_mount_image_volumes().then_some(Form::Volume);
    if pod.settings.as_image_volume() {
        return volume;
    }
    // The fields of an added init container are copied from a check of the Pod: from the last one that
    // is an init container and can be copied. A check can't be copied if one of the copied fields has a
    // field that Kubernetes' type doesn't know. If there is no such check, the fields are those of the
    // check template. A template that mounts a volume which the Pod doesn't have counts as not set.
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
        .rev()
        .filter(|&check| {
            is_program_mounted(entry(check))
                && !pod.has_apparmor_annotation(&pod.places[check].name)
        })
        .find_map(|check| as_container(&copied_fields(entry(check))));
    let template = pod.settings.template().filter(|template| {
        let mut names = volumes_of(template).into_iter();
        names.all(|name| pod.has_volume(name))
    });
    match copied.or_else(|| as_container(template?)) {
        Some(mut container) => {
            // Beside `spec.resources`, an added init container has no requests and no limits.
            if let Some(resources) = container["resources"].as_object_mut()
                && pod.has_resources()
            {
                resources.remove("requests");
                resources.remove("limits");
            }
            // **Decided**: if nothing else is in `resources`, the field is left out.
            if container["resources"] == json!({}) || container["resources"].is_null() {
                container
                    .as_object_mut()
                    .map(|fields| fields.remove("resources"));
            }
            Some(Form::InitContainer(container))
        }
        // Under `as: InitContainer` without a check template, a Pod gets a check volume if it
        // already has one and if no check can be copied.
        None => came_in(List::Volumes).first().and(volume),
    }
}

/// Whether the program of a check comes from one of its mounts: the first word of `command` is an absolute
/// path, without `..` and `$`, at or below a mount path other than `/`. The paths are compared part by part.
///
/// **Decided**: empty parts and `.` don't count as parts.
fn is_program_mounted(check: &Value) -> bool {
    let parts = |path: &str| -> Vec<String> {
        let parts = path.split('/').filter(|part| !["", "."].contains(part));
        parts.map(str::to_owned).collect()
    };
    let program = check["command"][0].as_str().unwrap_or_default();
    let mounts = elements(check, "volumeMounts").iter();
    let mut paths = mounts.filter_map(|mount| Some(parts(mount["mountPath"].as_str()?)));
    program.starts_with('/')
        && !program.contains("..")
        && !program.contains('$')
        && paths.any(|path| !path.is_empty() && parts(program).starts_with(&path))
}

/// The names of the volumes that a container mounts or uses as devices.
fn volumes_of(container: &Value) -> Vec<&str> {
    let entries = all_of(container, &["volumeMounts", "volumeDevices"]);
    entries.filter_map(|entry| entry["name"].as_str()).collect()
}

/// Whether a check can be added to the Pod, or to the Pods of this pod template.
pub(crate) fn can_add(pod: &Pod) -> bool {
    form(pod).is_some()
}

/// The fields that are copied from a check. These are `command`, `args`, `workingDir`,
/// `volumeMounts`, requests and limits, `securityContext`, `terminationMessagePath` and
/// `terminationMessagePolicy`. `env` and `envFrom` are copied if a `$` is in `command`, `args` or a
/// mount's `subPathExpr`.
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
    let has_dollar = |value: &Value| text(value).contains('$');
    let mut mounts = elements(check, "volumeMounts").iter();
    if all_of(check, &["command", "args"]).any(has_dollar)
        || mounts.any(|mount| has_dollar(&mount["subPathExpr"]))
    {
        fields.extend(["env", "envFrom"]);
    }
    for field in fields {
        // **Decided**: a null field counts as not set.
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

/// Whether this is the copy, and the Pod has one app container. Exempt containers don't count. Another
/// webhook may have added the other places after the first installation ran.
fn is_copy_with_one_app_container(pod: &Pod) -> bool {
    let app = pod.list(List::Containers).into_iter();
    pod.settings.is_copy() && app.filter(|&place| pod.places[place].is_examined).count() == 1
}

fn is_asked_for(pod: &Pod) -> bool {
    pod.settings.coverage() != "Off" && (pod.has_checks() || pod.settings.every_pod())
}

/// The images that are not covered. References that are not written alike count as different images
/// here. Each image has one entry, with a place and a pull policy. The pull policy is the one that the
/// image needs, and the place is the image's first guarded place with this pull policy.
fn missing(pod: &Pod) -> Vec<(usize, PullPolicy)> {
    let mut found: Vec<(usize, PullPolicy)> = Vec::new();
    for container in pod.guarded() {
        let of_its_image = |other: &usize| {
            pod.is_same_image(*other, container) && pod.is_written_alike(*other, container)
        };
        let is_known = found.iter().any(|(known, _)| of_its_image(known));
        let need = pod.need(container);
        let mut places = pod.guarded().into_iter().filter(of_its_image);
        let neediest = places.find(|&other| pod.places[other].policy == need);
        let neediest = neediest.unwrap_or(container);
        if !is_known && !pod.is_covered(container) && !pod.lacks_answers(container) {
            found.push((neediest, need));
        }
    }
    // **Decided**: the checks are added in the order in which the images first occur in the Pod,
    // init containers first.
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

/// Adds a check of the container's image, with the pull policy that the image needs. The function
/// `free_name` chooses the check's name, such as `imagecheck-0`.
/// Returns the number of bytes that the check adds.
fn add(pod: &mut Pod, form: &Form, container: usize, policy: PullPolicy) -> usize {
    let image = pod.places[container].image.clone();
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

/// The index of an added init container. It is the same whether the container was copied from a check
/// or made from the check template. The container comes directly after the Pod's last check that is
/// an init container, even if this check has no command. If no init container is a check, the new
/// container comes after the last init container that `imageChecks.after` names. If
/// `imageChecks.after` names none either, the new container comes first.
fn position(pod: &Pod) -> usize {
    let init = pod.list(List::InitContainers);
    let last_check = init.iter().rfind(|&&place| pod.is_check(place));
    let before = last_check.or_else(|| {
        let mut init = init.iter();
        init.rfind(|&&place| pod.settings.is_before_checks(&pod.places[place].name))
    });
    before.map_or(0, |&place| pod.places[place].index + 1)
}

/// The mount of a check volume. It is read-only, and its path is `/.imagecheck/<volume name>`.
///
/// **Decided**: an added volume is the last of `volumes`, and an added mount is the last of
/// `volumeMounts`.
pub(crate) fn mount_of(volume: &str) -> Value {
    json!({"name": volume, "mountPath": format!("/.imagecheck/{volume}"), "readOnly": true})
}

/// The name of a new check: the first prefix of `imageChecks.namePrefixes` with the first number that
/// makes an unused name. No container may have the name. For a check volume, no volume may have it
/// either, and no container may use the mount path of a check volume with this name.
fn free_name(pod: &Pod, as_volume: bool) -> String {
    let prefix = pod.settings.name_prefixes()[0];
    let (names, paths) = (pod.names(as_volume), pod.mount_paths());
    let is_free = |name: &String| {
        let path = format!("/.imagecheck/{name}");
        let is_used = as_volume && paths.contains(path.as_str());
        !is_used && !names.contains(name.as_str())
    };
    (0..=names.len() + paths.len())
        .map(|number| format!("{prefix}{number}"))
        .find(is_free)
        .unwrap_or_default()
}
