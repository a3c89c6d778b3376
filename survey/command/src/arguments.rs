//! The command line.

use std::fs;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use consistent_pull_policy_survey::{
    Choice, Fate, Incident, Moment, Namespaces, Outcome, Question, Survey, What,
};

/// Which preset of consistent-pull-policy is for this cluster? What would it change, and what would it not save?
///
/// Reads what a cluster has, and asks this policy about each workload. It installs nothing, connects to nothing, and
/// shows no Secret and no environment variable.
///
///   kubectl get pods,jobs,cronjobs,namespaces,nodes --all-namespaces --output json | kubectl consistent-pull-policy
///
/// Prints the answer first, and then a line for each preset: how many workloads it selects, changes, warns of and rejects,
/// and how many of them would do half of their work, wait, or run an older image in an incident, without it -> with it.
#[derive(Debug, Parser)]
#[command(name = "kubectl consistent-pull-policy", version, verbatim_doc_comment, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Read these files instead of the standard input: JSON or YAML, also several outputs in one file
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// The incident: an image is gone (each in turn, or the named one), a registry is down (likewise), or all
    /// registries are down
    #[arg(
        long,
        value_name = "image[=NAME]|registry[=NAME]|registries",
        default_value = "image"
    )]
    incident: String,
    /// Which Pods start in the incident: new ones on an empty node, new ones meanwhile on a node with older copies, or
    /// those from before after a reboot of their node
    #[arg(long, value_enum, default_value = "empty")]
    moment: When,
    /// Show this preset's workloads and its command. A path with a `/` or a `.` is a manifest of your own, with
    /// your settings
    #[arg(long, value_name = "NAME|FILE")]
    preset: Option<String>,
    /// Write this registry in place of those that the presets invent. A policy server connects to it
    #[arg(long, value_name = "HOST")]
    registry: Vec<String>,
    /// Only in these namespaces
    #[arg(long, value_name = "NAMESPACE", conflicts_with = "exclude")]
    only: Vec<String>,
    /// Not in these namespaces
    #[arg(long, value_name = "NAMESPACE")]
    exclude: Vec<String>,
    /// The chart in the command that installs the preset
    #[arg(long, default_value = concat!(
        "oci://ghcr.io/consistent-pull-policy/charts/consistent-pull-policy --version ",
        env!("CARGO_PKG_VERSION")
    ))]
    pub(crate) chart: String,
    /// How to print it
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) output: Output,
    /// Exit with 1 if a workload does half of its work or waits in the incident, or is rejected without an incident. With
    /// --preset: with it
    #[arg(long, value_enum)]
    fail_on: Option<FailOn>,
}

const EXAMPLES: &str = "\
Exit status: 0, 1 (--fail-on found something), 2 (the input or the arguments are wrong).

Examples:
  The cluster's answer if all registries are down, and nodes have older copies:
    … | kubectl consistent-pull-policy --incident registries --moment meanwhile
  In a pull request that changes the settings: fail if they would reject what the cluster runs:
    kubectl consistent-pull-policy --file cluster.json --preset ./policy.yaml --fail-on reject
  All rows, for other programs:
    kubectl consistent-pull-policy --file cluster.json --output csv";

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Output {
    Table,
    Json,
    Csv,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum When {
    Empty,
    Meanwhile,
    Reboot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Half,
    Wait,
    Reject,
}

impl Arguments {
    /// The preset in a file of one's own: its name and its text.
    pub(crate) fn own_preset(&self) -> Result<Option<(String, String)>, String> {
        // The names of the presets have no dot.
        let is_path = |name: &&String| name.contains(['/', '.']);
        let Some(path) = self.preset.as_ref().filter(is_path) else {
            return Ok(None);
        };
        let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        Ok(Some((path.clone(), text)))
    }

    /// The number of the chosen preset.
    pub(crate) fn preset(&self, survey: &Survey) -> Result<Option<usize>, String> {
        let Some(name) = &self.preset else {
            return if self.fail_on == Some(FailOn::Reject) {
                Err("--fail-on reject needs --preset: without one, nothing is rejected".to_owned())
            } else {
                Ok(None)
            };
        };
        let names = survey.presets().iter().map(|preset| &*preset.name);
        let index = names.clone().position(|preset| preset == name);
        let error = || {
            let names: Vec<&str> = names.collect();
            format!("--preset: {name} is none of {}", names.join(", "))
        };
        index.map(Some).ok_or_else(error)
    }

    /// The question.
    pub(crate) fn question(&self) -> Result<Question, String> {
        let (what, name) = self
            .incident
            .split_once('=')
            .unwrap_or((&self.incident, ""));
        let incident = Incident {
            what: match what {
                "image" => What::Image,
                "registry" => What::Registry,
                "registries" if name.is_empty() => What::Registries,
                _ => {
                    return Err(format!(
                        "--incident: {} is no incident: see --help",
                        self.incident
                    ));
                }
            },
            name: name.to_owned(),
            moment: match self.moment {
                When::Empty => Moment::Empty,
                When::Meanwhile => Moment::Meanwhile,
                When::Reboot => Moment::Reboot,
            },
        };
        let namespaces = match (&*self.only, &*self.exclude) {
            ([], []) => None,
            ([], names) => Some(Namespaces::Exclude(names.to_vec())),
            (names, _) => Some(Namespaces::Only(names.to_vec())),
        };
        let choice = Choice {
            registries: self.registry.clone(),
            namespaces,
            is_monitor: false,
        };
        Ok(Question { incident, choice })
    }

    /// Whether the survey found something of `--fail-on`.
    pub(crate) fn is_found(&self, survey: &Survey, preset: Option<usize>) -> bool {
        survey.rows().iter().any(|row| {
            let effect = preset.and_then(|index| row.results.get(index)?.as_ref());
            let fate = effect.map_or(row.before, |effect| effect.after).fate;
            match self.fail_on {
                None => false,
                Some(FailOn::Half) => fate == Fate::Half,
                Some(FailOn::Wait) => fate >= Fate::Waits,
                Some(FailOn::Reject) => {
                    effect.is_some_and(|effect| effect.outcome == Outcome::Rejected)
                }
            }
        })
    }
}
