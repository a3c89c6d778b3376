//! What the module may cost, checked by exact figures only: no test depends on how busy a machine is.
//!
//! The limits and the instructions of each scenario are in `xtask/budgets.json`, which is committed.
//! A change that costs more has to raise its figures in the same commit, where a reviewer sees it; one
//! that costs less has to lower them, or the next one could spend the difference unseen.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::measure::Exact;
use super::scenarios::{Axis, CONTAINERS, Scenario};

/// Where the budgets are.
pub(crate) const FILE: &str = "xtask/budgets.json";

/// What is told to whoever changed a figure.
const UPDATE: &str = "cargo xtask bench --update-baseline";

/// The committed budgets.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budgets {
    /// Fixed by the design.
    pub(crate) limits: Limits,
    /// How far a scenario's figures may be from the baseline, in per cent.
    pub(crate) tolerance: Tolerance,
    /// By scenario.
    pub(crate) baseline: BTreeMap<String, Figures>,
}

/// Compilers differ, so the tolerance depends on the module's.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tolerance {
    /// Of modules by the compilers below: more than what lies between them.
    pub(crate) percent: f64,
    /// The versions that were compared.
    pub(crate) compilers: Vec<String>,
    /// Of modules by any other compiler: whoever has a newer one shall not fail for what it does.
    pub(crate) other_compilers_percent: f64,
}

impl Tolerance {
    /// In per cent, for a module by that compiler.
    fn of(&self, compiler: &str) -> f64 {
        let version = compiler.split(' ').next().unwrap_or_default();
        if self.compilers.iter().any(|known| known == version) {
            self.percent
        } else {
            self.other_compilers_percent
        }
    }
}

/// Whether something is a fixed-size copy or a call of `memory.copy` is the compiler's whim; so many
/// bytes more or less are no news.
const SMALL_MOVES: u64 = 1024;

/// What the design allows.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// Of the annotated module.
    pub(crate) module_bytes: u64,
    /// By how much another container may cost more in a Pod of 1,000 than in one of 100, in per cent.
    pub(crate) growth_percent: f64,
    /// Peak linear memory: so many times the request, ...
    pub(crate) memory_per_request_byte: u64,
    /// ... and so many bytes.
    pub(crate) memory_bytes: u64,
}

/// What a scenario costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figures {
    pub(crate) instructions: u64,
    pub(crate) moved_bytes: u64,
}

impl From<&Exact> for Figures {
    fn from(exact: &Exact) -> Self {
        Self {
            instructions: exact.instructions,
            moved_bytes: exact.moved_bytes,
        }
    }
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excess {
    /// What was looked at.
    pub(crate) what: String,
    /// What it is.
    pub(crate) is: String,
    /// What it may be.
    pub(crate) allowed: String,
    /// What to do.
    pub(crate) advice: String,
}

impl Budgets {
    /// Reads the committed file.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let path = root.join(FILE);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Writes the file, with new figures.
    pub(crate) fn update(mut self, root: &Path, measured: &[(Scenario, Exact)]) -> Result<()> {
        self.baseline = measured
            .iter()
            .map(|(scenario, exact)| (scenario.name.clone(), exact.into()))
            .collect();
        let text = serde_json::to_string_pretty(&self).context("cannot write the budgets")?;
        let path = root.join(FILE);
        fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
    }

    /// Everything that the module has too much of.
    pub(crate) fn excesses(
        &self,
        module_bytes: u64,
        imports: &[String],
        compiler: &str,
        measured: &[(Scenario, Exact)],
    ) -> Vec<Excess> {
        let tolerance = self.tolerance.of(compiler);
        let mut excesses = Vec::new();
        if module_bytes > self.limits.module_bytes {
            excesses.push(Excess {
                what: "annotated module".to_owned(),
                is: format!("{module_bytes} bytes"),
                allowed: format!("{} bytes", self.limits.module_bytes),
                advice: "cargo xtask bench --size shows what it is made of".to_owned(),
            });
        }
        for import in imports {
            if !import.starts_with("wapc.") {
                excesses.push(Excess {
                    what: "imports".to_owned(),
                    is: import.clone(),
                    allowed: "wapc.*".to_owned(),
                    advice: "a dependency reaches out of the sandbox".to_owned(),
                });
            }
        }
        for (scenario, exact) in measured {
            self.compare(&scenario.name, exact, tolerance, &mut excesses);
            let limit = self
                .limits
                .memory_per_request_byte
                .saturating_mul(exact.request_bytes)
                .saturating_add(self.limits.memory_bytes);
            if exact.memory_bytes > limit {
                excesses.push(Excess {
                    what: format!("{}: peak memory", scenario.name),
                    is: format!("{} bytes", exact.memory_bytes),
                    allowed: format!("{limit} bytes"),
                    advice: format!("for a request of {} bytes", exact.request_bytes),
                });
            }
        }
        for name in self.baseline.keys() {
            if !measured.iter().any(|(scenario, _)| scenario.name == *name) {
                excesses.push(Excess {
                    what: format!("{name}: instructions"),
                    is: "no such scenario".to_owned(),
                    allowed: "a scenario for each figure".to_owned(),
                    advice: UPDATE.to_owned(),
                });
            }
        }
        for growth in growths(measured) {
            if growth.percent() > self.limits.growth_percent {
                excesses.push(Excess {
                    what: format!("{}: growth", growth.name),
                    is: format!(
                        "{:.0} instructions more for a container more in a large Pod, {:.0} in a small one",
                        growth.large, growth.small
                    ),
                    allowed: format!("{} % more", self.limits.growth_percent),
                    advice: "something is searched once per container".to_owned(),
                });
            }
        }
        excesses
    }

    fn compare(&self, name: &str, exact: &Exact, tolerance: f64, excesses: &mut Vec<Excess>) {
        let Some(baseline) = self.baseline.get(name) else {
            excesses.push(Excess {
                what: format!("{name}: instructions"),
                is: exact.instructions.to_string(),
                allowed: "no figure yet".to_owned(),
                advice: UPDATE.to_owned(),
            });
            return;
        };
        for (what, is, allowed, negligible) in [
            ("instructions", exact.instructions, baseline.instructions, 0),
            (
                "bytes moved",
                exact.moved_bytes,
                baseline.moved_bytes,
                SMALL_MOVES,
            ),
        ] {
            let change = percent(as_float(is), as_float(allowed));
            if change.abs() <= tolerance || is.abs_diff(allowed) <= negligible {
                continue;
            }
            let advice = if change > 0.0 {
                format!("costs more; if it is worth that: {UPDATE}")
            } else {
                format!("costs less; so that it stays so: {UPDATE}")
            };
            excesses.push(Excess {
                what: format!("{name}: {what}"),
                is: format!("{is} ({change:+.1} %)"),
                allowed: format!("{allowed} ± {tolerance} %"),
                advice,
            });
        }
    }
}

/// What another container costs.
#[derive(Debug, Clone)]
pub(crate) struct Growth {
    /// The scenarios'.
    pub(crate) name: String,
    /// In instructions, from 10 to 100 containers.
    pub(crate) small: f64,
    /// From 100 to 1,000.
    pub(crate) large: f64,
}

impl Growth {
    /// How much more it is in a large Pod.
    pub(crate) fn percent(&self) -> f64 {
        percent(self.large, self.small)
    }
}

/// What another container costs in each family of Pods that differ in nothing else.
pub(crate) fn growths(measured: &[(Scenario, Exact)]) -> Vec<Growth> {
    let mut families: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    for (scenario, exact) in measured {
        if let Some(Axis::Containers(count)) = scenario.axis {
            families
                .entry(scenario.family())
                .or_default()
                .insert(count, exact.instructions);
        }
    }
    let [few, more, many] = CONTAINERS;
    families
        .into_iter()
        .filter_map(|(name, costs)| {
            let slope = |from: u64, to: u64| {
                let cost = as_float(*costs.get(&to)?) - as_float(*costs.get(&from)?);
                Some(cost / as_float(to - from))
            };
            Some(Growth {
                name,
                small: slope(few, more)?,
                large: slope(more, many)?,
            })
        })
        .collect()
}

/// By how many per cent a value is more than another one. From nothing to something is without end,
/// as the tolerance is.
fn percent(value: f64, of: f64) -> f64 {
    if (value - of).abs() < f64::EPSILON {
        0.0
    } else {
        100.0 * (value - of) / of
    }
}

/// For ratios: no count here comes near to what a float can't hold.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn as_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::scenarios::Question;
    use crate::host::Settings;

    fn budgets() -> Budgets {
        Budgets {
            limits: Limits {
                module_bytes: 1000,
                growth_percent: 10.0,
                memory_per_request_byte: 8,
                memory_bytes: 100,
            },
            tolerance: Tolerance {
                percent: 2.0,
                compilers: vec!["1.95.0".to_owned()],
                other_compilers_percent: 10.0,
            },
            baseline: [("a".to_owned(), figures(1000, 50_000))].into(),
        }
    }

    fn figures(instructions: u64, moved_bytes: u64) -> Figures {
        Figures {
            instructions,
            moved_bytes,
        }
    }

    fn measured(name: &str, axis: Option<Axis>, instructions: u64) -> (Scenario, Exact) {
        let scenario = Scenario {
            name: name.to_owned(),
            title: String::new(),
            axis,
            settings: Settings::new(),
            question: Question::Settings,
        };
        let exact = Exact {
            request_bytes: 10,
            answer_bytes: 0,
            instructions,
            start_instructions: 0,
            moved_bytes: 50_000,
            memory_bytes: 180,
        };
        (scenario, exact)
    }

    fn check(budgets: &Budgets, bytes: u64, imports: &[&str], exact: Exact) -> Vec<String> {
        let imports: Vec<String> = imports.iter().map(ToString::to_string).collect();
        let (scenario, _) = measured("a", None, 0);
        budgets
            .excesses(bytes, &imports, "1.95.0 (hash date)", &[(scenario, exact)])
            .into_iter()
            .map(|excess| format!("{} {}", excess.what, excess.advice))
            .collect()
    }

    #[test]
    fn what_is_within_its_budget_is_fine() {
        for instructions in [980, 1000, 1020] {
            let (_, exact) = measured("a", None, instructions);
            assert!(check(&budgets(), 1000, &["wapc.x"], exact).is_empty());
        }
    }

    #[test]
    fn whatever_exceeds_is_told() {
        let (_, fine) = measured("a", None, 1000);
        let with = |change: fn(&mut Exact)| {
            let mut exact = fine.clone();
            change(&mut exact);
            exact
        };
        for (bytes, import, exact, expected) in [
            (1001, "wapc.x", fine.clone(), "annotated module "),
            (1, "wasi.x", fine.clone(), "imports "),
            (
                1,
                "wapc.x",
                with(|e| e.instructions = 1021),
                "a: instructions costs more",
            ),
            (
                1,
                "wapc.x",
                with(|e| e.instructions = 979),
                "a: instructions costs less",
            ),
            (
                1,
                "wapc.x",
                with(|e| e.moved_bytes = 51_025),
                "a: bytes moved costs more",
            ),
            (
                1,
                "wapc.x",
                with(|e| e.memory_bytes = 181),
                "a: peak memory ",
            ),
        ] {
            let got = check(&budgets(), bytes, &[import], exact);
            assert!(
                got.len() == 1 && got[0].starts_with(expected),
                "{expected}: {got:?}"
            );
        }
    }

    #[test]
    fn another_compiler_may_differ_more() {
        for (compiler, fine) in [
            ("1.95.0", false),
            ("1.95.0 (hash date)", false),
            ("1.99.0", true),
        ] {
            let excesses = budgets().excesses(1, &[], compiler, &[measured("a", None, 1100)]);
            assert_eq!(excesses.is_empty(), fine, "{compiler}: {excesses:?}");
        }
    }

    #[test]
    fn scenarios_and_figures_belong_together() {
        let excesses = budgets().excesses(1, &[], "", &[measured("b", None, 1)]);
        let what: Vec<&str> = excesses.iter().map(|excess| excess.is.as_str()).collect();
        assert_eq!(what, ["1", "no such scenario"]);
    }

    #[test]
    fn from_nothing_to_something_exceeds() {
        let mut budgets = budgets();
        budgets.baseline = [("a".to_owned(), figures(1000, 0))].into();
        let (_, exact) = measured("a", None, 1000);
        assert_eq!(check(&budgets, 1, &[], exact).len(), 1);
    }

    #[test]
    fn growth_has_to_be_linear() {
        let pods = |costs: [u64; 3]| -> Vec<(Scenario, Exact)> {
            CONTAINERS
                .into_iter()
                .zip(costs)
                .map(|(count, cost)| {
                    let name = format!("own-{count}-accepted");
                    measured(&name, Some(Axis::Containers(count)), cost)
                })
                .collect()
        };
        let exceeds = |costs| {
            let excesses = budgets().excesses(1, &[], "", &pods(costs));
            excesses
                .iter()
                .any(|excess| excess.what == "own-accepted: growth")
        };
        assert!(!exceeds([5_100, 6_000, 15_000]));
        assert!(!exceeds([5_100, 6_000, 15_900]));
        assert!(exceeds([5_100, 6_000, 15_910]));
        // Cheaper is no problem.
        assert!(!exceeds([5_100, 6_000, 7_000]));
    }

    #[test]
    fn the_committed_budgets_are_the_designs() {
        let budgets = Budgets::read(&crate::workspace::root()).expect("budgets");
        assert_eq!(budgets.limits.module_bytes, 200 * 1024);
        assert_eq!(budgets.limits.memory_per_request_byte, 8);
        assert_eq!(budgets.limits.memory_bytes, 2 * 1024 * 1024);
        assert!(budgets.limits.growth_percent <= 10.0);
        assert!(!budgets.baseline.is_empty());
    }
}
