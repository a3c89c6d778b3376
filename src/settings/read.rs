//! Reading the settings into their structs, and telling every problem with its path.
//!
//! serde stops at the first problem, so what is wrong is taken out of the tree and the rest is
//! read again, until it reads. A deserializer of the project's own gives errors with parts
//! instead of a text (those of `serde_json` repeat values and don't list a word's alternatives),
//! which collect their path on the way up, and knows the conventions of settings: what is not
//! set, and the bare `Off` of YAML 1.1.

use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::{MAX_LOOKUPS, Settings};
use crate::sentence::shorten;

/// How many problems are looked for: nobody reads more, and each is a look at all settings.
const PROBLEMS_MAX: usize = 100;
/// The longest key or value of the settings in an error, in characters.
const SHOWN_MAX: usize = 60;
/// The same for a text with its quotes.
const QUOTED_MAX: usize = 62;
/// The longest path in an error, in characters.
const PATH_MAX: usize = 120;

/// A problem of the settings.
#[derive(Debug)]
pub(super) struct Problem {
    /// The path to the value that is wrong.
    pub(super) path: String,
    /// The sentence, path included.
    pub(super) told: String,
}

/// Reads settings as far as they can be read, and tells what can't.
pub(super) fn settings(text: &[u8]) -> Result<(Settings, Vec<Problem>), Vec<String>> {
    let mut tree: Value = serde_json::from_slice(text).map_err(|error| {
        vec![format!(
            "the settings are no valid JSON at line {}, column {}",
            error.line(),
            error.column()
        )]
    })?;
    if is_unset(&tree) {
        return Ok((Settings::default(), Vec::new()));
    }
    let (settings, problems) = all::<Settings>(&mut tree, "", Form::Settings);
    Ok((settings.unwrap_or_default(), problems))
}

/// What is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Settings: `null`, `{}` and `[]` mean "not set", `false` may be `Off`, values are shown.
    Settings,
    /// A part of a Kubernetes object: all is taken as it stands, and no value is shown.
    Object,
}

/// Reads a tree that stands at the path `root`, taking out what is wrong until the rest can be
/// read.
pub(super) fn all<T: DeserializeOwned>(
    tree: &mut Value,
    root: &str,
    form: Form,
) -> (Option<T>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut removed = Removed::default();
    while problems.len() < PROBLEMS_MAX {
        let Wrong { what, mut steps } = match T::deserialize(Source { value: tree, form }) {
            Ok(read) => return (Some(read), problems),
            Err(wrong) => wrong,
        };
        steps.reverse();
        let path = removed.as_written(root, &steps);
        let found = steps.iter().try_fold(&*tree, |value, step| step.of(value));
        let told = what.sentence(&path, found, form);
        problems.push(Problem { path, told });
        if !removed.take(tree, &steps) {
            break;
        }
    }
    (None, problems)
}

/// Reads `registry.maxLookups`.
pub(super) fn max_lookups<'de, D: Deserializer<'de>>(source: D) -> Result<usize, D::Error> {
    use serde::Deserialize;
    use serde::de::Error;

    let value = Value::deserialize(source)?;
    value
        .as_u64()
        .filter(|number| *number <= MAX_LOOKUPS)
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(|| {
            let wanted = format!("a whole number from 0 to {MAX_LOOKUPS}");
            D::Error::invalid_value(Unexpected::Other("value"), &wanted.as_str())
        })
}

/// Whether a value says nothing: forms of the Kubewarden UI leave such values behind.
fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl Step {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Key(key) => value.get(key),
            Self::Index(index) => value.get(index),
        }
    }
}

/// What was taken out of lists, so that later elements keep the index that the user gave them.
#[derive(Debug, Default)]
struct Removed(Vec<(Vec<Step>, usize)>);

impl Removed {
    /// Takes a value out of a tree. False if there is none.
    fn take(&mut self, tree: &mut Value, steps: &[Step]) -> bool {
        let written = self.original(steps);
        let Some((last, parents)) = steps.split_last() else {
            return false;
        };
        let parent = parents.iter().try_fold(tree, |value, step| match step {
            Step::Key(key) => value.get_mut(key),
            Step::Index(index) => value.get_mut(index),
        });
        match (parent, last) {
            (Some(Value::Object(map)), Step::Key(key)) => map.remove(key).is_some(),
            (Some(Value::Array(elements)), Step::Index(index)) if *index < elements.len() => {
                elements.remove(*index);
                if let Some((Step::Index(index), list)) = written.split_last() {
                    let after = self.0.partition_point(|(_, other)| other <= index);
                    self.0.insert(after, (list.to_vec(), *index));
                }
                true
            }
            _ => false,
        }
    }

    /// The steps as they were before anything was taken out.
    fn original(&self, steps: &[Step]) -> Vec<Step> {
        let mut original: Vec<Step> = Vec::with_capacity(steps.len());
        for step in steps {
            let mut step = step.clone();
            if let Step::Index(index) = &mut step {
                for (list, gone) in &self.0 {
                    if *list == original && *gone <= *index {
                        *index = index.saturating_add(1);
                    }
                }
            }
            original.push(step);
        }
        original
    }

    /// The path that leads to where these steps led at first, e.g. `exempt.images[2]`.
    fn as_written(&self, root: &str, steps: &[Step]) -> String {
        let original = self.original(steps).into_iter();
        original.fold(root.to_owned(), |path, step| match step {
            Step::Index(index) => format!("{path}[{index}]"),
            Step::Key(key) if path.is_empty() => key,
            Step::Key(key) => format!("{path}.{key}"),
        })
    }
}

/// What is wrong, and where.
#[derive(Debug)]
struct Wrong {
    what: What,
    /// The steps that lead there, the last of them first.
    steps: Vec<Step>,
}

impl Wrong {
    /// The same, as the list or object above sees it.
    fn below(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

impl From<What> for Wrong {
    fn from(what: What) -> Self {
        Self {
            what,
            steps: Vec::new(),
        }
    }
}

/// What is wrong with a value.
#[derive(Debug)]
enum What {
    /// It is of another kind, or out of range.
    MustBe(String),
    /// It is none of a few words.
    NoneOf(&'static [&'static str]),
    /// No field has this key.
    UnknownKey(&'static [&'static str]),
    /// Kubernetes has no such field.
    NoField,
    /// It lacks a field that it must have.
    Lacks(&'static str),
    /// What its type says about it, to follow the value.
    Refused(String),
}

impl What {
    /// What is wrong, with the path, what is there, and what is allowed.
    fn sentence(&self, path: &str, found: Option<&Value>, form: Form) -> String {
        let place = match path {
            "" => "the settings".to_owned(),
            path => shorten(path, PATH_MAX).into_owned(),
        };
        let found = found.unwrap_or(&Value::Null);
        let shown = || match found {
            Value::Bool(_) | Value::Number(_) | Value::String(_) if form == Form::Settings => {
                shorten(&found.to_string(), QUOTED_MAX).into_owned()
            }
            _ => kind(found).to_owned(),
        };
        match self {
            // A section has no value that could be shown.
            Self::MustBe(wanted) if wanted == AN_OBJECT => {
                format!("{place} must be {wanted}, not {}", kind(found))
            }
            Self::MustBe(wanted) => format!("{place} must be {wanted}, not {}", shown()),
            Self::NoneOf(words) => {
                format!(
                    "{place} must be one of {}, not {}",
                    words.join(", "),
                    shown()
                )
            }
            Self::UnknownKey(keys) => {
                let place = shorten(path, SHOWN_MAX);
                let holds = if path.contains('.') {
                    "it holds"
                } else {
                    "the settings have"
                };
                format!("{place} is not a setting: {holds} {}", keys.join(", "))
            }
            Self::NoField => format!("{place} is not a field of a container"),
            Self::Lacks(key) => format!("{place}.{key} is missing: every entry needs it"),
            Self::Refused(problem) => format!("{place} {} {problem}", shown()),
        }
    }
}

const AN_OBJECT: &str = "an object";

/// What a value is, where it is not shown itself.
const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what.sentence("it", None, Form::Object))
    }
}

impl std::error::Error for Wrong {}

impl serde::de::Error for Wrong {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        What::Refused(problem.to_string()).into()
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = match &*expected.to_string() {
            "a boolean" => "true or false".to_owned(),
            "i32" | "i64" => "a whole number".to_owned(),
            "Quantity" => "a quantity such as 100m or 64Mi".to_owned(),
            expected => expected.to_owned(),
        };
        What::MustBe(expected).into()
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        What::NoneOf(expected).into()
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        What::UnknownKey(expected).into()
    }

    fn missing_field(field: &'static str) -> Self {
        What::Lacks(field).into()
    }
}

/// A value that is read.
#[derive(Clone, Copy, Debug)]
struct Source<'v> {
    value: &'v Value,
    form: Form,
}

impl<'v> Source<'v> {
    const fn inside(self, value: &'v Value) -> Self {
        Self { value, ..self }
    }

    fn must_be<T>(wanted: &str) -> Result<T, Wrong> {
        Err(What::MustBe(wanted.to_owned()).into())
    }
}

/// The elements of a list, with what is wrong told by their indexes.
struct Elements<'v, I> {
    list: Source<'v>,
    rest: I,
    index: usize,
}

impl<'de, I: Iterator<Item = &'de Value>> SeqAccess<'de> for Elements<'de, I> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Wrong> {
        let Some(element) = self.rest.next() else {
            return Ok(None);
        };
        let index = self.index;
        self.index = index.saturating_add(1);
        let read = seed.deserialize(self.list.inside(element));
        read.map(Some)
            .map_err(|wrong| wrong.below(Step::Index(index)))
    }
}

/// The members of an object, with what is wrong told by their keys.
struct Members<'v, I> {
    map: Source<'v>,
    rest: I,
    last: Option<(&'v str, &'v Value)>,
}

impl<'de, I> MapAccess<'de> for Members<'de, I>
where
    I: Iterator<Item = (&'de String, &'de Value)>,
{
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Wrong> {
        let Some((key, value)) = self.rest.next() else {
            return Ok(None);
        };
        self.last = Some((key, value));
        let read = seed.deserialize(key.as_str().into_deserializer());
        read.map(Some)
            .map_err(|wrong: Wrong| wrong.below(Step::Key(key.clone())))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let (key, value) = self.last.take().unwrap_or(("", &Value::Null));
        let read = seed.deserialize(self.map.inside(value));
        read.map_err(|wrong| wrong.below(Step::Key(key.to_owned())))
    }
}

impl<'de> Deserializer<'de> for Source<'de> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => {
                if let Some(number) = number.as_u64() {
                    visitor.visit_u64(number)
                } else if let Some(number) = number.as_i64() {
                    visitor.visit_i64(number)
                } else {
                    visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN))
                }
            }
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(list) => visitor.visit_seq(Elements {
                list: self,
                rest: list.iter(),
                index: 0,
            }),
            Value::Object(map) => visitor.visit_map(Members {
                map: self,
                rest: map.iter(),
                last: None,
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    /// A list is no struct, though serde's derived structs would take it for their fields.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let Value::Object(map) = self.value else {
            return Self::must_be(AN_OBJECT);
        };
        let is_set = |(key, value): &(&String, &Value)| {
            let unset = match self.form {
                Form::Settings => is_unset(value),
                Form::Object => false,
            };
            !(unset && fields.contains(&key.as_str()))
        };
        visitor.visit_map(Members {
            map: self,
            rest: map.iter().filter(is_set),
            last: None,
        })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Value::Object(_) => self.deserialize_any(visitor),
            _ => Self::must_be(AN_OBJECT),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Value::Array(_) => self.deserialize_any(visitor),
            _ => Self::must_be("a list"),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.value {
            Value::String(word) => visitor.visit_enum(word.as_str().into_deserializer()),
            // YAML 1.1, which kubectl reads, takes a bare `Off` for `false`.
            Value::Bool(false) if variants.contains(&"Off") => {
                visitor.visit_enum("Off".into_deserializer())
            }
            _ => Err(What::NoneOf(variants).into()),
        }
    }

    /// Nobody asked for this value: the structs of `k8s-openapi` pass over what they don't know.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Wrong> {
        Err(What::NoField.into())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct tuple tuple_struct identifier
    }
}
