//! Reads typed values from a tree of JSON values, and names a value of a wrong type by its path.

use serde_json::Value;

/// A value that is not as it has to be: the error of every function that reads a value. Its sentence
/// shows no value, because the environment variables of a Pod may hold secrets.
#[derive(Clone, Copy, Debug)]
pub enum InvalidField<'v> {
    /// The value must be this, e.g. `a list`.
    MustBe(&'v Value, &'static str),
    /// This member of the object is missing.
    Missing(&'v Value, &'static str),
}

impl InvalidField<'_> {
    /// The sentence about the wrong value, with its path from `root` on. A value is found by where
    /// it lies in the tree.
    pub fn sentence(&self, root: &Value) -> String {
        let mut path = "object".to_owned();
        let (Self::MustBe(value, _) | Self::Missing(value, _)) = self;
        add_path(root, value, &mut path);
        let sentence = match self {
            Self::MustBe(_, expected) => format!("{path} must be {expected}"),
            Self::Missing(_, key) => format!("{path}.{key} is missing"),
        };
        sentence.trim_start_matches("object.").to_owned()
    }
}

/// Adds the path from `tree` to a value. Returns whether the value lies in this tree.
fn add_path(tree: &Value, value: &Value, path: &mut String) -> bool {
    if std::ptr::eq(tree, value) {
        return true;
    }
    let length = path.len();
    let mut finds = |step: &str, member| {
        path.truncate(length);
        path.push_str(step);
        add_path(member, value, path)
    };
    match tree {
        Value::Object(members) => members
            .iter()
            .any(|(key, member)| finds(&[".", key].concat(), member)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .any(|(index, member)| finds(&format!("[{index}]"), member)),
        _ => false,
    }
}

/// A member of an object. None if it is missing or `null`.
pub fn member<'v>(object: &'v Value, key: &str) -> Result<Option<&'v Value>, InvalidField<'v>> {
    let members = object
        .as_object()
        .ok_or(InvalidField::MustBe(object, "an object"))?;
    Ok(members.get(key).filter(|value| !value.is_null()))
}

/// A member of an object.
pub fn required<'v>(object: &'v Value, key: &'static str) -> Result<&'v Value, InvalidField<'v>> {
    member(object, key)?.ok_or(InvalidField::Missing(object, key))
}

/// A member, as a function reads it. None if it is missing or `null`.
pub fn typed<'v, T>(
    object: &'v Value,
    key: &str,
    expected: &'static str,
    read: impl Fn(&'v Value) -> Option<T>,
) -> Result<Option<T>, InvalidField<'v>> {
    let read = |value| read(value).ok_or(InvalidField::MustBe(value, expected));
    member(object, key)?.map(read).transpose()
}

/// A member that is a string. None if it is missing or `null`.
pub fn string<'v>(object: &'v Value, key: &str) -> Result<Option<&'v str>, InvalidField<'v>> {
    typed(object, key, "a string", Value::as_str)
}

/// The elements of a member that is a list. Empty if it is missing or `null`.
pub fn list<'v>(object: &'v Value, key: &str) -> Result<&'v [Value], InvalidField<'v>> {
    let list = typed(object, key, "a list", Value::as_array)?;
    Ok(list.map_or(&[], Vec::as_slice))
}

/// A member that is a string. None if it is anything else: the API server refuses such an object,
/// or the value is not the author's.
pub fn lenient_string<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.get(key)?.as_str()
}

/// The elements of a member that is a list. Empty if it is anything else.
pub fn lenient_list<'v>(object: &'v Value, key: &str) -> &'v [Value] {
    list(object, key).unwrap_or_default()
}
