//! A value that is not as it has to be.

use std::borrow::Cow;

/// A value that is not as it has to be, or that is missing.
///
/// The sentence about it never contains a value of the request, because the environment variables of
/// a Pod may hold secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrongValue<'a> {
    /// The text of the value. If the value is missing, the text of the object that lacks it.
    pub(super) text: &'a str,
    /// The key of the missing value.
    pub(super) missing: Option<&'static str>,
    /// The end of the sentence.
    pub(super) problem: Cow<'static, str>,
}

impl<'a> WrongValue<'a> {
    /// The value with this text has this problem, e.g. `must be Always, IfNotPresent or Never`.
    pub(crate) const fn new(text: &'a str, problem: &'static str) -> Self {
        Self {
            text,
            missing: None,
            problem: Cow::Borrowed(problem),
        }
    }

    /// A value of the wrong type. `expected` is a noun with its article, e.g. `a list`.
    #[cold]
    pub(super) fn of_type(text: &'a str, expected: &str) -> Self {
        let problem = format!("must be {expected}, not {}", type_of(text));
        Self {
            problem: problem.into(),
            ..Self::new(text, "")
        }
    }

    /// A member that an object lacks.
    pub(crate) fn missing(object: &'a str, key: &'static str) -> Self {
        Self {
            missing: Some(key),
            ..Self::new(object, "is missing")
        }
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
