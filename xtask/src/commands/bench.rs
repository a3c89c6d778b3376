//! `cargo xtask bench`: measures this policy. [`crate::bench`] explains the measured numbers.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::bench::budgets::{self, Budgets, growths};
use crate::bench::pairs::HostileRequests;
use crate::bench::request_cost::MeteredPolicy;
use crate::bench::request_times::TimedPolicies;
use crate::bench::scenarios::Scenario;
use crate::commands::{build, build_with_feature};
use crate::module::imports;
use crate::terminal;
use crate::workspace::{self, ANNOTATED_POLICY, module_or};

/// Measures this policy and a policy that does nothing: time, instructions, memory
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only checks the budgets, and fails when one is exceeded
    #[arg(long)]
    check: bool,
    /// With --check: sends each hostile request also in a larger size
    #[arg(long, requires = "check")]
    both_sizes: bool,
    /// The module to measure, instead of annotated-policy.wasm
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.check && !build_with_feature::is_optimised() {
        return build_with_feature::run("--all-features");
    }
    let root = workspace::root();
    let module = read(&module_or(args.module.as_deref(), ANNOTATED_POLICY)?)?;
    let budgets = Budgets::read(&root)?;
    let policy = MeteredPolicy::new(&module)?;
    let mut scenarios = Vec::new();
    for template in &budgets.scenarios {
        scenarios.extend(template.scenarios(&root, &policy)?);
    }
    if !args.check {
        return measure(&module, &budgets, &scenarios);
    }
    let sizes = if args.both_sizes { 2 } else { 1 };
    let hostile = HostileRequests::read(&root)?.excesses(&policy, &budgets.requests, sizes)?;
    check(&module, &budgets, &scenarios, &hostile)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read module {}", path.display()))
}

fn check(
    module: &[u8],
    budgets: &Budgets,
    scenarios: &[Scenario],
    hostile: &[Vec<String>],
) -> Result<()> {
    let imports = imports(module)?;
    let bytes = u64::try_from(module.len())?;
    let mut excesses = budgets.excesses(bytes, &imports, scenarios);
    excesses.extend(hostile.iter().flatten().cloned());
    if excesses.is_empty() {
        return terminal::print(&format!(
            "Within the budgets: {bytes} of {} bytes, {} imports of waPC, {} scenarios, {} hostile requests\n",
            budgets.module_bytes,
            imports.len(),
            scenarios.len(),
            hostile.len(),
        ));
    }
    bail!(
        "more than {} allows:\n  {}",
        budgets::FILE,
        excesses.join("\n  ")
    )
}

fn measure(module: &[u8], budgets: &Budgets, scenarios: &[Scenario]) -> Result<()> {
    let nothing = read(&build::policy_that_does_nothing()?)?;
    let clocked = TimedPolicies::new(module, &nothing)?;
    let mut rows = Vec::new();
    for scenario in scenarios {
        eprintln!("==> {}", scenario.title);
        let times = clocked.times(scenario)?;
        let (policy, nothing) = (times.policy.as_secs_f64(), times.nothing.as_secs_f64());
        let Scenario { cost, budget, .. } = scenario;
        rows.push([
            scenario.title.clone(),
            cost.request_bytes.to_string(),
            cost.instructions.to_string(),
            budget.map_or_else(String::new, |most| most.instructions.to_string()),
            cost.memory_bytes.to_string(),
            format!("{:.0}", policy * 1e6),
            format!("{:.0}", nothing * 1e6),
            format!("{:.2}", policy / nothing),
            budget.map_or_else(String::new, |most| most.times.to_string()),
        ]);
    }
    let header = [
        "scenario",
        "request, bytes",
        "instructions",
        "at most",
        "memory, bytes",
        "time, µs",
        "nothing, µs",
        "times",
        "at most",
    ];
    let growths: Vec<_> = growths(scenarios)
        .into_iter()
        .map(|(what, _)| what)
        .collect();
    terminal::print(&format!(
        "{}\n\n{}\nAnnotated module: {} bytes, at most {}; the policy that does nothing: {} bytes\n",
        terminal::markdown_table(&header, rows),
        growths.join("\n"),
        module.len(),
        budgets.module_bytes,
        nothing.len(),
    ))
}
