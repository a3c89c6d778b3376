//! Random settings.

use std::sync::LazyLock;

use arbitrary::Result;
use serde_json::{Map, Value, json};

use super::Source;
use super::vocabulary::{CONTAINER_PATTERNS, IMAGE_PATTERNS, OVERRIDDEN_IMAGES};

const ACTIONS: [&str; 3] = ["KeepTag", "UseCached", "Reject"];
/// The settings that say what to do after a failed lookup. `onUnknown` is for two classes of
/// failures: `Unknown` and `NotGranted`. Each other setting is for one class.
const ON: [&str; 5] = [
    "onNotFound",
    "onDenied",
    "onRateLimited",
    "onUnreachable",
    "onUnknown",
];

/// Boolean settings that are valid only with certain other settings. They are written only together with
/// those other settings.
const BOOLEANS_WITH_CONDITIONS: [&str; 2] = ["imageChecks.everyPod", "validatingCopy"];

/// The other boolean settings. They are read from Rancher's form `questions-ui.yml`, which lists every
/// boolean setting. So this file needs no change for a new boolean setting that is always valid.
fn booleans() -> &'static [String] {
    static BOOLEANS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let form = include_str!("../../../questions-ui.yml");
        let form: Value = yaml_serde::from_str(form).expect("the form is YAML");
        let questions = form["questions"].as_array().expect("a list of questions");
        questions
            .iter()
            .filter(|question| question["type"] == "boolean" && question["hide_input"] != true)
            .filter_map(|question| question["variable"].as_str().map(str::to_owned))
            .filter(|path| !BOOLEANS_WITH_CONDITIONS.contains(&path.as_str()))
            .collect()
    });
    &BOOLEANS
}

impl Source<'_> {
    pub(super) fn settings(&mut self) -> Result<Value> {
        let mut settings = json!({});
        let mut put = |path: &str, value: Value| {
            let pointer = path.replace('.', "/");
            let mut at = &mut settings;
            for key in pointer.split('/') {
                at = &mut at[key];
            }
            *at = value;
        };
        let mode = self.pick(&["Fix", "Fix", "Reject", "Warn"])?;
        put("mode", mode.into());
        let image_checks = self.image_checks()?;
        if !image_checks.is_empty() {
            put("imageChecks", image_checks.into());
        }
        if mode != "Fix" && self.chance(1, 4)? {
            put("validatingCopy", true.into());
        }
        if self.chance(1, 3)? {
            let defaults = ["Always", "IfNotPresent", "AlwaysUnlessDigest"];
            put("defaults.imagePullPolicy", self.pick(&defaults)?.into());
        }
        for key in booleans() {
            if self.chance(1, 6)? {
                put(key, self.0.arbitrary::<bool>()?.into());
            }
        }
        for key in [
            "images.requireAlways",
            "images.forbidAlways",
            "images.forbidNever",
        ] {
            if self.chance(1, 5)? {
                put(key, json!(self.some(&IMAGE_PATTERNS, 2)?));
            }
        }
        if self.chance(1, 2)? {
            put("registry", self.registry()?);
        }
        if self.chance(2, 3)? {
            put("templates", self.pick(&["Enforce", "Warn", "Off"])?.into());
        }
        if self.chance(1, 5)? {
            put(
                "exempt.containers",
                json!(self.some(&CONTAINER_PATTERNS, 2)?),
            );
        }
        if self.chance(1, 6)? {
            put("exempt.images", json!(self.some(&IMAGE_PATTERNS[1..], 2)?));
        }
        if self.chance(1, 20)? {
            // A user interface with forms, such as Rancher, leaves empty texts in lists.
            for key in [
                "/images/requireAlways",
                "/images/forbidAlways",
                "/registry/images",
                "/registry/skipImages",
                "/exempt/containers",
                "/exempt/images",
                "/imageChecks/namePrefixes",
            ] {
                if let Some(Value::Array(list)) = settings.pointer_mut(key) {
                    list.insert(0, "".into());
                }
            }
        }
        if self.chance(1, 10)? {
            for key in ["defaults", "images", "exempt", "pullOnce"] {
                let unset = self.0.choose(&[json!(null), json!({}), json!([])])?.clone();
                if settings.get(key).is_none() && (key != "pullOnce" || unset.is_null()) {
                    settings[key] = unset;
                }
            }
            for (section, key) in [
                ("imageChecks", "coverage"),
                ("imageChecks", "namePrefixes"),
                ("defaults", "imagePullPolicy"),
                ("images", "forbidNever"),
                ("exempt", "images"),
            ] {
                if settings.get(section).is_some_and(Value::is_object)
                    && settings[section].get(key).is_none()
                {
                    settings[section][key] = Value::Null;
                }
            }
        }
        Ok(settings)
    }

    fn image_checks(&mut self) -> Result<Map<String, Value>> {
        let mut checks = Map::new();
        let mut put = |key: &str, value: Value| {
            checks.insert(key.to_owned(), value);
        };
        if self.chance(1, 6)? {
            let prefixes = [
                json!(["probe-"]),
                json!(["imagecheck-"]),
                json!(["setup", "imagecheck-"]),
                json!(["check-", "imagepullcheck-"]),
            ];
            put("namePrefixes", self.0.choose(&prefixes)?.clone());
        }
        let coverage = self.pick(&["Fix", "Warn", "Off", "Reject"])?;
        if self.chance(3, 4)? {
            put("coverage", coverage.into());
        }
        let as_volume = self.chance(1, 3)?;
        if as_volume {
            put("as", "ImageVolume".into());
        }
        let has_template = self.chance(1, 3)?;
        if has_template {
            let templates = [
                json!({
                    "command": ["/tools/true"],
                    "volumeMounts": [{"name": "tools", "mountPath": "/tools"}],
                }),
                json!({"command": ["/check"], "resources": {"limits": {"cpu": "100m"}}}),
                json!({
                    "command": ["/check"],
                    "resources": {"requests": {"memory": "64Mi"}},
                    "volumeDevices": [{"name": "disk", "devicePath": "/dev/xvda"}],
                }),
            ];
            put("template", self.0.choose(&templates)?.clone());
        }
        if self.chance(1, 3)? && (as_volume || has_template || coverage != "Fix") {
            put("everyPod", true.into());
        }
        if self.chance(1, 4)? {
            put("after", json!(self.some(&CONTAINER_PATTERNS, 2)?));
        }
        Ok(checks)
    }

    fn registry(&mut self) -> Result<Value> {
        let mut registry = self.actions()?;
        registry["lookup"] = self.pick(&["Pin", "Verify", "Pin", "Off"])?.into();
        registry["images"] = if self.chance(1, 5)? {
            json!(self.some(&IMAGE_PATTERNS, 2)?)
        } else {
            json!(["*"])
        };
        if self.chance(1, 6)? {
            registry["skipImages"] = json!(self.some(&IMAGE_PATTERNS, 2)?);
        }
        if self.chance(1, 4)? {
            registry["maxLookups"] = self.0.int_in_range(1..=4)?.into();
        }
        let mut looks_up = registry["lookup"] != "Off";
        if self.chance(1, 4)? {
            let mut overrides = Vec::new();
            for patterns in OVERRIDDEN_IMAGES {
                if self.chance(1, 4)? {
                    let mut over = self.actions()?;
                    if self.chance(1, 2)? {
                        let lookup = self.pick(&["Pin", "Verify", "Off"])?;
                        looks_up |= lookup != "Off";
                        over["lookup"] = lookup.into();
                    }
                    over["images"] = json!(patterns);
                    overrides.push(over);
                }
            }
            registry["overrides"] = overrides.into();
        }
        if looks_up && self.chance(1, 3)? {
            registry["platform"] = self.pick(&["Reject", "Warn"])?.into();
        }
        Ok(registry)
    }

    fn actions(&mut self) -> Result<Value> {
        let mut actions = json!({});
        for key in ON {
            if self.chance(1, 4)? {
                actions[key] = self.pick(&ACTIONS)?.into();
            }
        }
        Ok(actions)
    }
}
