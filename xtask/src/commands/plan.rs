//! `cargo xtask plan`: lists what this policy would do to each of many objects, such as all Pods of
//! a cluster. The playground's plan has the same columns.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use crate::commands::outcome::{AuditEntry, Outcome, object_kind, object_name};
use crate::host::capabilities::nothing_granted;
use crate::host::manifests::RequestsFromManifests;
use crate::host::policy_module::{Engine, PolicyModule};
use crate::host::request::AdmissionRequest;
use crate::host::response::AdmissionResponse;
use crate::host::settings::{Settings, read_settings};
use crate::terminal::{self, table};
use crate::workspace::{ANNOTATED_POLICY, module_or};

/// Lists what this policy would do to many objects: kubectl get pods -A -o json | cargo xtask plan
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File with the policy's settings, in YAML or JSON
    #[arg(short, long, value_name = "PATH")]
    settings_path: Option<PathBuf>,
    /// The policy's settings in JSON
    #[arg(long, value_name = "VALUE", conflicts_with = "settings_path")]
    settings_json: Option<String>,
    /// The format of the plan; the table leaves out objects that are allowed unchanged
    #[arg(short, long, value_enum, default_value_t = PlanFormat::Table)]
    output: PlanFormat,
    /// The policy's module
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// Files with objects in YAML or JSON, or folders with such files [default: standard input]
    paths: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PlanFormat {
    Table,
    Csv,
    Json,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let settings = read_settings(args.settings_path.as_deref(), args.settings_json.as_deref())?;
    let path = module_or(args.module.as_deref(), ANNOTATED_POLICY)?;
    let module = PolicyModule::load(&path, Engine::FASTEST, None)?;
    let validation = module.judge_settings(&settings)?;
    ensure!(
        validation.valid,
        "Provided settings are not valid: {}",
        validation.message.unwrap_or_default()
    );
    if makes_lookups(&settings) {
        eprintln!("WARN a plan asks no registry: each lookup counts as one that the host refuses");
    }
    let input = read_objects(&args.paths)?;
    let rows = input
        .requests
        .iter()
        .map(|request| {
            let response = module.evaluate(&nothing_granted(), &settings, request)?;
            Ok(PlanRow::of(request, &response))
        })
        .collect::<Result<Vec<PlanRow>>>()?;
    terminal::print(&match args.output {
        PlanFormat::Table => plan_table(&rows, input.others, terminal::width()),
        PlanFormat::Csv => csv(&rows),
        PlanFormat::Json => {
            serde_json::to_string_pretty(&rows).context("cannot write the plan")? + "\n"
        }
    })
}

/// Whether these settings have a `lookup` that is not `Off`. The setting `maxLookups` is ignored.
fn makes_lookups(settings: &Settings) -> bool {
    let is_on = |holder: &Value| {
        let lookup = holder.get("lookup").and_then(Value::as_str);
        lookup.is_some_and(|lookup| lookup != "Off")
    };
    settings.get("registry").is_some_and(|registry| {
        let overrides = registry.get("overrides").and_then(Value::as_array);
        is_on(registry) || overrides.is_some_and(|all| all.iter().any(is_on))
    })
}

fn read_objects(paths: &[PathBuf]) -> Result<RequestsFromManifests> {
    let mut input = RequestsFromManifests::default();
    if paths.is_empty() || paths == [Path::new("-")] {
        if io::stdin().is_terminal() {
            bail!(
                "name files or folders, or pipe a list: kubectl get pods -A -o json | cargo xtask plan"
            );
        }
        let text = io::read_to_string(io::stdin())
            .context("cannot read the objects from standard input")?;
        input.read(&text).context("in standard input")?;
        return Ok(input);
    }
    for path in paths {
        read_path(path, true, &mut input)?;
    }
    Ok(input)
}

/// Reads a file, or the files of a folder and its subfolders in the order of their names. A file that is
/// not `named` on the command line is read only if its extension is that of a manifest.
fn read_path(path: &Path, named: bool, input: &mut RequestsFromManifests) -> Result<()> {
    if path.is_dir() {
        let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries =
            entries.with_context(|| format!("cannot read folder {}", path.display()))?;
        entries.sort_by_key(fs::DirEntry::path);
        return entries
            .iter()
            .try_for_each(|entry| read_path(&entry.path(), false, input));
    }
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    if !named
        && !["yaml", "yml", "json"]
            .iter()
            .any(|name| extension == *name)
    {
        return Ok(());
    }
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    input
        .read(&text)
        .with_context(|| format!("in {}", path.display()))
}

/// A row of the plan: one object.
#[derive(Debug, PartialEq, Serialize)]
struct PlanRow {
    kind: String,
    namespace: String,
    name: String,
    outcome: Outcome,
    /// The rules with a finding or a change, in alphabetical order.
    rules: Vec<String>,
    /// The message of a rejection, or the warnings of another outcome. Without such a text, the changes.
    reason: String,
}

/// The name of every outcome, in the order of [`Outcome`], so that an outcome is an index of this list.
const OUTCOMES: [(Outcome, &str); 4] = [
    (Outcome::Rejected, "rejected"),
    (Outcome::Changed, "changed"),
    (Outcome::Warned, "warned"),
    (Outcome::Allowed, "allowed"),
];

const HEADER: [&str; 6] = ["kind", "namespace", "name", "outcome", "rules", "reason"];

impl PlanRow {
    fn of(request: &AdmissionRequest, response: &AdmissionResponse) -> Self {
        let [changes, findings] =
            ["changes", "findings"].map(|key| AuditEntry::read_all(response, key));
        let warnings = response.warnings.as_deref().unwrap_or_default();
        let outcome = Outcome::of(response);
        let status = response.status.as_ref();
        let reason = match outcome {
            Outcome::Rejected => status.and_then(|status| status.message.clone()),
            _ if !warnings.is_empty() => Some(warnings.join("; ")),
            _ => None,
        };
        let rules: BTreeSet<String> = changes
            .iter()
            .chain(&findings)
            .map(|entry| entry.rule.clone())
            .collect();
        let described = || changes.iter().map(describe_change).collect::<Vec<_>>();
        Self {
            kind: object_kind(request),
            namespace: request.namespace.clone().unwrap_or_default(),
            name: object_name(request),
            outcome,
            rules: rules.into_iter().collect(),
            reason: reason.unwrap_or_else(|| described().join("; ")),
        }
    }

    fn cells(&self) -> [String; 6] {
        [
            self.kind.clone(),
            self.namespace.clone(),
            self.name.clone(),
            OUTCOMES[self.outcome as usize].1.to_owned(),
            self.rules.join(", "),
            self.reason.clone(),
        ]
    }

    /// The cells in three columns, so that the reason has enough room on a terminal.
    fn narrow_cells(&self) -> [String; 3] {
        let [kind, namespace, name, outcome, rules, reason] = self.cells();
        let slash = if namespace.is_empty() { "" } else { "/" };
        [
            format!("{kind}\n{namespace}{slash}{name}"),
            outcome,
            format!("{rules}\n{reason}"),
        ]
    }
}

fn describe_change(change: &AuditEntry) -> String {
    let [from, to] = [&change.from, &change.to].map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    format!("{}: {from} -> {to}", change.path)
}

/// A table of the objects, except those that are allowed without a change or a warning. Below the table
/// are the numbers of objects: for each outcome, of other kinds (`others`), and for each rule.
fn plan_table(rows: &[PlanRow], others: usize, width: Option<u16>) -> String {
    let mut shown: Vec<&PlanRow> = rows
        .iter()
        .filter(|row| row.outcome != Outcome::Allowed)
        .collect();
    shown.sort_by_key(|row| row.outcome);
    let mut text = match (shown.is_empty(), width) {
        (true, _) => String::new(),
        (false, None) => table(&HEADER, shown.iter().map(|row| row.cells()), None) + "\n\n",
        (false, width) => {
            let cells = shown.iter().map(|row| row.narrow_cells());
            table(&["object", "outcome", "reason"], cells, width) + "\n\n"
        }
    };
    let mut counts: Vec<String> = OUTCOMES
        .into_iter()
        .map(|(outcome, name)| {
            let count = rows.iter().filter(|row| row.outcome == outcome).count();
            format!("{count} {name}")
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
    let rules: Vec<String> = rules
        .iter()
        .map(|(rule, count)| format!("{count} {rule}"))
        .collect();
    if !rules.is_empty() {
        text.push_str(&rules.join(", "));
        text.push('\n');
    }
    text
}

/// The rows in the format of RFC 4180.
fn csv(rows: &[PlanRow]) -> String {
    let quoted = |cell: String| {
        if cell.contains([',', '"', '\r', '\n']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell
        }
    };
    let lines = rows.iter().map(|row| row.cells().map(quoted).join(","));
    let lines: Vec<String> = std::iter::once(HEADER.join(",")).chain(lines).collect();
    lines.join("\r\n") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(answer: Value) -> PlanRow {
        let mut input = RequestsFromManifests::default();
        let pod =
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"p-","namespace":"n"}}"#;
        input.read(pod).expect("a Pod");
        let request = &input.requests[0];
        let answer = serde_json::from_value(answer).expect("an answer");
        PlanRow::of(
            request,
            &AdmissionResponse::new("u".to_owned(), request.object.as_ref(), answer),
        )
    }

    #[test]
    fn a_row_has_outcome_rules_and_reason() {
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
    fn settings_that_make_lookups_are_recognised() {
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
            assert_eq!(makes_lookups(&settings), expected, "{settings:?}");
        }
    }

    #[test]
    fn the_formats_have_the_same_columns() {
        let rows = [
            row(json!({"accepted": true})),
            row(json!({"accepted": false, "message": "says \"no\", twice"})),
        ];
        assert_eq!(
            csv(&rows),
            "kind,namespace,name,outcome,rules,reason\r\nPod,n,p-*,allowed,,\r\n\
             Pod,n,p-*,rejected,,\"says \"\"no\"\", twice\"\r\n"
        );
        let narrow = plan_table(&rows, 0, Some(40));
        assert!(
            narrow.starts_with(
                "  object  outcome   reason\n  Pod     rejected\n  n/p-*             says \"no\", twice\n"
            ),
            "{narrow}"
        );
        let table = plan_table(&rows, 2, None);
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
    fn files_and_folders_are_read_and_errors_name_them() {
        let folder = std::env::temp_dir().join(format!("plan-{}", std::process::id()));
        fs::create_dir_all(folder.join("deep")).expect("a folder");
        let pod = "{apiVersion: v1, kind: Pod, metadata: {name: x}}";
        for (name, text) in [("b.yaml", pod), ("deep/a.yml", pod), ("notes.md", "a: [")] {
            fs::write(folder.join(name), text).expect("a file");
        }
        assert_eq!(
            read_objects(std::slice::from_ref(&folder))
                .expect("objects")
                .requests
                .len(),
            2
        );
        let error = read_objects(&[folder.join("notes.md")]).expect_err("no manifest");
        assert!(format!("{error:#}").contains("notes.md"), "{error:#}");
        let error = read_objects(&[folder.join("nothing.yaml")]).expect_err("no file");
        assert!(format!("{error:#}").contains("nothing.yaml"), "{error:#}");
        fs::remove_dir_all(folder).expect("removed");
    }
}
