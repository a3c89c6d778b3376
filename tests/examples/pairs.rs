//! examples/pairs.yaml, for the chart and the survey, and what the examples do while all registries
//! are away. Both are worked out on the corpus, with the module's answers. The patterns of the
//! examples name invented registries, so each pattern is taken for `*`.
//!
//! `PAIRS=write cargo test --profile xtask --test policy pairs` writes the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::repository::survey;
use consistent_pull_policy_survey::{AdmissionPolicy, Incident, Moment, Start, Survey};
use serde_json::{Value, json};

use super::admission::{AWAY, admit, selects};
use super::corpus::requests;
use super::{FIRST, file};

/// The examples and the corpus.
struct Examples {
    /// The policies that the API server calls.
    policies: Vec<AdmissionPolicy>,
    requests: Vec<Sample>,
}

/// A request of the corpus.
struct Sample {
    request: Value,
    /// The names of the policies that select it.
    selected_by: Vec<String>,
}

impl Examples {
    fn new() -> Self {
        let mut policies = super::policies();
        policies.retain(|policy| !policy.is_audit);
        for policy in &mut policies {
            let settings = &mut policy.spec["settings"];
            let lists = [
                ("images", "requireAlways"),
                ("images", "forbidAlways"),
                ("images", "preferAlways"),
                ("registry", "images"),
            ];
            for (section, list) in lists {
                if !settings[section][list].is_null() {
                    settings[section][list] = json!(["*"]);
                }
            }
        }
        assert!(policies.len() > 8, "{}", policies.len());
        let sample = |request| {
            let selecting = policies.iter().filter(|policy| selects(policy, &request));
            let selected_by = selecting.map(|policy| policy.name.clone()).collect();
            Sample {
                request,
                selected_by,
            }
        };
        let requests = requests().into_iter().map(sample).collect();
        Self { policies, requests }
    }

    /// The requests that all of these policies select.
    fn selected(&self, policies: &[&AdmissionPolicy]) -> impl Iterator<Item = &Value> {
        let is_selected = |sample: &&Sample| {
            policies
                .iter()
                .all(|policy| sample.selected_by.contains(&policy.name))
        };
        self.requests
            .iter()
            .filter(is_selected)
            .map(|sample| &sample.request)
    }

    /// The policy, with its first policy if it is a second one: a second policy says something only
    /// about Pods that its first policy has seen.
    fn with_first<'t>(&'t self, policy: &'t AdmissionPolicy) -> Vec<&'t AdmissionPolicy> {
        let first = FIRST.iter().find(|(second, _)| file(policy) == *second);
        let is_first =
            |other: &&AdmissionPolicy| first.is_some_and(|(_, first)| file(other) == *first);
        self.policies
            .iter()
            .filter(is_first)
            .chain([policy])
            .collect()
    }

    /// Whether two policies stand together on a request: alone and in both orders they accept it,
    /// the orders give the same object, and neither would change this object again.
    fn stand_together(
        &self,
        one: &AdmissionPolicy,
        other: &AdmissionPolicy,
        request: &Value,
    ) -> bool {
        let [one_alone, other_alone] = [one, other].map(|policy| self.with_first(policy));
        let outcome = |policies: &[&AdmissionPolicy]| admit(policies, request, None);
        let result = outcome(&[&*one_alone, &other_alone].concat());
        let reversed = outcome(&[&*other_alone, &one_alone].concat());
        let (Ok(object), Ok(_)) = (&result, &reversed) else {
            return outcome(&one_alone).is_err() || outcome(&other_alone).is_err();
        };
        let mut again = request.clone();
        again["object"] = object.clone();
        let keeps = |policy| admit(&[policy], &again, None) == result;
        result == reversed && keeps(one) && keeps(other)
    }

    /// For each pair of files that select a common object: the number of these objects, and of
    /// those on which the two don't stand together.
    fn pairs(&self) -> BTreeMap<(&str, &str), (usize, usize)> {
        let mut pairs = BTreeMap::new();
        for (index, one) in self.policies.iter().enumerate() {
            for other in &self.policies[index + 1..] {
                for request in self.selected(&[one, other]) {
                    let pair: &mut (usize, usize) =
                        pairs.entry((file(one), file(other))).or_default();
                    pair.0 += 1;
                    pair.1 += usize::from(!self.stand_together(one, other, request));
                }
            }
        }
        pairs
    }

    /// The pairs that must not stand together, for the chart and the page.
    fn file_of_pairs(&self) -> String {
        let pairs = self.pairs().into_iter();
        let conflicts = pairs.filter(|(_, (_, conflicts))| *conflicts > 0);
        let line = |((a, b), (objects, conflicts))| {
            format!(
                "- {{a: {a}, b: {b}, why: they disagree about {conflicts} of {objects} objects}}\n"
            )
        };
        let title = "# The examples that must not stand together. tests/examples/pairs.rs writes this file.\n";
        title.to_owned() + &conflicts.map(line).collect::<String>()
    }
}

/// Whether a container may run an old image of its node because of a policy: as its author wrote
/// the object, it starts with the image that the registry has.
fn may_run_an_old_image(survey: &mut Survey, written: &Value, now: &Value) -> bool {
    let nothing_is_away = Incident {
        moment: Moment::Meanwhile,
        ..Incident::default()
    };
    let mut started = |object, start| {
        let (steps, _) = survey.start(object, written, &nothing_is_away, &mut Native);
        let started = steps.into_iter().filter(|step| step.start == start);
        started.map(|step| step.entry.name).collect::<BTreeSet<_>>()
    };
    let current = started(written, Start::Current);
    !started(now, Start::Copy).is_disjoint(&current)
}

#[test]
fn the_file_of_pairs_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pairs.yaml");
    let pairs = Examples::new().file_of_pairs();
    if std::env::var("PAIRS").is_ok() {
        fs::write(path, &pairs).expect("examples/pairs.yaml");
    } else {
        let written = fs::read_to_string(path).expect("examples/pairs.yaml");
        assert!(
            written == pairs,
            "examples/pairs.yaml is not up to date:\n{pairs}"
        );
    }
}

/// No example rejects an object because registries are away. Where a container may start with an
/// old image, the example's purpose is to use it.
#[test]
fn while_registries_are_away_no_example_rejects_and_few_use_old_images() {
    let examples = Examples::new();
    let mut survey = survey();
    let mut using = BTreeSet::new();
    for policy in &examples.policies {
        let policies = examples.with_first(policy);
        for request in examples.selected(&[policy]) {
            let [health, away] =
                [None, Some(&AWAY)].map(|incident| admit(&policies, request, incident));
            assert_eq!(away.is_ok(), health.is_ok(), "{}", policy.name);
            for stored in health.into_iter().chain(away) {
                if may_run_an_old_image(&mut survey, &request["object"], &stored) {
                    using.insert(file(policy));
                }
            }
        }
    }
    let expected = ["agent-stack-k8s-fresh", "air-gapped", "always-if-available"];
    assert_eq!(using, BTreeSet::from(expected));
}
