//! Measures this policy's module, and compares it with its budgets (`bench/budgets.yaml`): its
//! size, the instructions and the memory of captured reviews, how a Pod's cost grows with its
//! containers, and how the cost of hostile requests grows with each two of their parts.
//!
//! All these figures are the same on every machine. The scripts of this folder measure times, which
//! are not.

mod cost;
mod hostile;
mod limits;
mod reviews;

use std::env;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use xtask::host::module::Module;

use cost::Cost;
use hostile::Hostile;
use limits::Limits;
use reviews::{Measured, Review, container_growths};

/// The contents of `budgets.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budgets {
    limits: Limits,
    reviews: Vec<Review>,
}

fn main() -> Result<ExitCode> {
    let Budgets { limits, reviews } = read("budgets.yaml")?;
    let hostile: Hostile = read("hostile.yaml")?;
    let root = folder().join("..");
    let module = root.join("annotated-policy.wasm");
    let bytes = fs::read(&module);
    let bytes = bytes.with_context(|| format!("cannot read module {}", module.display()))?;
    // A module that imports anything but waPC's functions is an error here.
    let module = Module::new(&bytes)?;
    let measured = reviews
        .par_iter()
        .map(|review| review.measure(&root, &module));
    let measured: Vec<Measured> = measured
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect();
    let size = u64::try_from(bytes.len())?;
    println!(
        "annotated module: {size} bytes, at most {}",
        limits.module_bytes
    );
    let mut excesses = Vec::new();
    if size > limits.module_bytes {
        excesses.push(format!("annotated module: {size} bytes"));
    }
    for Measured {
        name, most, cost, ..
    } in &measured
    {
        let Cost {
            request_bytes,
            added_bytes,
            instructions,
            memory_bytes,
        } = cost;
        println!(
            "{name}: {request_bytes} bytes, {added_bytes} added, {instructions} instructions, \
             {memory_bytes} bytes of memory"
        );
        excesses.extend(limits.excesses(name, cost, false, 0));
        if let Some(most) = most.filter(|most| instructions > most) {
            excesses.push(format!(
                "{name}: {instructions} instructions, at most {most}"
            ));
        }
    }
    for (answer, percent) in container_growths(&measured) {
        let line =
            format!("a container in the largest Pod, {answer}: {percent:+.0} % instructions");
        println!("{line}, at most {:+} %", limits.growth_percent);
        excesses.extend((percent > limits.growth_percent).then_some(line));
    }
    // Each part of a request is in many pairs, so a sample notices most products of two lists.
    let every = env::var("EVERY").unwrap_or_else(|_| "1".to_owned());
    let every: NonZero<usize> = every.parse().context("EVERY is no positive number")?;
    let (requests, expensive) = hostile.measure(&module, &limits, every.get())?;
    println!(
        "{requests} hostile requests: {} beyond a limit",
        expensive.len()
    );
    excesses.extend(expensive);

    if excesses.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("\nbeyond bench/budgets.yaml:\n  {}", excesses.join("\n  "));
    Ok(ExitCode::FAILURE)
}

/// This folder.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads a file of this folder.
fn read<T: DeserializeOwned>(file: &str) -> Result<T> {
    let text = fs::read_to_string(folder().join(file));
    let text = text.with_context(|| format!("cannot read bench/{file}"))?;
    yaml_serde::from_str(&text).with_context(|| format!("cannot read bench/{file}"))
}
