//! Reads a tree of settings into typed structs, and reports every problem with its path.
//!
//! serde stops at the first problem. So [`read`] reads the tree again without the wrong value, until
//! the rest can be read or there are 100 problems.
//!
//! An error of `serde_json` is a text that lacks the path to the wrong value and may repeat the value.
//! So this crate has its own deserializer (`deserializer.rs`), whose error is a [`ValueProblem`]. The
//! deserializer also knows the conventions of settings: which values mean "not set", and the bare
//! `Off` of YAML 1.1.
//!
//! This code is a separate crate, so that it can be compiled for size. The types of Kubernetes have many
//! fields, so the code that compares a check template with them is large. Its speed matters little,
//! because it runs only once, when this policy is loaded.

mod deserializer;

use k8s_openapi::api::core::v1::Container;
use serde::Deserialize;
use serde_json::Value;

use self::deserializer::ValueDeserializer;

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
pub struct ValueProblem<'v> {
    /// The path to the wrong value, e.g. `exempt.images[2]`. If the whole tree is wrong, the path is
    /// the argument `root` of [`read`].
    pub path: String,
    /// The problem with the value.
    pub kind: ValueProblemKind,
    /// The wrong value.
    pub found: &'v Value,
}

/// The problem with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueProblemKind {
    /// The value must be an object.
    MustBeObject,
    /// The value has another type, or it is out of range. The text is the expected value, mostly in
    /// serde's words.
    MustBe(String),
    /// The key is no setting. The list has the keys that are allowed in the same object.
    UnknownKey(&'static [&'static str]),
    /// Kubernetes has no such field.
    UnknownField,
    /// The object lacks this field, which is required.
    MissingField(&'static str),
    /// The type of the field refuses the value, for this reason.
    Refused(String),
}

/// Reads a tree, and leaves out each wrong value.
///
/// `root` is the path of the tree itself. The first part of the result is the default if the whole tree
/// is the wrong value, if the tree is settings that are not set, or if there are 100 problems. The second
/// part has at most 100 problems.
pub fn read<'v, T: Deserialize<'v> + Default>(
    tree: &'v Value,
    root: &str,
    kind: SettingsOrKubernetesObject,
) -> (T, Vec<ValueProblem<'v>>) {
    let mut problems = Vec::new();
    let mut left_out = Vec::new();
    while problems.len() < PROBLEMS_MAX {
        let source = ValueDeserializer::new(tree, kind, &left_out);
        if source.is_unset(tree) {
            break;
        }
        let mut problem = match T::deserialize(source) {
            Ok(read) => return (read, problems),
            Err(error) => error.into_problem(),
        };
        let is_whole_tree = problem.path.is_empty();
        if is_whole_tree {
            problem.found = tree;
        }
        left_out.push(problem.found);
        problem.path.insert_str(0, root);
        if root.is_empty() && problem.path.starts_with('.') {
            problem.path.remove(0);
        }
        problems.push(problem);
        if is_whole_tree {
            break;
        }
    }
    (T::default(), problems)
}

/// Reads a container as Kubernetes' own type, with the problems of its fields. A field that the type doesn't know is a
/// problem too. `root` is the path of the container.
pub fn read_container<'v>(container: &'v Value, root: &str) -> (Container, Vec<ValueProblem<'v>>) {
    read(
        container,
        root,
        SettingsOrKubernetesObject::KubernetesObject,
    )
}

/// Writes a container as JSON. serde can write every container, so the text is never empty.
pub fn container_json(container: &Container) -> String {
    serde_json::to_string(container).unwrap_or_default()
}

/// Whether this value is `""`.
fn is_empty_string(value: &Value) -> bool {
    value.as_str().is_some_and(str::is_empty)
}
