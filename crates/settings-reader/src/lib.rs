//! Reads a tree of settings into typed structs, and reports every problem with its path.
//!
//! serde stops at the first problem. So [`read`] takes the wrong value out of the tree and reads the
//! rest again, until the rest can be read or there are 100 problems.
//!
//! An error of `serde_json` is a text that lacks the path to the wrong value and may repeat the value.
//! So this crate has its own deserializer (`deserializer.rs`). An error of this deserializer has parts
//! instead of a text, and collects the path to the wrong value. The deserializer also knows the
//! conventions of settings: which values mean "not set", and the bare `Off` of YAML 1.1.
//!
//! This code is a separate crate, so that it can be compiled for size. The types of Kubernetes have many
//! fields, so the code that compares a check template with them is large. Its speed matters little,
//! because it runs only once, when this policy is loaded.

mod deserializer;
mod path;

use k8s_openapi::api::core::v1::Container;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use self::deserializer::{DeserializeError, ValueDeserializer};
pub use self::path::Step;

/// The largest number of problems that [`read`] reports. Each problem costs one more reading of
/// the whole tree, and people don't read more problems than this.
const PROBLEMS_MAX: usize = 100;

/// The kind of tree that is read. Some values have a special meaning in settings only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsOrKubernetesObject {
    /// Settings: `null`, `{}` and `[]` mean "not set", `""` in a list of strings counts as absent,
    /// and `false` may mean `Off`.
    Settings,
    /// A part of a Kubernetes object: no value has a special meaning.
    KubernetesObject,
}

/// A wrong value in a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueProblem {
    /// The path to the wrong value, e.g. `exempt.images[2]`. If the whole tree is wrong, the path is
    /// the argument `root` of [`read`].
    pub path: String,
    /// The problem with the value.
    pub kind: ProblemKind,
    /// The wrong value. It is `null` if there is no value at this path.
    pub found: Value,
}

/// The problem with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The value must be an object.
    MustBeObject,
    /// The value has another type, or it is out of range. The text is the expected value in
    /// serde's words.
    MustBe(String),
    /// The value must be one of these words, but it is another value.
    NoneOf(&'static [&'static str]),
    /// The key is no setting. The list has the keys that are allowed in the same object.
    UnknownKey(&'static [&'static str]),
    /// Kubernetes has no such field.
    UnknownField,
    /// The object lacks this field, which is required.
    MissingField(&'static str),
    /// The type of the field refuses the value, for this reason.
    Refused(String),
}

/// Reads a tree, and removes each wrong value from the tree until the rest can be read.
///
/// `root` is the path of the tree itself. The first part of the result is `None` if the whole tree
/// is the wrong value, or if there are 100 problems. The second part has at most 100 problems.
pub fn read<T: DeserializeOwned>(
    tree: &mut Value,
    root: &str,
    kind: SettingsOrKubernetesObject,
) -> (Option<T>, Vec<ValueProblem>) {
    let mut collector = ProblemCollector::new(root);
    loop {
        match T::deserialize(ValueDeserializer::new(tree, kind)) {
            Ok(read) => return (Some(read), collector.problems),
            Err(error) => {
                if !collector.collect(tree, error) {
                    return (None, collector.problems);
                }
            }
        }
    }
}

/// Compares the fields of a container with Kubernetes' own type `Container`.
///
/// `root` is the path of the container.
pub fn container_problems(fields: Map<String, Value>, root: &str) -> Vec<ValueProblem> {
    read::<Container>(
        &mut Value::Object(fields),
        root,
        SettingsOrKubernetesObject::KubernetesObject,
    )
    .1
}

/// Whether a setting with this value counts as not set. The forms of the Kubewarden UI write such
/// values for the fields that a person left empty. A list also counts as not set if all its
/// elements are `""`.
pub fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().all(is_empty_string),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether this value is `""`.
fn is_empty_string(value: &Value) -> bool {
    value.as_str().is_some_and(str::is_empty)
}

/// Collects the problems of one tree, and remembers the values that were removed from it.
struct ProblemCollector<'r> {
    /// The path of the tree.
    root: &'r str,
    problems: Vec<ValueProblem>,
    /// The removed list elements: the path of the list, and the element's index in the user's text.
    /// A removal moves later elements, but a problem has to name their index in the user's text.
    removed: Vec<(Vec<Step>, usize)>,
}

impl<'r> ProblemCollector<'r> {
    const fn new(root: &'r str) -> Self {
        Self {
            root,
            problems: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// Records a problem and removes the wrong value from the tree. Returns `false` if the tree must
    /// not be read again: the value could not be removed, or there are 100 problems.
    fn collect(&mut self, tree: &mut Value, error: DeserializeError) -> bool {
        let (kind, steps) = error.into_parts();
        let user_steps = self.user_steps(&steps);
        let found = Step::follow(&steps, tree).map(Value::take);
        self.problems.push(ValueProblem {
            path: Step::path(self.root, &user_steps),
            kind,
            found: found.unwrap_or_default(),
        });
        let Some((last, parents)) = steps.split_last() else {
            return false;
        };
        let is_removed = match (Step::follow(parents, tree), last) {
            (Some(Value::Object(map)), Step::Key(key)) => map.remove(key).is_some(),
            (Some(Value::Array(elements)), Step::Index(index)) if *index < elements.len() => {
                elements.remove(*index);
                if let Some((Step::Index(index), list)) = user_steps.split_last() {
                    let after = self.removed.partition_point(|(_, other)| other <= index);
                    self.removed.insert(after, (list.to_vec(), *index));
                }
                true
            }
            _ => false,
        };
        is_removed && self.problems.len() < PROBLEMS_MAX
    }

    /// Turns steps in the present tree into steps in the tree that the user wrote.
    fn user_steps(&self, steps: &[Step]) -> Vec<Step> {
        let mut user_steps: Vec<Step> = Vec::with_capacity(steps.len());
        for step in steps {
            let mut step = step.clone();
            if let Step::Index(index) = &mut step {
                for (list, removed) in &self.removed {
                    if *list == user_steps && *removed <= *index {
                        *index = index.saturating_add(1);
                    }
                }
            }
            user_steps.push(step);
        }
        user_steps
    }
}
