//! Rows, as the files in `e2e-tests/rows` have them. `e2e-tests/rows/README.md` says what they
//! mean.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use consistent_pull_policy_promises::repository::{documents, files, path};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::notation::{lines, whole_digests, written_out};
use crate::registry::Image;

/// A row, with what its table says for all of its rows. A list means that the row holds for each of
/// its values.
#[derive(Clone, Debug)]
pub struct Row {
    /// The file and the line where the row begins.
    pub place: String,
    /// Its keys, with those of its table.
    pub(crate) given: Value,
}

/// What a case of a row sends.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Given {
    pub(crate) kind: Option<String>,
    pub(crate) pod: Option<String>,
    pub(crate) review: Option<String>,
    pub(crate) old: Option<String>,
    pub(crate) preset: Option<String>,
    pub(crate) settings: Value,
    pub(crate) mode: Option<String>,
    pub(crate) set: Edits,
    pub(crate) request: Edits,
    pub(crate) registry: BTreeMap<String, Image>,
}

impl Given {
    /// The keys whose values may be lists, so that a row has several cases.
    pub(crate) const EACH: [&str; 10] = [
        "review", "kind", "pod", "old", "set", "request", "registry", "preset", "settings", "mode",
    ];
}

/// Values by their path.
pub(crate) type Edits = BTreeMap<String, Value>;

/// Whether a line of a row names a finding or a failed lookup, and does not quote a whole sentence.
pub(crate) fn is_short(line: &str) -> bool {
    let first = line
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_start_matches("× ");
    let first = first.split(' ').next().unwrap_or_default();
    is_rule(first) || first == "lookup" || line.contains(" …")
}

/// Whether a text is the id of a rule: each rule has a file of rows.
pub(crate) fn is_rule(text: &str) -> bool {
    path(&format!("e2e-tests/rows/{text}.yaml")).is_file()
}

/// The keys of a row, and `rows` of a table.
const KEYS: [&str; 23] = [
    "rows",
    "review",
    "kind",
    "pod",
    "old",
    "set",
    "request",
    "registry",
    "preset",
    "settings",
    "mode",
    "after",
    "has",
    "rejected",
    "code",
    "warned",
    "annotated",
    "findings",
    "changes",
    "record",
    "lookups",
    "asked",
    "invalid",
];

impl Row {
    /// The name of the row's file, without the folder.
    #[must_use]
    pub fn file(&self) -> &str {
        let file = self.place.rsplit('/').next().unwrap_or_default();
        file.split(':').next().unwrap_or_default()
    }

    /// Whether the settings of this row are invalid.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.given.get("invalid").is_some()
    }

    /// The captured reviews that this row sends.
    #[must_use]
    pub fn reviews(&self) -> Vec<&str> {
        lines(&self.given["review"])
    }
}

/// The rows of all files.
///
/// # Errors
/// If a file is no stream of tables, or if a row has an unknown key.
pub fn rows() -> Result<Vec<Row>> {
    let files = files("e2e-tests/rows", ".yaml");
    let rows: Result<Vec<Vec<Row>>> = files.iter().map(|(name, text)| read(name, text)).collect();
    Ok(rows?.concat())
}

fn read(name: &str, text: &str) -> Result<Vec<Row>> {
    let name = format!("{name}.yaml");
    // YAML's reader tells no lines. Each row begins with `- ` at the start of a line, and no other
    // line does.
    let starts = text
        .lines()
        .zip(1..)
        .filter(|(line, _)| line.starts_with("- "));
    let mut places = starts.map(|(_, number)| format!("e2e-tests/rows/{name}:{number}"));
    let mut rows = Vec::new();
    for table in documents(&whole_digests(text)) {
        let mut table = written_out(&table);
        let Value::Array(list) = table["rows"].take() else {
            bail!("a table of {name} has no list `rows`");
        };
        for row in list {
            let Some(place) = places.next() else {
                bail!("a row of {name} doesn't begin with `- `");
            };
            let given = merged(table.clone(), row);
            let mut keys = given.as_object().into_iter().flat_map(Map::keys);
            if let Some(unknown) = keys.find(|key| !KEYS.contains(&key.as_str())) {
                bail!("{place}: a row has no key {unknown}, but {KEYS:?}");
            }
            rows.push(Row { place, given });
        }
    }
    let other = places.next();
    ensure!(other.is_none(), "{other:?} begins with `- `, and is no row");
    Ok(rows)
}

/// `base` with the values of `row`. Objects are merged, and each object of a list is merged with
/// `base`.
pub(crate) fn merged(base: Value, row: Value) -> Value {
    match (base, row) {
        (Value::Object(mut base), Value::Object(row)) => {
            for (key, value) in row {
                let before = base.remove(&key).unwrap_or_default();
                base.insert(key, merged(before, value));
            }
            base.into()
        }
        (base @ Value::Object(_), Value::Array(row)) => row
            .into_iter()
            .map(|value| merged(base.clone(), value))
            .collect(),
        (_, row) => row,
    }
}
