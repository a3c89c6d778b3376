//! What the policy costs, and whether that is within its budgets.
//!
//! policy-server serves each request from a fresh instance of the module, so start-up counts every
//! time, and measuring a warm instance would hide what costs most. Two kinds of figures come out of
//! this. Times are what a person wants to know, and depend on the machine; they are shown beside
//! those of a policy that does nothing. Instructions, bytes and memory are the same in every run of
//! the same module; these are what is held against the budgets.

pub(crate) mod budgets;
pub(crate) mod hostile;
pub(crate) mod meter;
pub(crate) mod scenarios;
pub(crate) mod times;

use std::path::Path;

use anyhow::{Context, Result};

use self::budgets::Budgets;
use self::meter::{Exact, Metered};
use self::scenarios::Scenario;

/// The exact figures of each scenario; makes sure that each is what it says.
pub(crate) fn count(
    module: &[u8],
    budgets: &Budgets,
    root: &Path,
) -> Result<Vec<(Scenario, Exact)>> {
    let policy = Metered::new(module)?;
    let mut counted = Vec::new();
    for description in &budgets.scenarios {
        let scenarios = description
            .scenarios(root, &policy)
            .with_context(|| format!("in scenario {}", description.name))?;
        for scenario in scenarios {
            let exact = policy
                .count(&scenario)
                .with_context(|| format!("in scenario {}", scenario.title()))?;
            counted.push((scenario, exact));
        }
    }
    Ok(counted)
}
