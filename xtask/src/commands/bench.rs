//! `cargo xtask bench`: measures the policy, as [`crate::bench`] does it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::commands::build;
use crate::module::sections::Outline;
use crate::table;
use crate::workspace::{self, ANNOTATED_POLICY};

use crate::bench::budgets::{self, Budgets};
use crate::bench::environment::Environment;
use crate::bench::measure::{self, Clocked, Effort, Exact};
use crate::bench::profile::Profiler;
use crate::bench::report::{self, Nothing, Results, Row};
use crate::bench::scenarios::{self, Scenario};
use crate::bench::size::Size;

/// Measures the policy: time, instructions, memory, size
///
/// Without options it builds what the policy is compared with, measures every scenario, and prints
/// tables. Build the policy first: `cargo xtask build`.
#[derive(Debug, clap::Args)]
// They are flags of a command line.
#[allow(clippy::struct_excessive_bools)]
#[command(group = clap::ArgGroup::new("instead").multiple(false))]
#[command(after_help = "Examples:
  cargo xtask bench --quick                          all tables, roughly
  cargo xtask bench --profile agent-stack-repaired   which function burns how much, and who calls it
  cargo xtask bench --size --top 50                  what the module is made of
  cargo xtask bench --check                          the budgets; part of make test
  cargo xtask bench --update-baseline                after a change that is worth what it costs
  cargo xtask bench --write-docs                     docs/performance.md with its plots")]
pub(crate) struct Args {
    /// Only checks the budgets, by exact figures; fails when one is exceeded
    #[arg(long, group = "instead")]
    check: bool,
    /// Only writes the instructions of each scenario into xtask/budgets.json
    #[arg(long, group = "instead")]
    update_baseline: bool,
    /// Only prints which function burns how many instructions in a scenario
    #[arg(long, value_name = "SCENARIO", group = "instead")]
    profile: Option<String>,
    /// Only prints what the module is made of
    #[arg(long, group = "instead")]
    size: bool,
    /// How many functions --profile and --size show
    #[arg(long, value_name = "COUNT", default_value_t = 30)]
    top: usize,
    /// Takes a tenth of the time, for rougher times; instructions are exact all the same
    #[arg(long)]
    quick: bool,
    /// Writes the results as JSON, too
    #[arg(long, value_name = "FILE", conflicts_with = "instead")]
    json: Option<PathBuf>,
    /// Writes the results into docs/performance.md, with plots
    #[arg(long, conflicts_with = "instead")]
    write_docs: bool,
    /// The module to measure, instead of annotated-policy.wasm; --profile needs one with names
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace::root();
    if let Some(name) = &args.profile {
        return print_profile(args, &root, name);
    }
    let path = args
        .module
        .clone()
        .unwrap_or_else(|| root.join(ANNOTATED_POLICY));
    let module = read(&path)?;
    if args.size {
        let size = size(&module, &read(&build::with_names()?)?)?;
        return table::print(&size.terminal(args.top));
    }
    let profiler = Profiler::new(&module)?;
    let scenarios = scenarios::all(&root, profiler.plain())?;
    let measured = count(&profiler, scenarios)?;
    if args.update_baseline {
        return Budgets::read(&root)?.update(&root, &measured);
    }
    if args.check {
        return check(&root, &module, &measured);
    }
    let results = measure(args, &root, &module, &measured)?;
    table::print(&results.terminal())?;
    if let Some(path) = &args.json {
        fs::write(path, results.json()?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.write_docs {
        let mut all = measured;
        all.extend(count(
            &profiler,
            scenarios::in_between(&root, profiler.plain())?,
        )?);
        results.write_docs(&root, &all)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read module {}", path.display()))
}

/// What a module is made of, told by the functions' names in another one.
fn size(module: &[u8], named: &[u8]) -> Result<Size> {
    let size = Size::of(module, named)?;
    if !size.same_code {
        eprintln!("warning: {ANNOTATED_POLICY} isn't built from this source: cargo xtask build");
    }
    Ok(size)
}

/// The exact figures of each scenario.
fn count(profiler: &Profiler, scenarios: Vec<Scenario>) -> Result<Vec<(Scenario, Exact)>> {
    let functions = scenarios::host_functions()?;
    scenarios
        .into_iter()
        .map(|scenario| {
            let exact = measure::exact(profiler, &functions, &scenario)
                .with_context(|| format!("in scenario {}", scenario.name))?;
            Ok((scenario, exact))
        })
        .collect()
}

fn check(root: &Path, module: &[u8], measured: &[(Scenario, Exact)]) -> Result<()> {
    let budgets = Budgets::read(root)?;
    let imports = Outline::read(module)?.imports;
    let size = u64::try_from(module.len())?;
    let excesses = budgets.excesses(size, &imports, &build::compiler()?, measured);
    if excesses.is_empty() {
        return table::print(&format!(
            "Within the budgets: {} of {} bytes, {} imports of waPC, {} scenarios\n",
            report::thousands(size),
            report::thousands(budgets.limits.module_bytes),
            imports.len(),
            measured.len()
        ));
    }
    table::print(&report::excesses(&excesses))?;
    bail!(
        "{} figures are not within {}",
        excesses.len(),
        budgets::FILE
    )
}

fn measure(
    args: &Args,
    root: &Path,
    module: &[u8],
    measured: &[(Scenario, Exact)],
) -> Result<Results> {
    let named = read(&build::with_names()?)?;
    let [sdk, wapc] = build::policies_that_do_nothing()?;
    let (sdk, wapc) = (read(&sdk)?, read(&wapc)?);
    let clocked = Clocked::new(module, &sdk, &wapc)?;
    let effort = if args.quick {
        Effort::QUICK
    } else {
        Effort::FULL
    };
    let functions = scenarios::host_functions()?;
    let mut rows = Vec::new();
    for (scenario, exact) in measured {
        rows.push(Row {
            name: scenario.name.clone(),
            title: scenario.title.clone(),
            exact: exact.clone(),
            times: clocked.times(&functions, scenario, effort)?,
        });
    }
    Ok(Results {
        environment: Environment::of(root, &named),
        module: size(module, &named)?,
        nothing: Nothing {
            sdk_bytes: sdk.len(),
            wapc_bytes: wapc.len(),
        },
        scenarios: rows,
        growth: budgets::growths(measured)
            .into_iter()
            .map(Into::into)
            .collect(),
    })
}

fn print_profile(args: &Args, root: &Path, name: &str) -> Result<()> {
    let path = match &args.module {
        Some(path) => path.clone(),
        None => build::with_names()?,
    };
    let profiler = Profiler::new(&read(&path)?)?;
    let scenarios = scenarios::all(root, profiler.plain())?;
    let scenario = scenarios
        .iter()
        .find(|scenario| scenario.name == name)
        .with_context(|| {
            let known: Vec<&str> = scenarios.iter().map(|one| one.name.as_str()).collect();
            format!("no scenario '{name}'; there are {}", known.join(", "))
        })?;
    let payload = scenario.payload()?;
    let functions = scenarios::host_functions()?;
    let profile = profiler.call(&functions, scenario.operation(), &payload)?;
    table::print(&format!(
        "{}, {} bytes\n{}",
        scenario.title,
        payload.len(),
        profile.table(args.top)?
    ))
}
