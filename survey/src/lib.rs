//! What each preset of consistent-pull-policy would do to the workloads of a cluster, and what
//! becomes of their Pods while an image is gone or a registry is down. Objects go in, rows come out:
//! nothing here is of a browser or of a terminal.
//!
//! 1. [`Survey::new`] reads the presets.
//! 2. [`Survey::read`] reads the output of kubectl in pieces, and [`Survey::finish`] ends it. What
//!    nobody reads is dropped, and the objects of one controller become one workload.
//! 3. [`Survey::ask`] takes the question: the incident, and what a person chooses.
//! 4. [`Survey::work`] works out the [`Row`] of one workload: each object is sent to the policies
//!    that select it, and each Pod starts in a [kubelet in miniature](kubelet). A [`Policy`] gives
//!    this policy's answers.
//! 5. [`Survey::report`] sums the rows up, the [`Answer`] first.
//!
//! The rows and the report are the same in JSON for the page and for the command.

// A panic would stop the page's survey. So no input may lead to one.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects,
    )
)]

mod cluster;
mod controller;
mod csv;
mod incident;
mod json;
pub mod kubelet;
mod object;
mod plan;
mod policy;
mod preset;
mod prune;
mod read;
mod record;
mod report;
mod survey;

pub use self::controller::first_pod;
pub use self::incident::{End, Fate, Incident, Moment, Registries, Start, Step, What};
pub use self::json::{from_yaml, to_yaml, word};
pub use self::object::Entry;
pub use self::plan::{Choice, Namespaces};
pub use self::policy::{Policy, answer_during};
pub use self::preset::{AdmissionPolicy, AdmissionRequest, Preset, is_selected};
pub use self::read::COMMAND;
pub use self::report::{Answer, Ends, Line, RegistryLine, Report};
pub use self::survey::{Detail, Drawing, Effect, Outcome, Question, Row, Survey};
