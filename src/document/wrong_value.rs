//! A value that is not as it has to be.

use std::borrow::Cow;

use super::node::Node;

/// A value that is not as it has to be, or that is missing.
///
/// The sentence about it never contains a value of the request, because the environment variables of
/// a Pod may hold secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrongValue<'a> {
    /// The text of the value. If the value is missing, the text of the object that lacks it.
    text: &'a str,
    /// The key of the missing value.
    missing: Option<&'static str>,
    problem: Cow<'static, str>,
}

impl<'a> WrongValue<'a> {
    /// A value with this problem, e.g. `must be Always, IfNotPresent or Never`.
    pub(crate) const fn new(value: &Node<'a>, problem: &'static str) -> Self {
        Self {
            text: value.text(),
            missing: None,
            problem: Cow::Borrowed(problem),
        }
    }

    /// A value of the wrong type. `expected` is a noun with its article, e.g. `a list`.
    #[cold]
    pub(super) fn of_type(value: &Node<'a>, expected: &str) -> Self {
        let problem = format!("must be {expected}, not {}", type_of(value.text()));
        Self {
            problem: problem.into(),
            ..Self::new(value, "")
        }
    }

    /// A member that an object lacks.
    pub(crate) fn missing(object: &Node<'a>, key: &'static str) -> Self {
        Self {
            missing: Some(key),
            ..Self::new(object, "is missing")
        }
    }

    /// The sentence for a person: the path from `root` to the value, and the problem. `name` is the
    /// name of `root`, which is shown if `root` itself is wrong.
    #[cold]
    pub(crate) fn sentence(&self, root: &Node<'_>, name: &str) -> String {
        let mut path = root.path_to(self.text);
        if let Some(key) = self.missing {
            path = format!("{path}.{key}");
        }
        let path = match path.trim_start_matches('.') {
            "" => name,
            path => path,
        };
        format!("{path} {}", self.problem)
    }
}

/// The type of a value, as a noun with its article. The first byte of the JSON decides.
pub(crate) fn type_of(json: &str) -> &'static str {
    match json.bytes().next() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}
