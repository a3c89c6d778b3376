//! The budgets of the module. Only figures that are the same on every machine are checked.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::pairs::HostileBudget;
use super::request_cost::RequestCost;
use super::scenarios::{ExpectedAnswer, Scenario, ScenarioTemplate};

/// The file with the budgets and the scenarios.
pub(crate) const FILE: &str = "xtask/budgets.yaml";

/// The contents of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budgets {
    /// The largest size of the annotated module.
    pub(crate) module_bytes: u64,
    /// The bytes of linear memory, at its peak, that each byte of the request may cost.
    memory_per_request_byte: u64,
    /// The bytes of linear memory that each byte that is added to the object may cost.
    memory_per_added_byte: u64,
    /// The bytes of linear memory that every request may use in addition.
    memory_bytes: u64,
    /// The largest allowed growth of an additional container's cost from small to large Pods, in per cent.
    growth_percent: u64,
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
        counted: &[(Scenario, RequestCost)],
    ) -> Vec<String> {
        let mut excesses = Vec::new();
        let mut limit = |what: &str, is: u64, allowed: u64, unit: &str| {
            if is > allowed {
                excesses.push(format!(
                    "{what}: {is} {unit}, at most {allowed} are allowed"
                ));
            }
        };
        limit("annotated module", module_bytes, self.module_bytes, "bytes");
        for (scenario, exact) in counted {
            let title = scenario.title();
            if let Some(instructions) = scenario.budget.instructions {
                limit(&title, exact.instructions, instructions, "instructions");
            }
            let memory = self.memory_per_request_byte * exact.request_bytes
                + self.memory_per_added_byte * exact.added_bytes
                + self.memory_bytes;
            limit(&title, exact.memory_bytes, memory, "bytes of memory");
        }
        for (answer, [small, large]) in growths(counted) {
            let allowed = small + small * self.growth_percent / 100;
            let what = format!("an additional container in the largest Pod, {answer:?}");
            limit(&what, large, allowed, "instructions");
        }
        for import in imports.iter().filter(|name| !name.starts_with("wapc.")) {
            excesses.push(format!(
                "import {import}: only waPC's functions are allowed"
            ));
        }
        excesses
    }
}

/// The instructions for an additional container, for each expected answer with at least three sizes of
/// Pods. The first number compares the smallest Pod with the second smallest. The second number
/// compares the second smallest Pod with the largest.
pub(crate) fn growths(counted: &[(Scenario, RequestCost)]) -> BTreeMap<ExpectedAnswer, [u64; 2]> {
    let mut costs: BTreeMap<ExpectedAnswer, BTreeMap<u64, u64>> = BTreeMap::new();
    for (scenario, exact) in counted {
        if let Some(containers) = scenario.containers {
            let costs = costs.entry(scenario.answer).or_default();
            costs.insert(containers, exact.instructions);
        }
    }
    costs
        .into_iter()
        .filter_map(|(answer, costs)| {
            let costs: Vec<(u64, u64)> = costs.into_iter().collect();
            let slope = |(few, less): (u64, u64), (many, more): (u64, u64)| {
                more.saturating_sub(less) / (many - few)
            };
            match costs[..] {
                [few, more, .., most] => Some((answer, [slope(few, more), slope(more, most)])),
                _ => None,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::scenarios::ScenarioBudget;
    use crate::host::request::AdmissionRequest;
    use crate::host::settings::Settings;

    fn budgets() -> Budgets {
        Budgets {
            module_bytes: 1000,
            memory_per_request_byte: 8,
            memory_per_added_byte: 5,
            memory_bytes: 90,
            growth_percent: 10,
            hostile: HostileBudget::default(),
            scenarios: Vec::new(),
        }
    }

    fn counted(containers: Option<u64>, instructions: u64, memory: u64) -> (Scenario, RequestCost) {
        let scenario = Scenario {
            name: "Pod".to_owned(),
            containers,
            answer: ExpectedAnswer::Accepted,
            budget: ScenarioBudget {
                instructions: Some(2_000_000),
                times: None,
            },
            settings: Settings::new(),
            request: AdmissionRequest::new(),
        };
        let exact = RequestCost {
            request_bytes: 10,
            added_bytes: 2,
            instructions,
            memory_bytes: memory,
        };
        (scenario, exact)
    }

    #[test]
    fn figures_above_their_budget_are_reported() {
        for (bytes, import, instructions, memory, expected) in [
            (1000, "wapc.x", 2_000_000, 180, None),
            (
                1001,
                "wapc.x",
                1,
                1,
                Some("annotated module: 1001 bytes, at most 1000"),
            ),
            (1, "wasi.x", 1, 1, Some("import wasi.x")),
            (
                1,
                "wapc.x",
                2_000_001,
                1,
                Some("Pod, accepted: 2000001 instructions"),
            ),
            (
                1,
                "wapc.x",
                1,
                181,
                Some("Pod, accepted: 181 bytes of memory, at most 180"),
            ),
        ] {
            let counted = [counted(None, instructions, memory)];
            let excesses = budgets().excesses(bytes, &[import.to_owned()], &counted);
            assert_eq!(
                excesses.len(),
                usize::from(expected.is_some()),
                "{excesses:?}"
            );
            assert!(
                excesses
                    .iter()
                    .all(|text| text.starts_with(expected.unwrap_or_default()))
            );
        }
    }

    #[test]
    fn growth_that_is_not_linear_is_reported() {
        for (costs, fine) in [
            ([1_000, 10_000, 100_000], true),
            ([1_000, 10_000, 109_000], true),
            ([1_000, 10_000, 110_000], false),
            ([100, 10_000, 1_000_000], false),
        ] {
            let counted: Vec<_> = [10, 100, 1000]
                .into_iter()
                .zip(costs)
                .map(|(count, cost)| counted(Some(count), cost, 1))
                .collect();
            let excesses = budgets().excesses(1, &[], &counted);
            assert_eq!(excesses.is_empty(), fine, "{costs:?}: {excesses:?}");
        }
    }

    #[test]
    fn the_committed_file_can_be_read() {
        let budgets = Budgets::read(&crate::workspace::root()).expect("budgets");
        assert_eq!(budgets.module_bytes, 800 * 1024);
        assert!(!budgets.scenarios.is_empty());
    }
}
