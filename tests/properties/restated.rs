//! What is pulled, and what is an image check: restated without the rules' code.

use consistent_pull_policy::image::Reference;
use consistent_pull_policy::pull_policy::PullPolicy;
use serde_json::{Value, json};

use crate::{by_name, list};

/// An image and its strongest policy, restated without the rules' code.
pub(crate) type Pulled<'s> = (Reference<'s>, PullPolicy);

fn pulled<'s>(place: &'s Value, image: &str, policy: &str) -> Pulled<'s> {
    let image = Reference::parse(place[image].as_str().expect("an image")).expect("valid");
    let policy = place[policy].as_str().and_then(PullPolicy::parse);
    let policy = policy.unwrap_or_else(|| PullPolicy::server_default(image.tag(), image.digest()));
    (image, policy)
}

pub(crate) fn containers<'s>(
    spec: &'s Value,
    key: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Vec<Pulled<'s>> {
    let wanted = list(spec, key).iter().filter(|container| wanted(container));
    wanted
        .map(|container| pulled(container, "image", "imagePullPolicy"))
        .collect()
}

pub(crate) fn is_named_as_check(item: &Value, settings: &Value) -> bool {
    let name = item["name"].as_str().expect("a name");
    let prefixes = &settings["imageChecks"]["namePrefixes"];
    let usual = json!(["imagecheck-", "imagepullcheck-"]);
    let prefixes = if prefixes.is_null() { &usual } else { prefixes };
    let prefixes = prefixes.as_array().expect("a list").iter();
    prefixes
        .filter_map(Value::as_str)
        .any(|prefix| name.starts_with(prefix))
}

pub(crate) fn mounts(container: &Value, volume: &Value) -> bool {
    by_name(list(container, "volumeMounts"), &volume["name"]).is_some()
}

/// The image volumes that are image checks: nothing starts before the first init container, and
/// without any each container of the image has to wait for itself.
pub(crate) fn check_volumes<'s>(spec: &'s Value, settings: &Value) -> Vec<Pulled<'s>> {
    let proves = |volume: &&Value| {
        let inits = list(spec, "initContainers");
        let apps = list(spec, "containers");
        if !inits.is_empty() {
            return inits.iter().any(|init| mounts(init, volume));
        }
        let image = |text: &Value| {
            Reference::parse(text.as_str()?).ok().map(|i| {
                i.identity() == {
                    let own = volume["image"]["reference"].as_str().expect("an image");
                    Reference::parse(own).expect("valid").identity()
                }
            })
        };
        apps.iter().any(|app| mounts(app, volume))
            && apps
                .iter()
                .all(|app| mounts(app, volume) || image(&app["image"]) == Some(false))
    };
    let volumes = list(spec, "volumes")
        .iter()
        .filter(|volume| volume["image"].is_object());
    volumes
        .filter(|volume| is_named_as_check(volume, settings))
        .filter(proves)
        .map(|volume| pulled(&volume["image"], "reference", "pullPolicy"))
        .collect()
}
