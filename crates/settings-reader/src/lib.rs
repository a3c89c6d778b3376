//! Reads a tree of settings into typed structs, and tells every problem in it.
//!
//! serde stops at the first problem, so what is wrong is taken out of the tree and the rest is
//! read again, until it reads. A deserializer of the project's own gives errors with parts
//! instead of a text (those of `serde_json` repeat values and don't list a word's alternatives),
//! which collect their path on the way up, and knows the conventions of settings: what is not
//! set, and the bare `Off` of YAML 1.1.
//!
//! It is a crate of its own so that it can be compiled for size: the types of Kubernetes have
//! many fields, and a template is held against them once, when the policy is loaded.

mod source;

use k8s_openapi::api::core::v1::Container;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use self::source::{Source, Step, Wrong};

/// How many problems are looked for: nobody reads more, and each is a look at the whole tree.
const PROBLEMS_MAX: usize = 100;

/// What is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Settings: `null`, `{}` and `[]` mean "not set", and `false` may be `Off`.
    Settings,
    /// A part of a Kubernetes object: all is taken as it stands.
    Object,
}

/// One thing wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The path to the value that is wrong, e.g. `exempt.images[2]`; empty for the whole tree.
    pub path: String,
    /// What is wrong with it.
    pub what: What,
    /// The value; `null` where there is none.
    pub found: Value,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It must be an object.
    MustBeObject,
    /// It is of another kind, or out of range: what its type expects, in serde's words.
    MustBe(String),
    /// It is none of these words.
    NoneOf(&'static [&'static str]),
    /// No setting has this key; these have one.
    UnknownKey(&'static [&'static str]),
    /// Kubernetes has no such field.
    NoField,
    /// It lacks a field that it must have.
    Lacks(&'static str),
    /// What its type says about it.
    Refused(String),
}

/// Reads a tree that stands at the path `root`, and takes out what is wrong until the rest can be
/// read. None if that is of no use.
#[must_use]
pub fn read<T: DeserializeOwned>(
    tree: &mut Value,
    root: &str,
    form: Form,
) -> (Option<T>, Vec<Problem>) {
    let mut reading = Reading::of(root);
    loop {
        match T::deserialize(Source::new(tree, form)) {
            Ok(read) => return (Some(read), reading.problems),
            Err(wrong) => {
                if !reading.take_out(tree, wrong) {
                    return (None, reading.problems);
                }
            }
        }
    }
}

/// Holds the fields of a container, which stand at the path `root`, against Kubernetes' own type.
#[must_use]
pub fn container_problems(fields: Map<String, Value>, root: &str) -> Vec<Problem> {
    read::<Container>(&mut Value::Object(fields), root, Form::Object).1
}

/// Whether a value says nothing: forms of the Kubewarden UI leave such values behind.
#[must_use]
pub fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// What was found, and taken out, so far.
struct Reading<'r> {
    root: &'r str,
    problems: Vec<Problem>,
    /// The elements that were taken out of lists, by their list, so that later ones keep the index
    /// that the user gave them.
    removed: Vec<(Vec<Step>, usize)>,
}

impl<'r> Reading<'r> {
    const fn of(root: &'r str) -> Self {
        Self {
            root,
            problems: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// Takes out what is wrong. False if there is nothing left to read.
    fn take_out(&mut self, tree: &mut Value, wrong: Wrong) -> bool {
        let (what, steps) = wrong.into_parts();
        let written = self.as_written(&steps);
        let found = Step::follow(&steps, tree).map(Value::take);
        self.problems.push(Problem {
            path: self.path(&written),
            what,
            found: found.unwrap_or_default(),
        });
        let Some((last, parents)) = steps.split_last() else {
            return false;
        };
        let is_out = match (Step::follow(parents, tree), last) {
            (Some(Value::Object(map)), Step::Key(key)) => map.remove(key).is_some(),
            (Some(Value::Array(elements)), Step::Index(index)) if *index < elements.len() => {
                elements.remove(*index);
                if let Some((Step::Index(index), list)) = written.split_last() {
                    let after = self.removed.partition_point(|(_, other)| other <= index);
                    self.removed.insert(after, (list.to_vec(), *index));
                }
                true
            }
            _ => false,
        };
        is_out && self.problems.len() < PROBLEMS_MAX
    }

    /// The steps as they were before anything was taken out.
    fn as_written(&self, steps: &[Step]) -> Vec<Step> {
        let mut written: Vec<Step> = Vec::with_capacity(steps.len());
        for step in steps {
            let mut step = step.clone();
            if let Step::Index(index) = &mut step {
                for (list, gone) in &self.removed {
                    if *list == written && *gone <= *index {
                        *index = index.saturating_add(1);
                    }
                }
            }
            written.push(step);
        }
        written
    }

    fn path(&self, steps: &[Step]) -> String {
        let mut path = self.root.to_owned();
        for step in steps {
            match step {
                Step::Index(index) => {
                    path.push('[');
                    path.push_str(&index.to_string());
                    path.push(']');
                }
                Step::Key(key) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                }
            }
        }
        path
    }
}
