//! examples/pairs.yaml, for the chart and the survey, and what the presets do while all registries
//! are unreachable. Both are worked out on the corpus, with the module's answers. The patterns of
//! the presets name invented registries, so each pattern is taken for `*`.
//!
//! `PAIRS=write cargo test --profile xtask --test policy pairs` writes the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use consistent_pull_policy_promises::corpus;
use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::repository::survey;
use consistent_pull_policy_survey::{AdmissionPolicy, Incident, Moment, Start, Survey};
use serde_json::{Value, json};

use super::admission::{UNREACHABLE, admit, selects};

/// Why presets can't be combined, and what makes up for it.
struct Reason {
    /// Each of these can't be combined with the other one.
    presets: &'static [&'static str],
    other: &'static str,
    why: &'static str,
    /// The setting that one of `presets` needs beside the other one, and its name in the sentence.
    /// If there is none, one of the two has to be uninstalled.
    setting: Option<(&'static str, &'static str, &'static str)>,
}

const REASONS: [Reason; 4] = [
    Reason {
        presets: &[
            "agent-stack-k8s",
            "agent-stack-k8s-volumes",
            "air-gapped",
            "always-by-digest",
            "always-if-available",
            "jobs",
        ],
        other: "multi-tenant",
        why: "multi-tenant demands Always of private images, and {preset} takes it away",
        setting: Some((
            "images",
            "requireAlways",
            "multi-tenant's settings.images.requireAlways",
        )),
    },
    Reason {
        presets: &["jobs"],
        other: "air-gapped",
        why: "air-gapped takes away the Always that {preset} pins",
        setting: Some(("images", "forbidAlways", "settings.images.forbidAlways={*}")),
    },
    Reason {
        presets: &["always-by-digest"],
        other: "air-gapped",
        why: "air-gapped takes away the Always that {preset} pins",
        setting: None,
    },
    Reason {
        presets: &["agent-stack-k8s-volumes"],
        other: "agent-stack-k8s",
        why: "both add checks to the same Pods",
        setting: None,
    },
];

impl Reason {
    /// The reason of these two, and which of them is the one of `presets`.
    fn of<'n>(one: &'n str, another: &'n str) -> Option<(&'static Self, &'n str)> {
        REASONS.iter().find_map(|reason| {
            let fits =
                |preset: &str, other| reason.presets.contains(&preset) && reason.other == other;
            let preset = [(one, another), (another, one)]
                .into_iter()
                .find_map(|(preset, other)| fits(preset, other).then_some(preset));
            Some((reason, preset?))
        })
    }

    /// The sentence for somebody who has the first preset and wants the second one.
    fn sentence(&self, preset: &str, installed: &str, new: &str) -> String {
        let why = self.why.replace("{preset}", preset);
        let what = match self.setting {
            None => format!("uninstall {installed} first"),
            Some((.., setting)) if preset == installed => {
                format!(
                    "write {setting} into {installed} too, then install {new} with allowBeside={{{installed}}}"
                )
            }
            Some((.., setting)) => {
                format!("install {new} with {setting}, and with allowBeside={{{installed}}}")
            }
        };
        format!("{why}: {what}")
    }
}

/// A preset as the chart installs it.
struct Release {
    name: String,
    policy: AdmissionPolicy,
    guard: Option<AdmissionPolicy>,
}

impl Release {
    fn new(name: String, spec: &Value) -> Self {
        let policy = |spec: &Value, suffix: &str| {
            let manifest = json!({"metadata": {"name": format!("{name}{suffix}")}, "spec": spec});
            AdmissionPolicy::new(&manifest).expect("CEL")
        };
        let has_guard = spec["settings"]["mode"] == "Fix" && name != "missing-tags";
        let guard = has_guard.then(|| {
            let mut spec = spec.clone();
            spec["mutating"] = json!(false);
            let settings = &mut spec["settings"];
            settings["mode"] = json!("Reject");
            settings["podTemplates"] = json!("Off");
            settings["imageChecks"]["onMissing"] = json!("Warn");
            settings
                .as_object_mut()
                .expect("settings")
                .remove("registry");
            policy(&spec, "-guard")
        });
        Self {
            policy: policy(spec, ""),
            guard,
            name,
        }
    }

    /// The same with another setting.
    fn with(&self, section: &str, key: &str) -> Self {
        let mut spec = self.policy.spec.clone();
        spec["settings"][section][key] = json!(["*"]);
        Self::new(self.name.clone(), &spec)
    }

    /// Its policies, as `admit` wants them.
    fn policies(&self) -> impl Iterator<Item = &AdmissionPolicy> {
        [&self.policy].into_iter().chain(&self.guard)
    }
}

/// The presets and the corpus.
struct Presets {
    releases: Vec<Release>,
    /// The requests, with the names of the presets that select them.
    requests: Vec<(Value, BTreeSet<String>)>,
}

impl Presets {
    fn new() -> Self {
        let mut presets = super::presets();
        presets.retain(|preset| !preset.policy.is_audit);
        let release = |preset: super::Preset| {
            let mut spec = preset.policy.spec;
            for (section, list) in [
                ("images", "requireAlways"),
                ("images", "forbidAlways"),
                ("registry", "images"),
            ] {
                if !spec["settings"][section][list].is_null() {
                    spec["settings"][section][list] = json!(["*"]);
                }
            }
            Release::new(preset.name, &spec)
        };
        let releases: Vec<Release> = presets.into_iter().map(release).collect();
        let request = |(_, request)| {
            let selecting = releases.iter().filter(|one| selects(&one.policy, &request));
            let names = selecting.map(|one| one.name.clone()).collect();
            (request, names)
        };
        let requests = corpus::requests().into_iter().map(request).collect();
        Self { releases, requests }
    }

    /// The requests that all of these presets select.
    fn selected(&self, names: &[&str]) -> impl Iterator<Item = &Value> {
        let is_selected = |by: &BTreeSet<String>| names.iter().all(|name| by.contains(*name));
        let requests = self.requests.iter();
        requests.filter_map(move |(request, by)| is_selected(by).then_some(request))
    }

    /// Whether two presets can be combined: with their guards, alone and in both orders they accept
    /// each object of the corpus, the orders give the same object, and neither would change this
    /// object again.
    fn can_be_combined(&self, one: &Release, other: &Release) -> bool {
        self.selected(&[&one.name, &other.name]).all(|request| {
            let outcome = |releases: &[&Release]| {
                let policies: Vec<_> = releases.iter().flat_map(|one| one.policies()).collect();
                admit(&policies, request, None)
            };
            let result = outcome(&[one, other]);
            let reversed = outcome(&[other, one]);
            let (Ok(object), Ok(_)) = (&result, &reversed) else {
                return outcome(&[one]).is_err() || outcome(&[other]).is_err();
            };
            let mut again = request.clone();
            again["object"] = object.clone();
            let keeps = |release: &Release| admit(&[&release.policy], &again, None) == result;
            result == reversed && keeps(one) && keeps(other)
        })
    }

    /// The sentences: of the installed preset, of the new one.
    fn sentences(&self) -> BTreeMap<&str, BTreeMap<&str, String>> {
        let mut sentences: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (index, one) in self.releases.iter().enumerate() {
            for other in &self.releases[index + 1..] {
                let reason = Reason::of(&one.name, &other.name);
                assert_eq!(
                    reason.is_none(),
                    self.can_be_combined(one, other),
                    "{} and {}",
                    one.name,
                    other.name
                );
                let Some((reason, preset)) = reason else {
                    continue;
                };
                for (installed, new) in [(one, other), (other, one)] {
                    let sentence = reason.sentence(preset, &installed.name, &new.name);
                    let of_installed = sentences.entry(&*installed.name).or_default();
                    of_installed.insert(&*new.name, sentence);
                }
            }
        }
        sentences
    }
}

#[test]
fn the_file_of_pairs_is_up_to_date() {
    let presets = Presets::new();
    let mut lines = vec![
        "# What can't be combined: the installed preset, the new one, and what to do. \
         tests/presets/pairs.rs writes this file."
            .to_owned(),
    ];
    for (installed, sentences) in presets.sentences() {
        lines.push(format!("{installed}:"));
        let entry = |(new, sentence)| format!("  {new}: {}", Value::from(sentence));
        lines.extend(sentences.into_iter().map(entry));
    }
    let file = lines.join("\n") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pairs.yaml");
    if std::env::var("PAIRS").is_ok() {
        fs::write(path, &file).expect("examples/pairs.yaml");
    } else {
        let written = fs::read_to_string(path).expect("examples/pairs.yaml");
        assert!(
            written == file,
            "examples/pairs.yaml is not up to date:\n{file}"
        );
    }
}

#[test]
fn with_the_setting_that_the_sentence_names_a_pair_can_be_combined() {
    let presets = Presets::new();
    let release = |name: &str| presets.releases.iter().find(|one| one.name == name);
    for reason in &REASONS {
        let Some((section, key, _)) = reason.setting else {
            continue;
        };
        let other = release(reason.other).expect(reason.other);
        for name in reason.presets {
            let changed = release(name).expect(name).with(section, key);
            assert!(presets.can_be_combined(&changed, other), "{name}");
        }
    }
}

/// The header names each preset that can't be combined with this one.
#[test]
fn each_header_names_what_cant_be_combined() {
    for preset in super::presets() {
        let header = preset.header("Can't be combined with");
        let header = header.unwrap_or_else(|| panic!("{}: no header", preset.name));
        let named = header.split(" (pairs.yaml").next().unwrap_or_default();
        let named: BTreeSet<&str> = named
            .split(|c: char| !(c.is_alphanumeric() || c == '-'))
            .collect();
        for other in super::presets() {
            assert_eq!(
                header.contains("pairs.yaml") && named.contains(&*other.name),
                Reason::of(&preset.name, &other.name).is_some(),
                "{} and {}",
                preset.name,
                other.name
            );
        }
    }
}

/// Whether a container may run an old image of its node because of a policy: as its author wrote
/// the object, it starts with the image that the registry has.
fn may_run_an_old_image(survey: &mut Survey, written: &Value, now: &Value) -> bool {
    let no_incident = Incident {
        moment: Moment::Meanwhile,
        ..Incident::default()
    };
    let mut started = |object, start| {
        let steps = survey.steps(object, written, &no_incident, &mut Native);
        let started = steps.into_iter().filter(|step| step.start == start);
        started.map(|step| step.entry.name).collect::<BTreeSet<_>>()
    };
    let current = started(written, Start::Current);
    !started(now, Start::Copy).is_disjoint(&current)
}

/// No preset rejects an object because registries are unreachable. Where a container may start with
/// an old image, the preset's purpose is to use it.
#[test]
fn while_registries_are_unreachable_no_preset_rejects_and_few_use_old_images() {
    let presets = Presets::new();
    let mut survey = survey();
    let mut using = BTreeSet::new();
    for release in &presets.releases {
        for request in presets.selected(&[&release.name]) {
            let [health, outage] = [None, Some(&UNREACHABLE)]
                .map(|incident| admit(&[&release.policy], request, incident));
            assert_eq!(outage.is_ok(), health.is_ok(), "{}", release.name);
            for stored in health.into_iter().chain(outage) {
                if may_run_an_old_image(&mut survey, &request["object"], &stored) {
                    using.insert(&*release.name);
                }
            }
        }
    }
    let expected = [
        "agent-stack-k8s-volumes",
        "air-gapped",
        "always-if-available",
    ];
    assert_eq!(using, BTreeSet::from(expected));
}
