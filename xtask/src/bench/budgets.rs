//! The budgets of the module. Only figures that are the same on every machine are checked.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::pairs::RequestBudget;
use super::scenarios::{Scenario, ScenarioTemplate};

/// The file with the budgets and the scenarios.
pub(crate) const FILE: &str = "xtask/budgets.yaml";

/// The contents of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budgets {
    /// The largest size of the annotated module.
    pub(crate) module_bytes: u64,
    /// The budget of every request.
    pub(crate) requests: RequestBudget,
    /// The most by which the cost of an additional container may grow ([`growths`]), in per cent.
    container_growth_percent: u64,
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
        let instructions = scenarios.iter().filter_map(|one| {
            let (is, most) = (one.cost.instructions, one.budget?.instructions);
            Some((one.title.as_str(), is, most, "instructions"))
        });
        let figures = [size].into_iter().chain(instructions);
        let excesses = figures.filter(|(_, is, most, _)| is > most);
        let ordinary = self.requests.of_ordinary_requests();
        let requests = scenarios
            .iter()
            .flat_map(|one| ordinary.excesses(&one.title, &one.cost, 0));
        let percent = self.container_growth_percent;
        let grown = growths(scenarios)
            .into_iter()
            .filter(|(_, [small, large])| *large * 100 > small * (100 + percent));
        let foreign = imports.iter().filter(|name| !name.starts_with("wapc."));
        excesses
            .map(|(what, is, most, unit)| {
                format!("{what}: {is} {unit}, at most {most} are allowed")
            })
            .chain(requests)
            .chain(grown.map(|(what, _)| format!("{what}: at most {percent} % more are allowed")))
            .chain(foreign.map(|name| format!("import {name}: only waPC's functions are allowed")))
            .collect()
    }
}

/// The two costs of an additional container, in a sentence and as numbers, for accepted and for repaired Pods: from
/// the smallest number of containers to the second, and from the second to the largest.
pub(crate) fn growths(scenarios: &[Scenario]) -> Vec<(String, [u64; 2])> {
    let growth = |answer| {
        let sized = scenarios.iter().filter(|one| one.answer == answer);
        let sized = sized.filter_map(|one| Some((one.containers?, one.cost.instructions)));
        let [few, more, most] = sized.collect::<Vec<_>>()[..] else {
            return None;
        };
        let of_one = |small: (u64, u64), large: (u64, u64)| {
            large.1.saturating_sub(small.1) / (large.0 - small.0)
        };
        let costs = [of_one(few, more), of_one(more, most)];
        let sentence = format!(
            "an additional container, {answer}: {} instructions up to {} containers, {} up to {}",
            costs[0], more.0, costs[1], most.0,
        );
        Some((sentence, costs))
    };
    ["accepted", "repaired"]
        .into_iter()
        .filter_map(growth)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::request_cost::RequestCost;
    use crate::host::request::AdmissionRequest;
    use crate::host::settings::Settings;

    fn scenario(containers: u64, instructions: u64, memory_bytes: u64) -> Scenario {
        Scenario {
            title: "Pod".to_owned(),
            answer: "repaired",
            containers: Some(containers),
            budget: None,
            settings: Settings::new(),
            request: AdmissionRequest::new(),
            cost: RequestCost {
                request_bytes: 1_000_000,
                instructions,
                memory_bytes,
                ..RequestCost::default()
            },
        }
    }

    #[test]
    fn figures_above_their_budget_are_reported() {
        let budgets = Budgets::read(&crate::workspace::root()).expect("budgets");
        assert_eq!(budgets.module_bytes, 800 * 1024);
        // Without three sizes, no growth is checked.
        let sizes = budgets.scenarios.iter().filter_map(|one| one.containers);
        assert_eq!(sizes.collect::<Vec<_>>(), [10, 100, 1_000]);
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
    #[test]
    fn a_container_that_costs_more_in_a_larger_pod_is_reported() {
        let budgets = Budgets::read(&crate::workspace::root()).expect("budgets");
        for (of_one, is_reported) in [
            (10_000, false),
            (11_000, false),
            (11_001, true),
            (1_000, false),
        ] {
            let costs = [
                (10, 101_000),
                (100, 1_001_000),
                (1_000, 1_001_000 + 900 * of_one),
            ];
            let scenarios = costs.map(|(containers, cost)| scenario(containers, cost, 1));
            let excesses = budgets.excesses(1, &[], &scenarios);
            let expected = format!(
                "an additional container, repaired: 10000 instructions up to 100 containers, {of_one} up to 1000: \
                 at most 10 % more are allowed"
            );
            let expected = is_reported.then_some(expected);
            assert_eq!(excesses, Vec::from_iter(expected));
        }
    }

    #[test]
    fn the_memory_of_an_ordinary_request_is_limited() {
        let budgets = Budgets::read(&crate::workspace::root()).expect("budgets");
        let most = 8 * 1_000_000 + 2 * 1024 * 1024;
        for (memory, expected) in [(most, 0), (most + 1, 1)] {
            let excesses = budgets.excesses(1, &[], &[scenario(1, 1, memory)]);
            assert_eq!(excesses.len(), expected, "{excesses:?}");
        }
    }
}
