//! The tables of examples/README.md, and examples/pairs.yaml for the chart. They are worked out on
//! the corpus, with the module's answers. The patterns of the examples name invented registries, so
//! the tables take each pattern for `*`.
//!
//! `TABLES=write cargo test --profile xtask --test policy tables` writes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::FIRST;
use super::admission::{Policy, Registries, admit};
use super::corpus::{Node, may_run_an_old_image, requests};

/// What the tables are made of.
struct Tables {
    /// The policies that the API server calls.
    policies: Vec<Policy>,
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
        policies.retain(|policy| !super::only_audits(policy));
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
            let selecting = policies.iter().filter(|policy| policy.selects(&request));
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
    fn selected(&self, policies: &[&Policy]) -> impl Iterator<Item = &Value> {
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
    fn with_first<'t>(&'t self, policy: &'t Policy) -> Vec<&'t Policy> {
        let first = FIRST.iter().find(|(second, _)| policy.file == *second);
        let is_first = |other: &&Policy| first.is_some_and(|(_, first)| other.file == *first);
        self.policies
            .iter()
            .filter(is_first)
            .chain([policy])
            .collect()
    }

    /// Whether two policies stand together on a request: alone and in both orders they accept it,
    /// the orders give the same object, and neither would change this object again.
    fn stand_together(&self, one: &Policy, other: &Policy, request: &Value) -> bool {
        let [one_alone, other_alone] = [one, other].map(|policy| self.with_first(policy));
        let outcome = |policies: &[&Policy]| admit(policies, request, Registries::Up);
        let result = outcome(&[&*one_alone, &other_alone].concat());
        let reversed = outcome(&[&*other_alone, &one_alone].concat());
        let (Ok(object), Ok(_)) = (&result, &reversed) else {
            return outcome(&one_alone).is_err() || outcome(&other_alone).is_err();
        };
        let mut again = request.clone();
        again["object"] = object.clone();
        let keeps = |policy| admit(&[policy], &again, Registries::Up) == result;
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
                        pairs.entry((&*one.file, &*other.file)).or_default();
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

    /// The objects that a policy accepts, if these registries are away at their creation.
    fn stored(&self, policy: &Policy, at_creation: Registries) -> Vec<Stored> {
        let policies = self.with_first(policy);
        let mut objects = Vec::new();
        for request in self.selected(&[policy]) {
            let in_health = admit(&policies, request, Registries::Up);
            let outcome = admit(&policies, request, at_creation);
            assert_eq!(
                outcome.is_ok(),
                in_health.is_ok(),
                "{} rejects while a registry is away",
                policy.name
            );
            if let (Ok(before), Ok(now)) = (in_health, outcome) {
                let written = request["object"].clone();
                objects.push(Stored {
                    written,
                    before,
                    now,
                });
            }
        }
        objects
    }

    /// The largest number of objects in which a container may run an old image because of the
    /// policy.
    fn with_old_images(&self, policy: &Policy) -> usize {
        let registries = [Registries::Up, Registries::Down];
        let is_old = |object: &Stored| may_run_an_old_image(&object.written, &object.now);
        let counts = registries.map(|registries| count(&self.stored(policy, registries), is_old));
        counts.into_iter().max().unwrap_or_default()
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
        // How many objects wait on a node on which the same objects ran before: those of this file,
        // or as their authors wrote them.
        let waiting = |policy, at_creation| {
            let objects = self.stored(policy, at_creation);
            let now = count(&objects, |object| {
                Node::that_ran(&object.before).waits(&object.now)
            });
            let without = count(&objects, |object| {
                Node::that_ran(&object.written).waits(&object.written)
            });
            if now == without {
                now.to_string()
            } else {
                format!("{now} (without the file {without})")
            }
        };
        let rows = self.policies.iter().map(|policy| {
            let is_called = policy.spec["failurePolicy"] != "Ignore";
            vec![
                policy.file.clone(),
                self.stored(policy, Registries::Up).len().to_string(),
                if is_called {
                    "rejected, tried again"
                } else {
                    "created as written"
                }
                .to_owned(),
                waiting(policy, Registries::Down),
                waiting(policy, Registries::Up),
                self.with_old_images(policy).to_string(),
            ]
        });
        table(&columns, rows)
    }
}

/// An object that a policy accepts.
struct Stored {
    /// As its author wrote it.
    written: Value,
    /// As it was stored before, when the registries were there.
    before: Value,
    /// As it is stored now.
    now: Value,
}

fn count(objects: &[Stored], belongs: impl Fn(&Stored) -> bool) -> usize {
    objects.iter().filter(|object| belongs(object)).count()
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
    let mut readme = read("README.md");
    let tables = Tables::new();
    for (name, table) in [("incidents", tables.table_of_incidents())] {
        let start = format!("<!-- table: {name} -->\n");
        let (before, rest) = readme.split_once(&start).expect("the start of a table");
        let (_, after) = rest
            .split_once("\n<!-- end -->")
            .expect("the end of a table");
        readme = format!("{before}{start}{table}\n<!-- end -->{after}");
    }
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
