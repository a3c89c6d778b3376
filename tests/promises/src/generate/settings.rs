//! Random settings. They are valid.

use std::sync::LazyLock;

use arbitrary::Result;
use consistent_pull_policy::settings as policy;
use serde_json::{Value, json};

use super::Source;
use super::vocabulary::{
    CONTAINER_PATTERNS, IMAGE_PATTERNS, PATTERN_HOSTS, PATTERN_REPOSITORIES, PATTERN_TAGS,
};
use crate::every_setting::every_setting;
use crate::json::put;
use crate::settings::Settings;

const ACTIONS: [&str; 3] = ["Allow", "UseCached", "Reject"];
/// The settings that say what to do after a failed lookup.
const ON: [&str; 3] = ["onNotFound", "onDenied", "onUnavailable"];

/// The paths of the settings that are true or false, each with the value that is not the default.
static BOOLEANS: LazyLock<Vec<(String, Value)>> = LazyLock::new(|| {
    let booleans = every_setting().into_iter();
    let booleans = booleans.filter(|one| one.plain_values.contains(&true.into()));
    booleans
        .map(|one| (one.path, (one.default == false).into()))
        .collect()
});

impl Source<'_> {
    pub(super) fn settings(&mut self) -> Result<Value> {
        let mut settings = json!({});
        let modes = ["Fix", "Fix", "Reject", "Warn"];
        let mode = self.pick(if self.is_dense { &modes[..1] } else { &modes })?;
        put(&mut settings, "mode", mode.into());
        self.image_checks(&mut settings)?;
        for key in ["requireAlways", "forbidAlways"] {
            if self.chance(1, 5)? {
                let patterns = self.image_patterns()?;
                put(&mut settings, &format!("images.{key}"), patterns);
            }
        }
        if self.chance(1, 2)? {
            settings["registry"] = self.registry()?;
        }
        if self.chance(2, 3)? {
            settings["podTemplates"] = self.pick(&["Reject", "Warn", "Off"])?.into();
        }
        if self.chance(if self.is_dense { 3 } else { 1 }, 5)? {
            let patterns = self.image_patterns()?;
            put(&mut settings, "images.exempt", patterns);
        }
        for (path, value) in &*BOOLEANS {
            let mut with = settings.clone();
            put(&mut with, path, value.clone());
            if self.chance(1, 3)? && policy::Settings::check(with.to_string().as_bytes()).is_ok() {
                settings = with;
            }
        }
        if self.chance(1, 10)? {
            self.leave_unset_values(&mut settings)?;
        }
        if self.chance(1, 20)? {
            write_off_without_quotes(&mut settings);
        }
        Ok(settings)
    }

    fn image_checks(&mut self, settings: &mut Value) -> Result<()> {
        let mut set = |key: &str, value: Value| put(settings, &format!("imageChecks.{key}"), value);
        if self.chance(1, 6)? {
            let prefixes = [
                json!(["probe-"]),
                json!(["imagecheck-"]),
                json!(["setup", "imagecheck-"]),
                json!(["check-", "imagepullcheck-"]),
            ];
            set("namePrefixes", self.bytes.choose(&prefixes)?.clone());
        }
        if self.chance(3, 4)? {
            let actions = ["Add", "Add", "Add", "Warn", "Off", "Reject"];
            let actions = &actions[if self.is_dense { 0 } else { 2 }..];
            set("onMissing", self.pick(actions)?.into());
        }
        if self.chance(1, 3)? {
            set("type", "ImageVolume".into());
        }
        if self.chance(1, 3)? {
            let templates = [
                json!({
                    "command": ["/tools/true"],
                    "volumeMounts": [{"name": "tools", "mountPath": "/tools"}],
                }),
                json!({"command": ["/check"], "resources": {"limits": {"cpu": "100m"}}}),
                json!({
                    "command": ["/tools/true"],
                    "volumeMounts": [{"name": "tools", "mountPath": "/tools", "subPath": "bin"}],
                }),
                json!({
                    "command": ["/check"],
                    "resources": {"requests": {"memory": "64Mi"}},
                    "volumeDevices": [{"name": "disk", "devicePath": "/dev/xvda"}],
                }),
            ];
            set("template", self.bytes.choose(&templates)?.clone());
        }
        if self.chance(1, 4)? {
            set("insertAfter", json!(self.words(CONTAINER_PATTERNS, 2)?));
        }
        Ok(())
    }

    fn registry(&mut self) -> Result<Value> {
        let mut registry = json!({});
        for key in ON {
            if self.chance(1, 3)? {
                registry[key] = self.pick(&ACTIONS)?.into();
            }
        }
        let lookup = self.pick(&["Pin", "PinAlways", "Verify", "Off"])?;
        registry["lookup"] = lookup.into();
        registry["images"] = if self.chance(1, 5)? {
            self.image_patterns()?
        } else {
            json!(["*"])
        };
        if self.chance(1, 6)? {
            registry["skipImages"] = self.image_patterns()?;
        }
        Ok(registry)
    }

    fn image_patterns(&mut self) -> Result<Value> {
        let mut patterns = self.words(IMAGE_PATTERNS, 2)?;
        if self.chance(1, 3)? {
            let host = if self.chance(1, 6)? {
                ""
            } else {
                self.word(PATTERN_HOSTS)?
            };
            let (repository, tag) = (self.word(PATTERN_REPOSITORIES)?, self.pick(&PATTERN_TAGS)?);
            patterns.push([host, repository, tag].concat());
        }
        if self.chance(1, 10)? {
            patterns = vec!["*".to_owned()];
        }
        Ok(json!(patterns))
    }

    /// Writes the values that forms leave behind for a setting that is not set.
    fn leave_unset_values(&mut self, settings: &mut Value) -> Result<()> {
        let paths = "images pullOnce imageChecks.onMissing imageChecks.namePrefixes images.exempt \
            registry.onDenied";
        for path in paths.split_whitespace() {
            let unset = self
                .bytes
                .choose(&[json!(null), json!({}), json!([])])?
                .clone();
            let is_section = path
                .split_once('.')
                .is_none_or(|(section, _)| settings.get(section).is_some_and(Value::is_object));
            if is_section && Settings(settings).get(path).is_none() {
                put(settings, path, unset);
            }
        }
        let lists = "/images/requireAlways /images/forbidAlways /registry/images \
            /registry/skipImages /images/exempt /imageChecks/namePrefixes";
        for list in lists.split_whitespace() {
            if let Some(Value::Array(list)) = settings.pointer_mut(list) {
                list.insert(0, "".into());
            }
        }
        Ok(())
    }
}

/// Replaces each `Off` by `false`, which is how YAML reads it without quotes.
fn write_off_without_quotes(value: &mut Value) {
    match value {
        Value::String(text) if text == "Off" => *value = false.into(),
        Value::Array(list) => list.iter_mut().for_each(write_off_without_quotes),
        Value::Object(members) => members.values_mut().for_each(write_off_without_quotes),
        _ => {}
    }
}
