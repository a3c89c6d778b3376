//! `cargo xtask bench`: measures this policy. [`crate::bench`] explains the measured numbers.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, bail};

use crate::bench::budgets::{self, Budgets, growths};
use crate::bench::hostile::{self, HostileCost, per_byte};
use crate::bench::request_cost::{MeteredPolicy, RequestCost};
use crate::bench::request_times::TimedPolicies;
use crate::bench::scenarios::{self, Scenario};
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
    /// With --check: sends each hostile request also in four times the size, and checks how its cost grows
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
    let (counted, hostile) = thread::scope(|scope| {
        let hostile = scope.spawn(|| hostile::all_costs(&policy, !args.check || args.both_sizes));
        let counted = scenarios::all_costs(&policy, &budgets.scenarios, &root);
        let hostile = hostile.join();
        (
            counted,
            hostile.unwrap_or_else(|_| bail!("a thread panicked")),
        )
    });
    let (counted, hostile) = (counted?, hostile?);
    if args.check {
        check(&module, &budgets, &counted, &hostile)
    } else {
        measure(&module, &budgets, &counted)?;
        terminal::print(&hostile_table(&hostile))
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read module {}", path.display()))
}

/// A table of the costs of hostile requests.
fn hostile_table(hostile: &[HostileCost]) -> String {
    let rows = hostile.iter().filter_map(|one| {
        let large = one.large.as_ref()?;
        let [instructions, memory] = per_byte(large);
        Some([
            one.name.to_owned(),
            large.request_bytes.to_string(),
            large.instructions.to_string(),
            format!("{instructions:.1}"),
            format!("{memory:.1}"),
        ])
    });
    let header = [
        "hostile request",
        "bytes",
        "instructions",
        "for each byte",
        "memory for each byte",
    ];
    format!("\n{}\n", terminal::markdown_table(&header, rows))
}

fn check(
    module: &[u8],
    budgets: &Budgets,
    counted: &[(Scenario, RequestCost)],
    hostile: &[HostileCost],
) -> Result<()> {
    let imports = imports(module)?;
    let bytes = u64::try_from(module.len())?;
    let mut excesses = budgets.excesses(bytes, &imports, counted);
    excesses.extend(budgets.hostile.excesses(hostile));
    if excesses.is_empty() {
        return terminal::print(&format!(
            "Within the budgets: {bytes} of {} bytes, {} imports of waPC, {} scenarios, {} hostile requests\n",
            budgets.module_bytes,
            imports.len(),
            counted.len(),
            hostile.len(),
        ));
    }
    bail!(
        "more than {} allows:\n  {}",
        budgets::FILE,
        excesses.join("\n  ")
    )
}

fn measure(module: &[u8], budgets: &Budgets, counted: &[(Scenario, RequestCost)]) -> Result<()> {
    let nothing = read(&build::policy_that_does_nothing()?)?;
    let clocked = TimedPolicies::new(module, &nothing)?;
    let mut rows = Vec::new();
    for (scenario, exact) in counted {
        eprintln!("==> {}", scenario.title());
        let times = clocked.times(scenario)?;
        let (policy, nothing) = (times.policy.as_secs_f64(), times.nothing.as_secs_f64());
        let budget = |limit: Option<String>| limit.unwrap_or_default();
        rows.push([
            scenario.title(),
            exact.request_bytes.to_string(),
            exact.instructions.to_string(),
            budget(scenario.budget.instructions.map(|most| most.to_string())),
            exact.memory_bytes.to_string(),
            format!("{:.0}", policy * 1e6),
            format!("{:.0}", nothing * 1e6),
            format!("{:.2}", policy / nothing),
            budget(scenario.budget.times.map(|most| most.to_string())),
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
    let mut growth = String::new();
    for (answer, [small, large]) in growths(counted) {
        writeln!(
            growth,
            "An additional container, {answer:?}: {small} instructions from 10 to 100, {large} from 100 to 1,000"
        )?;
    }
    terminal::print(&format!(
        "{}\n\n{growth}Annotated module: {} bytes, at most {}; the policy that does nothing: {} bytes\n",
        terminal::markdown_table(&header, rows),
        module.len(),
        budgets.module_bytes,
        nothing.len(),
    ))
}
