//! Runs the rows on the crate, on the built module in the embedded host, or in kwctl. (`cargo test`
//! runs them on the crate too, and checks the promises.)

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use clap::Parser;
use consistent_pull_policy_rows::{Case, Host, Kwctl, Native, Row, rows};
use serde_json::Value;

/// Runs the rows of e2e-tests/rows
#[derive(Debug, Parser)]
struct Args {
    /// Only the rows of the files whose names begin so
    #[arg(default_value = "")]
    file: String,
    /// Runs them on this module, and not on the crate
    #[arg(long, value_name = "FILE", requires = "kwctl")]
    module: Option<PathBuf>,
    /// The program that runs the module: kwctl, or xtask
    #[arg(long, value_name = "PROGRAM", requires = "module")]
    kwctl: Option<PathBuf>,
    /// Writes requests, settings, lookups and answers to this file, a line of JSON for each case
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let mut cases = Vec::new();
    for row in rows()? {
        if row.file().starts_with(&args.file) {
            cases.extend(row.cases()?.into_iter().map(|case| (row.clone(), case)));
        }
    }
    if args.module.is_some() {
        // A host refuses these itself.
        cases.retain(|(_, case)| case.settings.is_object() && !case.request["userInfo"].is_null());
    }
    let kwctl = args
        .module
        .zip(args.kwctl)
        .map(|(module, program)| Kwctl { program, module });
    let outcomes = match kwctl {
        Some(kwctl) => evaluate(&kwctl, &cases),
        None => evaluate(&Native, &cases),
    };
    if let Some(path) = args.export {
        let lines: Vec<String> = outcomes.iter().map(|(line, _)| line.to_string()).collect();
        let text = lines.join("\n") + "\n";
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let differences: Vec<&String> = outcomes
        .iter()
        .filter_map(|(_, difference)| difference.as_ref())
        .collect();
    for difference in &differences {
        eprintln!("{difference}");
    }
    println!(
        "{} cases, {} not as the rows say",
        cases.len(),
        differences.len()
    );
    Ok(if differences.is_empty() && !cases.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// For each case, its line of an export, and what is not as the row says. The cases run on all
/// cores.
fn evaluate(host: &(dyn Host + Sync), cases: &[(Row, Case)]) -> Vec<(Value, Option<String>)> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    let work = || {
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && let Some((row, case)) = cases.get(number)
        {
            let outcome = match host.evaluate(case) {
                Ok(it) => (row.exported(case, &it), row.difference(case, &it)),
                Err(error) => (Value::Null, Some(format!("{}\n{error:#}", row.place))),
            };
            let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            outcomes.push((number, outcome));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut outcomes = outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|(number, _)| *number);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}
