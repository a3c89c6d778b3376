//! Runs the rows on the crate, on the built module in the embedded host, or in kwctl. (`cargo test`
//! runs them on the crate too, and checks the promises.)

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use consistent_pull_policy_rows::{Host, Kwctl, Native, rows};
use rayon::prelude::*;

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
    /// Prints the settings of each case as a line of JSON, and runs nothing
    #[arg(long)]
    settings: bool,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let mut cases = Vec::new();
    for row in rows()? {
        if row.file().starts_with(&args.file) {
            cases.extend(row.cases()?.into_iter().map(|case| (row.clone(), case)));
        }
    }
    if args.settings {
        for (_, case) in cases {
            println!("{}", case.settings);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut host: &(dyn Host + Sync) = &Native;
    let kwctl;
    if let (Some(module), Some(program)) = (args.module, args.kwctl) {
        kwctl = Kwctl { program, module };
        host = &kwctl;
        // A host refuses these itself.
        cases.retain(|(_, case)| case.settings.is_object() && !case.request["userInfo"].is_null());
    }
    let differences: Vec<String> = cases
        .par_iter()
        .filter_map(|(row, case)| match host.evaluate(case) {
            Ok(evaluation) => row.difference(case, &evaluation),
            Err(error) => Some(format!("{}\n{error:#}", row.place)),
        })
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
