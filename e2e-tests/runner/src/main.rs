//! Runs the rows on the built module, in the embedded host or in kwctl. (`cargo test` runs them on the crate.)

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use consistent_pull_policy_rows::{Case, Host, Kwctl, Module, Row, exported, rows};
use serde_json::Value;

/// Runs the rows of e2e-tests/rows on a module
#[derive(Debug, Parser)]
struct Args {
    /// The annotated module
    module: PathBuf,
    /// Only the files whose name begins so
    #[arg(default_value = "")]
    file: String,
    /// Runs the module in this kwctl, and not in the embedded host
    #[arg(long, value_name = "PROGRAM")]
    kwctl: Option<PathBuf>,
    /// Writes requests, settings, lookups and answers to this file, a line of JSON for each case
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let embedded = Module::load(&args.module)?;
    let kwctl = args.kwctl.map(|program| Kwctl { program, module: args.module, policy: &embedded });
    let host: &(dyn Host + Sync) = kwctl.as_ref().map_or(&embedded, |kwctl| kwctl);
    let mut cases = Vec::new();
    for row in rows()? {
        if row.file().starts_with(&args.file) {
            cases.extend(row.cases()?.into_iter().map(|case| (row.clone(), case)));
        }
    }
    let outcomes = evaluate(host, &cases)?;
    if let Some(path) = args.export {
        let lines: String = outcomes.iter().map(|(line, _)| format!("{line}\n")).collect();
        fs::write(&path, lines).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let differences: Vec<&String> = outcomes.iter().filter_map(|(_, difference)| difference.as_ref()).collect();
    for difference in &differences {
        eprintln!("{difference}");
    }
    println!("{} cases, {} not as the rows say", cases.len(), differences.len());
    ensure!(differences.is_empty() && !cases.is_empty(), "the module doesn't do what the rows say");
    Ok(())
}

/// For each case, its line of an export, and what is not as the row says. The cases run on all cores.
fn evaluate(host: &(dyn Host + Sync), cases: &[(Row, Case)]) -> Result<Vec<(Value, Option<String>)>> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    let work = || {
        while let Some((number, (row, case))) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, cases.get(at)?))) {
            let outcome = host.evaluate(case).map(|evaluation| {
                (exported(row, case, &evaluation), row.difference(case, &evaluation))
            });
            let outcome = outcome.with_context(|| row.place.clone());
            outcomes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((number, outcome));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    outcomes.sort_by_key(|(number, _)| *number);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}
