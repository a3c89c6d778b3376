//! The results: for a terminal, as JSON, and in `docs/performance.md`.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::budgets::{Excess, Growth, as_float};
use super::environment::Environment;
use super::measure::{Exact, Quantiles, Times};
use super::plot::{Plot, Series};
use super::scenarios::{Axis, Scenario};
use super::size::{Part, Size};

/// The page that the results are written into.
const PAGE: &str = "docs/performance.md";

/// What lies beside it.
const DIRECTORY: &str = "docs/performance";

/// Everything that was measured.
#[derive(Serialize)]
pub(crate) struct Results {
    /// Where.
    pub(crate) environment: Environment,
    /// The module that is shipped.
    pub(crate) module: Size,
    /// The policies that do nothing, in bytes.
    pub(crate) nothing: Nothing,
    /// In the tables' order.
    pub(crate) scenarios: Vec<Row>,
    /// What another container costs.
    pub(crate) growth: Vec<GrowthRow>,
}

/// The sizes of the policies that do nothing.
#[derive(Serialize)]
pub(crate) struct Nothing {
    pub(crate) sdk_bytes: usize,
    pub(crate) wapc_bytes: usize,
}

/// One scenario's figures.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) title: String,
    #[serde(flatten)]
    pub(crate) exact: Exact,
    /// In microseconds.
    #[serde(flatten)]
    pub(crate) times: Times,
}

/// What another container costs, in instructions.
#[derive(Serialize)]
pub(crate) struct GrowthRow {
    name: String,
    from_10_to_100: f64,
    from_100_to_1000: f64,
    percent: f64,
}

impl From<Growth> for GrowthRow {
    fn from(growth: Growth) -> Self {
        Self {
            from_10_to_100: growth.small.round(),
            from_100_to_1000: growth.large.round(),
            percent: (growth.percent() * 10.0).round() / 10.0,
            name: growth.name,
        }
    }
}

/// A table: its header, and which columns are text. The others are numbers, aligned on the right.
struct Table<const N: usize> {
    header: [&'static str; N],
    text: [bool; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    fn terminal(&self) -> String {
        let header = self.header.map(str::to_owned);
        let mut widths = [0; N];
        for row in self.rows.iter().chain([&header]) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut output = String::new();
        for row in std::iter::once(&header).chain(&self.rows) {
            let cells: Vec<String> = row
                .iter()
                .zip(widths)
                .zip(self.text)
                .map(|((cell, width), text)| {
                    if text {
                        format!("{cell:<width$}")
                    } else {
                        format!("{cell:>width$}")
                    }
                })
                .collect();
            output.push_str(cells.join("  ").trim_end());
            output.push('\n');
        }
        output
    }

    fn markdown(&self) -> String {
        let mut output = format!("| {} |\n|", self.header.join(" | "));
        for text in self.text {
            output.push_str(if text { " --- |" } else { " ---: |" });
        }
        output.push('\n');
        for row in &self.rows {
            output.extend(["| ", &row.join(" | "), " |\n"]);
        }
        output
    }
}

impl Results {
    /// For a terminal.
    pub(crate) fn terminal(&self) -> String {
        [
            self.environment.sentence(),
            "\n\nTimes in µs; \"ratio\": to the policy that does nothing; \"guest\": the guest's part \
             alone;\n\"answer\": what the host does with the answer.\n\n"
                .to_owned(),
            self.times(|row| row.name.clone()).terminal(),
            "\n".to_owned(),
            self.counts(|row| row.name.clone()).terminal(),
            "\nInstructions for a container more\n\n".to_owned(),
            self.growth_table().terminal(),
            "\n".to_owned(),
            self.module.terminal(0),
            format!(
                "\nPolicies that do nothing: {} bytes with the SDK, {} with waPC alone\n",
                thousands(self.nothing.sdk_bytes),
                thousands(self.nothing.wapc_bytes)
            ),
        ]
        .concat()
    }

    /// As JSON.
    pub(crate) fn json(&self) -> Result<String> {
        let mut text =
            serde_json::to_string_pretty(self).context("cannot write the results as JSON")?;
        text.push('\n');
        Ok(text)
    }

    fn times(&self, name: impl Fn(&Row) -> String) -> Table<9> {
        Table {
            header: [
                "scenario", "median", "p99", "nothing", "p99", "ratio", "guest", "p99", "answer",
            ],
            text: [true, false, false, false, false, false, false, false, false],
            rows: self
                .scenarios
                .iter()
                .map(|row| {
                    let [whole, nothing, guest] =
                        [row.times.whole, row.times.nothing, row.times.guest]
                            .map(|Quantiles { median, p99 }| [micros(median), micros(p99)]);
                    let [median, p99] = whole;
                    let [nothing_median, nothing_p99] = nothing;
                    let [guest_median, guest_p99] = guest;
                    [
                        name(row),
                        median,
                        p99,
                        nothing_median,
                        nothing_p99,
                        format!("{:.2}", row.times.ratio),
                        guest_median,
                        guest_p99,
                        micros(row.times.answer.median),
                    ]
                })
                .collect(),
        }
    }

    fn counts(&self, name: impl Fn(&Row) -> String) -> Table<7> {
        Table {
            header: [
                "scenario",
                "request",
                "answer",
                "instructions",
                "per byte",
                "moved",
                "memory",
            ],
            text: [true, false, false, false, false, false, false],
            rows: self
                .scenarios
                .iter()
                .map(|row| {
                    let exact = &row.exact;
                    let per_byte = as_float(exact.instructions) / as_float(exact.request_bytes);
                    [
                        name(row),
                        thousands(exact.request_bytes),
                        thousands(exact.answer_bytes),
                        thousands(exact.instructions),
                        format!("{per_byte:.1}"),
                        thousands(exact.moved_bytes),
                        thousands(exact.memory_bytes),
                    ]
                })
                .collect(),
        }
    }

    fn growth_table(&self) -> Table<4> {
        Table {
            header: ["Pods", "10 to 100", "100 to 1,000", "difference"],
            text: [true, false, false, false],
            rows: self
                .growth
                .iter()
                .map(|growth| {
                    [
                        growth.name.clone(),
                        group(&format!("{:.0}", growth.from_10_to_100)),
                        group(&format!("{:.0}", growth.from_100_to_1000)),
                        format!("{:+.1} %", growth.percent),
                    ]
                })
                .collect(),
        }
    }

    /// Writes page, plots and JSON.
    pub(crate) fn write_docs(&self, root: &Path, in_between: &[(Scenario, Exact)]) -> Result<()> {
        let write = |path: &Path, text: &str| {
            fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        let directory = root.join(DIRECTORY);
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        write(&directory.join("results.json"), &self.json()?)?;
        for (name, plot) in [
            ("containers.svg", by_containers(in_between)),
            ("bytes.svg", by_bytes(in_between)),
        ] {
            write(&directory.join(name), &plot.svg())?;
        }
        let path = root.join(PAGE);
        let page =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let title = |row: &Row| row.title.clone();
        let mut page = page;
        for (name, text) in [
            ("environment", format!("{}\n", self.environment.sentence())),
            ("times", self.times(title).markdown()),
            ("counts", self.counts(title).markdown()),
            ("growth", self.growth_table().markdown()),
            (
                "sections",
                parts("section", &self.module.sections, 64).markdown(),
            ),
            ("crates", parts("crate", &self.module.crates, 64).markdown()),
            ("sizes", self.sizes()),
        ] {
            page = replace_block(&page, name, &text)
                .with_context(|| format!("in {}", path.display()))?;
        }
        write(&path, &page)
    }

    fn sizes(&self) -> String {
        format!(
            "The module: {} bytes, with metadata and README. The policy that does nothing: {} bytes with \
             the SDK, {} with waPC's guest library alone, both without metadata.\n",
            thousands(self.module.bytes),
            thousands(self.nothing.sdk_bytes),
            thousands(self.nothing.wapc_bytes)
        )
    }
}

impl Size {
    /// For a terminal, with so many of the largest functions.
    pub(crate) fn terminal(&self, functions: usize) -> String {
        let mut text = format!("Module: {} bytes\n\n", thousands(self.bytes));
        text.push_str(&parts("section", &self.sections, 1).terminal());
        text.push('\n');
        text.push_str(&parts("code by crate", &self.crates, 1).terminal());
        if functions > 0 {
            let largest: Vec<Part> = self
                .functions
                .iter()
                .take(functions)
                .map(|part| Part {
                    name: super::names::readable(&part.name),
                    bytes: part.bytes,
                })
                .collect();
            text.push('\n');
            text.push_str(&parts("largest functions", &largest, 1).terminal());
        }
        text
    }
}

impl Environment {
    fn sentence(&self) -> String {
        format!(
            "{} ({} cores); module compiled by rustc {}, run by wasmtime {}, compared with a policy of \
             kubewarden-policy-sdk {}",
            self.processor, self.cores, self.rustc, self.wasmtime, self.sdk
        )
    }
}

/// Parts of the module that have at least so many bytes.
fn parts(name: &'static str, parts: &[Part], least: usize) -> Table<2> {
    Table {
        header: ["bytes", name],
        text: [false, true],
        rows: parts
            .iter()
            .filter(|part| part.bytes >= least)
            .map(|part| [thousands(part.bytes), part.name.clone()])
            .collect(),
    }
}

/// What exceeds its budget.
pub(crate) fn excesses(excesses: &[Excess]) -> String {
    Table {
        header: ["what", "is", "may be", ""],
        text: [true; 4],
        rows: excesses
            .iter()
            .map(|excess| {
                [
                    excess.what.clone(),
                    excess.is.clone(),
                    excess.allowed.clone(),
                    excess.advice.clone(),
                ]
            })
            .collect(),
    }
    .terminal()
}

fn by_containers(measured: &[(Scenario, Exact)]) -> Plot {
    let point = |scenario: &Scenario, exact: &Exact| match scenario.axis {
        Some(Axis::Containers(count)) => {
            Some((as_float(count), as_float(exact.instructions) / 1e6))
        }
        _ => None,
    };
    let names = [
        ("own-image-repaired", "repaired, an image each"),
        ("same-image-repaired", "repaired, one image"),
        ("own-image-accepted", "accepted, an image each"),
        ("same-image-accepted", "accepted, one image"),
    ];
    Plot {
        title: "What a Pod costs by its containers".to_owned(),
        x: "containers".to_owned(),
        y: "million instructions".to_owned(),
        series: names
            .map(|(family, name)| {
                series(name, measured, |scenario, exact| {
                    (scenario.family() == family)
                        .then(|| point(scenario, exact))
                        .flatten()
                })
            })
            .into(),
    }
}

fn by_bytes(measured: &[(Scenario, Exact)]) -> Plot {
    Plot {
        title: "What a Pod costs by its size".to_owned(),
        x: "KiB of request".to_owned(),
        y: "million instructions".to_owned(),
        series: ["repaired", "accepted"]
            .map(|name| {
                series(name, measured, |scenario, exact| {
                    let fits = scenario.axis == Some(Axis::Bytes) && scenario.name.ends_with(name);
                    fits.then(|| {
                        let size = as_float(exact.request_bytes) / 1024.0;
                        (size, as_float(exact.instructions) / 1e6)
                    })
                })
            })
            .into(),
    }
}

fn series(
    name: &str,
    measured: &[(Scenario, Exact)],
    point: impl Fn(&Scenario, &Exact) -> Option<(f64, f64)>,
) -> Series {
    let mut points: Vec<(f64, f64)> = measured
        .iter()
        .filter_map(|(scenario, exact)| point(scenario, exact))
        .collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    Series {
        name: name.to_owned(),
        points,
    }
}

/// Replaces what stands between `<!-- bench: NAME -->` and `<!-- /bench -->`.
fn replace_block(page: &str, name: &str, text: &str) -> Result<String> {
    const END: &str = "<!-- /bench -->";
    let begin = format!("<!-- bench: {name} -->\n");
    let (head, rest) = page
        .split_once(&begin)
        .with_context(|| format!("there is no {}", begin.trim_end()))?;
    let (_, tail) = rest
        .split_once(END)
        .with_context(|| format!("there is no {END} after {}", begin.trim_end()))?;
    Ok(format!("{head}{begin}\n{text}\n{END}{tail}"))
}

/// Microseconds with as many digits as they are worth.
fn micros(value: f64) -> String {
    if value < 100.0 {
        format!("{value:.1}")
    } else {
        group(&format!("{value:.0}"))
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn thousands(count: impl Display + Copy) -> String {
    group(&count.to_string())
}

fn group(digits: &str) -> String {
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(thousands),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(micros(12.345), "12.3");
        assert_eq!(micros(1234.5), "1,234");
    }

    #[test]
    fn numbers_are_aligned_on_the_right() {
        let table = Table {
            header: ["name", "n"],
            text: [true, false],
            rows: vec![["a".into(), "100".into()], ["long name".into(), "7".into()]],
        };
        assert_eq!(
            table.terminal(),
            "name         n\na          100\nlong name    7\n"
        );
        assert_eq!(
            table.markdown(),
            "| name | n |\n| --- | ---: |\n| a | 100 |\n| long name | 7 |\n"
        );
    }

    #[test]
    fn a_block_is_replaced_and_nothing_else() {
        let page = "# Title\n<!-- bench: a -->\nold\n<!-- /bench -->\nmore\n\
                    <!-- bench: b -->\nkept\n<!-- /bench -->\n";
        let replaced = replace_block(page, "a", "new\n").expect("a page");
        assert_eq!(
            replaced,
            "# Title\n<!-- bench: a -->\n\nnew\n\n<!-- /bench -->\nmore\n\
             <!-- bench: b -->\nkept\n<!-- /bench -->\n"
        );
        assert_eq!(
            replace_block(&replaced, "a", "new\n").expect("a page"),
            replaced
        );
        assert!(replace_block(page, "c", "").is_err());
    }
}
