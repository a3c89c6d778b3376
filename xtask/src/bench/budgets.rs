//! The budgets of the module. Only figures that are the same on every machine are checked.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::pairs::HostileBudget;
use super::scenarios::{Scenario, ScenarioTemplate};

/// The file with the budgets and the scenarios.
pub(crate) const FILE: &str = "xtask/budgets.yaml";

/// The contents of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budgets {
    /// The largest size of the annotated module.
    pub(crate) module_bytes: u64,
    /// The budget of hostile requests.
    pub(crate) hostile: HostileBudget,
    /// The scenarios that are measured.
    pub(crate) scenarios: Vec<ScenarioTemplate>,
}

impl Budgets {
    /// Reads the file.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let path = root.join(FILE);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        yaml_serde::from_str(&text).with_context(|| format!("cannot read {}", path.display()))
    }

    /// A sentence for each figure that exceeds its budget, and for each import that is not waPC's.
    pub(crate) fn excesses(
        &self,
        module_bytes: u64,
        imports: &[String],
        scenarios: &[Scenario],
    ) -> Vec<String> {
        let size = ("annotated module", module_bytes, self.module_bytes, "bytes");
        let instructions = scenarios.iter().map(|one| {
            let (is, most) = (one.cost.instructions, one.budget.instructions);
            (one.title.as_str(), is, most, "instructions")
        });
        let figures = [size].into_iter().chain(instructions);
        let excesses = figures.filter(|(_, is, most, _)| is > most);
        let foreign = imports.iter().filter(|name| !name.starts_with("wapc."));
        excesses
            .map(|(what, is, most, unit)| {
                format!("{what}: {is} {unit}, at most {most} are allowed")
            })
            .chain(foreign.map(|name| format!("import {name}: only waPC's functions are allowed")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_above_their_budget_are_reported() {
        let budgets = Budgets::read(&crate::workspace::root()).expect("budgets");
        assert_eq!(budgets.module_bytes, 800 * 1024);
        assert!(!budgets.scenarios.is_empty());
        for (bytes, import, expected) in [
            (800 * 1024, "wapc.x", None),
            (
                800 * 1024 + 1,
                "wapc.x",
                Some("annotated module: 819201 bytes, at most 819200"),
            ),
            (1, "wasi.x", Some("import wasi.x")),
        ] {
            let excesses = budgets.excesses(bytes, &[import.to_owned()], &[]);
            let reported = excesses.first().map_or("", String::as_str);
            assert!(
                reported.starts_with(expected.unwrap_or_default()),
                "{excesses:?}"
            );
            assert_eq!(
                excesses.len(),
                usize::from(expected.is_some()),
                "{excesses:?}"
            );
        }
    }
}
