//! The tables of examples/README.md, and examples/pairs.yaml for the chart. They are worked out on
//! the corpus, with the module's answers. The patterns of the examples name invented registries, so
//! the tables take each pattern for `*`.
//!
//! `TABLES=write cargo test --profile xtask --test policy tables` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::repository::survey;
use consistent_pull_policy_survey::{AdmissionPolicy, Fate, Incident, Moment, Start, Survey};
use serde_json::{Value, json};

use super::admission::{AWAY, admit, selects};
use super::corpus::requests;
use super::{FIRST, file};

/// What the tables are made of.
struct Tables {
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

impl Tables {
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
        let title = "# The examples that must not stand together. tests/examples/tables.rs writes this file.\n";
        title.to_owned() + &conflicts.map(line).collect::<String>()
    }

    /// What becomes of the objects that a policy accepts, if there is this incident at their
    /// creation.
    fn counts(&self, policy: &AdmissionPolicy, at_creation: Option<&Incident>) -> Counts {
        let policies = self.with_first(policy);
        let mut survey = survey();
        let mut counts = Counts::default();
        for request in self.selected(&[policy]) {
            let in_health = admit(&policies, request, None);
            let outcome = admit(&policies, request, at_creation);
            assert_eq!(
                outcome.is_ok(),
                in_health.is_ok(),
                "{} rejects while a registry is away",
                policy.name
            );
            if let (Ok(before), Ok(now)) = (in_health, outcome) {
                let written = &request["object"];
                counts.objects += 1;
                counts.waiting += usize::from(waits(&mut survey, &now, &before));
                counts.waiting_as_written += usize::from(waits(&mut survey, written, written));
                counts.old += usize::from(may_run_an_old_image(&mut survey, written, &now));
            }
        }
        counts
    }

    fn table_of_incidents(&self) -> String {
        let columns = [
            "file",
            "objects",
            "policy server away",
            "wait while the registries are away",
            "after a reboot",
            "may run an old image",
        ];
        let rows = self.policies.iter().map(|policy| {
            let is_called = policy.spec["failurePolicy"] != "Ignore";
            let [away, reboot] = [Some(&AWAY), None].map(|incident| self.counts(policy, incident));
            vec![
                file(policy).to_owned(),
                reboot.objects.to_string(),
                if is_called {
                    "rejected, tried again"
                } else {
                    "created as written"
                }
                .to_owned(),
                away.told(),
                reboot.told(),
                away.old.max(reboot.old).to_string(),
            ]
        });
        table(&columns, rows)
    }
}

/// The objects that a policy accepts.
#[derive(Default)]
struct Counts {
    objects: usize,
    /// Those that wait while all registries are away, on a node on which the same objects ran
    /// before: as they are stored, and as their authors wrote them.
    waiting: usize,
    waiting_as_written: usize,
    /// Those in which a container may run an old image because of the policy.
    old: usize,
}

impl Counts {
    fn told(&self) -> String {
        let (now, without) = (self.waiting, self.waiting_as_written);
        if now == without {
            now.to_string()
        } else {
            format!("{now} (without the file {without})")
        }
    }
}

/// Whether an object waits while all registries are away, on a node on which the object `before`
/// ran.
fn waits(survey: &mut Survey, object: &Value, before: &Value) -> bool {
    let (_, end) = survey.start(object, before, &AWAY, &mut Native);
    end.fate != Fate::Starts
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

fn table(columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let title = line(&columns.iter().map(ToString::to_string).collect::<Vec<_>>());
    let rule = line(&vec!["---".to_owned(); columns.len()]);
    let rows: Vec<Vec<String>> = rows.collect();
    assert!(rows.len() > 3, "{rows:?}");
    [title, rule]
        .into_iter()
        .chain(rows.iter().map(|row| line(row)))
        .collect()
}

#[test]
fn the_tables_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let read = |name| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let readme = read("README.md");
    let tables = Tables::new();
    let start = "<!-- table: incidents -->\n";
    let (before, rest) = readme.split_once(start).expect("the start of a table");
    let (_, after) = rest
        .split_once("\n<!-- end -->")
        .expect("the end of a table");
    let table = tables.table_of_incidents();
    let readme = format!("{before}{start}{table}\n<!-- end -->{after}");
    for (name, text) in [
        ("README.md", readme),
        ("pairs.yaml", tables.file_of_pairs()),
    ] {
        if std::env::var("TABLES").is_ok() {
            fs::write(folder.join(name), &text).expect(name);
        } else {
            assert!(
                read(name) == text,
                "examples/{name} is not up to date:\n{text}"
            );
        }
    }
}
