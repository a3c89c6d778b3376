//! `cargo xtask plan`: what the policy would do to each object of a list, such as all Pods of a
//! cluster, with the columns that the playground has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{IsTerminal, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::objects::{self, Read};
use crate::host::request::AdmissionRequest;
use crate::host::response::AdmissionResponse;
use crate::host::settings::Settings;
use crate::host::{Engine, Module, nothing_granted, settings};
use crate::terminal::{self, arranged};
use crate::workspace::{self, ANNOTATED_POLICY};

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File with the policy's settings, in YAML or JSON
    #[arg(short, long, value_name = "PATH")]
    settings_path: Option<PathBuf>,
    /// The policy's settings in JSON
    #[arg(long, value_name = "VALUE", conflicts_with = "settings_path")]
    settings_json: Option<String>,
    /// How the plan is written; the table leaves out what is allowed unchanged
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
    /// The policy's module
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// Files with objects in YAML or JSON, or folders of them; standard input where there are none
    paths: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Output {
    Table,
    Csv,
    Json,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let settings = settings::read(args.settings_path.as_deref(), args.settings_json.as_deref())?;
    let path = args
        .module
        .clone()
        .unwrap_or_else(|| workspace::root().join(ANNOTATED_POLICY));
    if !path.is_file() {
        bail!(
            "there is no {}; `cargo xtask build` makes it",
            path.display()
        );
    }
    let module = Module::load(&path, engine(), None)?;
    let validation = module.judge_settings(&settings)?;
    if !validation.valid {
        bail!(
            "Provided settings are not valid: {}",
            validation.message.unwrap_or_default()
        );
    }
    if looks_up(&settings) {
        eprintln!("WARN a plan asks no registry: each lookup counts as one that the host refuses");
    }
    let read = objects(&args.paths)?;
    let rows = read
        .requests
        .iter()
        .map(|request| {
            Ok(Row::of(
                request,
                &module.evaluate(&nothing_granted(), &settings, request)?,
            ))
        })
        .collect::<Result<Vec<Row>>>()?;
    terminal::print(&match args.output {
        Output::Table => table(&rows, read.others, terminal::width()),
        Output::Csv => csv(&rows),
        Output::Json => {
            serde_json::to_string_pretty(&rows).context("cannot write the plan")? + "\n"
        }
    })
}

/// Whether these settings make the policy ask registries.
fn looks_up(settings: &Settings) -> bool {
    let on = |holder: &Value| {
        let lookup = holder.get("lookup").and_then(Value::as_str);
        lookup.is_some_and(|lookup| lookup != "Off")
    };
    settings.get("registry").is_some_and(|registry| {
        let overrides = registry.get("overrides").and_then(Value::as_array);
        on(registry) || overrides.is_some_and(|all| all.iter().any(on))
    })
}

/// What is compiled runs a list sooner; what is interpreted starts sooner, and is always there.
fn engine() -> Engine {
    #[cfg(feature = "wasmtime")]
    return Engine::Compiler;
    #[cfg(not(feature = "wasmtime"))]
    Engine::default()
}

fn objects(paths: &[PathBuf]) -> Result<Read> {
    let mut read = Read::default();
    if paths.is_empty() || paths == [Path::new("-")] {
        let mut stdin = std::io::stdin();
        if stdin.is_terminal() {
            bail!(
                "name files or folders, or pipe a list: kubectl get pods -A -o json | cargo xtask plan"
            );
        }
        let mut text = String::new();
        stdin
            .read_to_string(&mut text)
            .context("cannot read the objects from standard input")?;
        objects::read(&text, &mut read).context("in standard input")?;
        return Ok(read);
    }
    for path in paths {
        add(path, true, &mut read)?;
    }
    Ok(read)
}

/// Reads a file, or every file with manifests below a folder, in the order of their names.
fn add(path: &Path, named: bool, read: &mut Read) -> Result<()> {
    if path.is_dir() {
        let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries =
            entries.with_context(|| format!("cannot read folder {}", path.display()))?;
        entries.sort_by_key(fs::DirEntry::path);
        return entries
            .iter()
            .try_for_each(|entry| add(&entry.path(), false, read));
    }
    let manifest = path.extension().is_some_and(|name| {
        ["yaml", "yml", "json"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    });
    if !named && !manifest {
        return Ok(());
    }
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    objects::read(&text, read).with_context(|| format!("in {}", path.display()))
}

/// What becomes of an object. The order is that of the table: the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Rejected,
    Changed,
    Warned,
    Allowed,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Rejected, Self::Changed, Self::Warned, Self::Allowed];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Changed => "changed",
            Self::Warned => "warned",
            Self::Allowed => "allowed",
        }
    }
}

/// A row of the plan.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    kind: String,
    namespace: String,
    name: String,
    outcome: Outcome,
    /// The rules that found or changed something, in alphabetical order.
    rules: Vec<String>,
    /// The message of a rejection; else the warnings; else what was changed.
    reason: String,
}

/// An element of the audit annotations `changes` and `findings`.
#[derive(Deserialize)]
struct Entry {
    rule: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    from: Value,
    #[serde(default)]
    to: Value,
}

impl Row {
    fn of(request: &AdmissionRequest, response: &AdmissionResponse) -> Self {
        let list = |key: &str| -> Vec<Entry> {
            let annotations: Option<&BTreeMap<String, String>> =
                response.audit_annotations.as_ref();
            annotations
                .and_then(|annotations| annotations.get(key))
                .and_then(|json| serde_json::from_str(json).ok())
                .unwrap_or_default()
        };
        let (changes, findings) = (list("changes"), list("findings"));
        let warnings = response.warnings.as_deref().unwrap_or_default();
        let outcome = if !response.allowed {
            Outcome::Rejected
        } else if response.patch.is_some() {
            Outcome::Changed
        } else if !warnings.is_empty() {
            Outcome::Warned
        } else {
            Outcome::Allowed
        };
        let message = response
            .status
            .as_ref()
            .and_then(|status| status.message.clone());
        let reason = match outcome {
            Outcome::Rejected => message.unwrap_or_default(),
            _ if !warnings.is_empty() => warnings.join("; "),
            _ => {
                let told: Vec<String> = changes.iter().map(Entry::told).collect();
                told.join("; ")
            }
        };
        let rules: BTreeSet<&str> = changes
            .iter()
            .chain(&findings)
            .map(|entry| entry.rule.as_str())
            .collect();
        let metadata = request.object.as_ref().or(request.old_object.as_ref());
        let metadata = |key: &str| {
            metadata?
                .get("metadata")?
                .get(key)?
                .as_str()
                .map(str::to_owned)
        };
        let part = request
            .sub_resource
            .as_deref()
            .filter(|part| !part.is_empty());
        Self {
            kind: part.map_or(request.kind.kind.clone(), |part| {
                format!("{}/{part}", request.kind.kind)
            }),
            namespace: request.namespace.clone().unwrap_or_default(),
            name: metadata("name")
                .or_else(|| request.name.clone())
                .or_else(|| Some(metadata("generateName")? + "*"))
                .unwrap_or_else(|| "(no name)".to_owned()),
            outcome,
            rules: rules.into_iter().map(str::to_owned).collect(),
            reason,
        }
    }

    fn cells(&self) -> [String; 6] {
        [
            self.kind.clone(),
            self.namespace.clone(),
            self.name.clone(),
            self.outcome.as_str().to_owned(),
            self.rules.join(", "),
            self.reason.clone(),
        ]
    }
}

impl Row {
    fn narrow_cells(&self) -> [String; 3] {
        let [kind, namespace, name, outcome, rules, reason] = self.cells();
        let name = if namespace.is_empty() {
            name
        } else {
            format!("{namespace}/{name}")
        };
        [
            format!("{kind}\n{name}"),
            outcome,
            format!("{rules}\n{reason}"),
        ]
    }
}

impl Entry {
    fn told(&self) -> String {
        let word = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        format!("{}: {} -> {}", self.path, word(&self.from), word(&self.to))
    }
}

const HEADER: [&str; 6] = ["kind", "namespace", "name", "outcome", "rules", "reason"];

/// The rows that are worth a look, and how many there are of each. Where there is a width to keep, the
/// cells that belong together share a column, as a reason needs room.
fn table(rows: &[Row], others: usize, width: Option<u16>) -> String {
    let mut shown: Vec<&Row> = rows
        .iter()
        .filter(|row| row.outcome != Outcome::Allowed)
        .collect();
    shown.sort_by_key(|row| row.outcome);
    let mut text = String::new();
    if !shown.is_empty() {
        text = if width.is_some() {
            let cells = shown
                .iter()
                .map(|row| row.narrow_cells().to_vec())
                .collect();
            arranged(&["object", "outcome", "reason"], cells, width)
        } else {
            let cells = shown.iter().map(|row| row.cells().to_vec()).collect();
            arranged(&HEADER, cells, None)
        } + "\n\n";
    }
    let mut counts: Vec<String> = Outcome::ALL
        .into_iter()
        .map(|outcome| {
            let count = rows.iter().filter(|row| row.outcome == outcome).count();
            format!("{count} {}", outcome.as_str())
        })
        .collect();
    if others > 0 {
        counts.push(format!("{others} that the policy is not asked about"));
    }
    text.push_str(&counts.join(", "));
    text.push('\n');
    let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
    for rule in rows.iter().flat_map(|row| &row.rules) {
        *rules.entry(rule).or_default() += 1;
    }
    if !rules.is_empty() {
        let rules: Vec<String> = rules
            .iter()
            .map(|(rule, count)| format!("{count} {rule}"))
            .collect();
        text.push_str(&rules.join(", "));
        text.push('\n');
    }
    text
}

/// RFC 4180.
fn csv(rows: &[Row]) -> String {
    let mut text = HEADER.join(",") + "\r\n";
    for row in rows {
        let cells = row.cells().map(|cell| {
            if cell.contains([',', '"', '\r', '\n']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell
            }
        });
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(answer: Value) -> Row {
        let mut read = Read::default();
        let pod =
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"p-","namespace":"n"}}"#;
        objects::read(pod, &mut read).expect("a Pod");
        let request = &read.requests[0];
        let answer = serde_json::from_value(answer).expect("an answer");
        Row::of(
            request,
            &AdmissionResponse::new("u".to_owned(), request.object.as_ref(), answer),
        )
    }

    #[test]
    fn a_row_tells_outcome_rules_and_reason() {
        let changes = r#"[{"rule":"pull-once","path":"spec.a","from":"Always","to":"IfNotPresent"},{"rule":"missing-check","path":"spec.b","from":null,"to":{"name":"c"}}]"#;
        let findings = r#"[{"rule":"weak-check","path":"spec.a"}]"#;
        for (answer, outcome, rules, reason) in [
            (json!({"accepted": true}), Outcome::Allowed, &[][..], ""),
            (
                json!({"accepted": true, "warnings": ["a", "b"], "audit_annotations": {"findings": findings}}),
                Outcome::Warned,
                &["weak-check"],
                "a; b",
            ),
            (
                json!({"accepted": true, "mutated_object": {}, "audit_annotations": {"changes": changes, "findings": findings}}),
                Outcome::Changed,
                &["missing-check", "pull-once", "weak-check"],
                r#"spec.a: Always -> IfNotPresent; spec.b: null -> {"name":"c"}"#,
            ),
            (
                json!({"accepted": false, "message": "no", "code": 400, "warnings": ["w"]}),
                Outcome::Rejected,
                &[],
                "no",
            ),
        ] {
            let got = row(answer);
            assert_eq!(
                (got.kind.as_str(), got.namespace.as_str(), got.name.as_str()),
                ("Pod", "n", "p-*")
            );
            assert_eq!((got.outcome, got.reason.as_str()), (outcome, reason));
            assert_eq!(got.rules, rules);
        }
    }

    #[test]
    fn a_plan_says_when_it_ought_to_ask_a_registry() {
        for (settings, expected) in [
            (json!({}), false),
            (json!({"registry": null}), false),
            (
                json!({"registry": {"lookup": "Off", "overrides": []}}),
                false,
            ),
            (json!({"registry": {"lookup": false}}), false),
            (json!({"registry": {"lookup": "Pin"}}), true),
            (
                json!({"registry": {"overrides": [{"images": ["a"], "lookup": "Verify"}]}}),
                true,
            ),
        ] {
            let settings: Settings = serde_json::from_value(settings).expect("settings");
            assert_eq!(looks_up(&settings), expected, "{settings:?}");
        }
    }

    #[test]
    fn the_three_forms_have_the_same_columns() {
        let rows = [
            row(json!({"accepted": true})),
            row(json!({"accepted": false, "message": "says \"no\", twice"})),
        ];
        assert_eq!(
            csv(&rows),
            "kind,namespace,name,outcome,rules,reason\r\nPod,n,p-*,allowed,,\r\n\
             Pod,n,p-*,rejected,,\"says \"\"no\"\", twice\"\r\n"
        );
        let narrow = table(&rows, 0, Some(40));
        assert!(
            narrow.starts_with(
                "  object  outcome   reason\n  Pod     rejected\n  n/p-*             says \"no\", twice\n"
            ),
            "{narrow}"
        );
        let table = table(&rows, 2, None);
        assert!(
            table.starts_with("  kind  namespace  name  outcome   rules  reason"),
            "{table}"
        );
        assert!(
            table.ends_with(
                "1 rejected, 0 changed, 0 warned, 1 allowed, 2 that the policy is not asked about\n"
            ),
            "{table}"
        );
        let json = serde_json::to_value(&rows).expect("JSON");
        let keys: Vec<&String> = json[1].as_object().expect("a row").keys().collect();
        assert!(
            HEADER
                .iter()
                .all(|column| keys.iter().any(|key| key == column)),
            "{keys:?}"
        );
        assert_eq!(json[1]["outcome"], "rejected");
    }

    #[test]
    fn files_and_folders_are_read_and_named_in_errors() {
        let folder = std::env::temp_dir().join(format!("plan-{}", std::process::id()));
        fs::create_dir_all(folder.join("deep")).expect("a folder");
        let pod = "{apiVersion: v1, kind: Pod, metadata: {name: x}}";
        for (name, text) in [("b.yaml", pod), ("deep/a.yml", pod), ("notes.md", "a: [")] {
            fs::write(folder.join(name), text).expect("a file");
        }
        assert_eq!(
            objects(std::slice::from_ref(&folder))
                .expect("objects")
                .requests
                .len(),
            2
        );
        let error = objects(&[folder.join("notes.md")]).expect_err("no manifest");
        assert!(format!("{error:#}").contains("notes.md"), "{error:#}");
        let error = objects(&[folder.join("nothing.yaml")]).expect_err("no file");
        assert!(format!("{error:#}").contains("nothing.yaml"), "{error:#}");
        fs::remove_dir_all(folder).expect("removed");
    }
}
