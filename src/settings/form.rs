//! Reading the settings, key by key, and noting what is wrong with them.

use std::borrow::Cow;

use super::{Coverage, DefaultPolicy, LookupMode, Mode, OnFailure, Settings, Templates};
use crate::json::{Error, Kind, Reader, Span};
use crate::pattern::{ImagePattern, glob_matches};
use crate::pull_policy::PullPolicy;
use crate::sentence::{self, fill};

const MODES: &[(&str, Mode)] = &[
    ("Fix", Mode::Fix),
    ("Reject", Mode::Reject),
    ("Warn", Mode::Warn),
];
const COVERAGES: &[(&str, Coverage)] = &[
    ("Off", Coverage::Off),
    ("Warn", Coverage::Warn),
    ("Reject", Coverage::Reject),
    ("Fix", Coverage::Fix),
];
const TEMPLATES: &[(&str, Templates)] = &[
    ("Off", Templates::Off),
    ("Warn", Templates::Warn),
    ("Fix", Templates::Fix),
];
const LOOKUPS: &[(&str, LookupMode)] = &[
    ("Off", LookupMode::Off),
    ("Verify", LookupMode::Verify),
    ("Pin", LookupMode::Pin),
];
const ON_FAILURE: &[(&str, OnFailure)] = &[
    ("Reject", OnFailure::Reject),
    ("KeepTag", OnFailure::KeepTag),
    ("UseCached", OnFailure::UseCached),
];
const DEFAULT_POLICIES: &[(&str, DefaultPolicy)] = &[
    ("Always", DefaultPolicy::Policy(PullPolicy::Always)),
    (
        "IfNotPresent",
        DefaultPolicy::Policy(PullPolicy::IfNotPresent),
    ),
    ("Never", DefaultPolicy::Policy(PullPolicy::Never)),
    ("AlwaysUnlessDigest", DefaultPolicy::AlwaysUnlessDigest),
];
const BOOLEANS: &[(&str, bool)] = &[("true", true), ("false", false)];
/// The most lookups that a request may be allowed.
const MAX_LOOKUPS: usize = 100;
/// A check's name is a prefix and a number, together a DNS label of at most 63 bytes.
const PREFIX_MAX: usize = 58;

/// The settings while they are read, and what is wrong with them so far.
pub(super) struct Form<'a> {
    pub(super) settings: Settings<'a>,
    pub(super) problems: Vec<String>,
    /// Where the template of a check stands.
    pub(super) template: Option<Span>,
}

/// A key of the settings, with the sections that hold it.
type Key = (&'static str, &'static [&'static str]);

const TOP: Key = (
    "",
    &[
        "mode",
        "imageChecks",
        "pullOnce",
        "defaults",
        "images",
        "registry",
        "templates",
        "exempt",
        "recordChanges",
    ],
);
const IMAGE_CHECKS: Key = (
    "imageChecks",
    &["namePrefixes", "coverage", "everyPod", "template", "after"],
);
const DEFAULTS: Key = (
    "defaults",
    &[
        "imagePullPolicy",
        "imageCheckPullPolicy",
        "replaceServerDefaults",
    ],
);
const IMAGES: Key = ("images", &["requireAlways", "forbidAlways"]);
const REGISTRY: Key = (
    "registry",
    &[
        "lookup",
        "images",
        "skipImages",
        "onNotFound",
        "onDenied",
        "onRateLimited",
        "onUnreachable",
        "onUnknown",
        "maxLookups",
    ],
);
const EXEMPT: Key = ("exempt", &["containers", "images"]);

impl<'a> Form<'a> {
    /// Reads settings, and notes every problem.
    pub(super) fn of(text: &'a [u8]) -> Self {
        let mut form = Self {
            settings: Settings::default(),
            problems: Vec::new(),
            template: None,
        };
        let mut reader = Reader::new(text);
        if let Err(error) = form.section(&mut reader, TOP, Self::top) {
            form.problems.push(error.sentence());
        }
        form
    }

    /// Reads an object of settings, key by key. Only broken JSON ends it.
    fn section(
        &mut self,
        reader: &mut Reader<'a>,
        (section, keys): Key,
        read: fn(&mut Self, &mut Reader<'a>, &str, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if is_unset(reader)? {
            return Ok(());
        }
        let found = reader.peek()?;
        if found != Kind::Object {
            let place = if section.is_empty() {
                "the settings"
            } else {
                section
            };
            self.problems
                .push(fill("{} must be an object, not {}", &[place, found.name()]));
            reader.skip()?;
            return Ok(());
        }
        reader.object(|reader, key| {
            let key = std::str::from_utf8(key).unwrap_or("?");
            let path = if section.is_empty() {
                key.to_owned()
            } else {
                fill("{}.{}", &[section, key])
            };
            if !keys.contains(&key) {
                let place = if section.is_empty() {
                    "the settings have "
                } else {
                    "it holds "
                };
                self.problems.push(fill(
                    "{} is not a setting: {}{}",
                    &[&shown(&path), place, &keys.join(", ")],
                ));
                reader.skip()?;
                return Ok(());
            }
            if is_unset(reader)? {
                return Ok(());
            }
            read(self, reader, key, &path)
        })?;
        Ok(())
    }

    fn top(&mut self, reader: &mut Reader<'a>, key: &str, path: &str) -> Result<(), Error> {
        match key {
            "mode" => self.choice(reader, path, MODES, |s| &mut s.mode),
            "imageChecks" => self.section(reader, IMAGE_CHECKS, Self::image_checks),
            "pullOnce" => self.boolean(reader, path, |s| &mut s.pull_once),
            "defaults" => self.section(reader, DEFAULTS, Self::defaults),
            "images" => self.section(reader, IMAGES, Self::images),
            "registry" => self.section(reader, REGISTRY, Self::registry),
            "templates" => self.choice(reader, path, TEMPLATES, |s| &mut s.templates),
            "exempt" => self.section(reader, EXEMPT, Self::exempt),
            _ => self.boolean(reader, path, |s| &mut s.record_changes),
        }
    }

    fn image_checks(
        &mut self,
        reader: &mut Reader<'a>,
        key: &str,
        path: &str,
    ) -> Result<(), Error> {
        match key {
            "namePrefixes" => {
                let prefixes = self.list(reader, path, name_prefix)?;
                self.settings.image_checks.name_prefixes = prefixes;
                Ok(())
            }
            "coverage" => self.choice(reader, path, COVERAGES, |s| &mut s.image_checks.coverage),
            "everyPod" => self.boolean(reader, path, |s| &mut s.image_checks.every_pod),
            "template" => {
                let found = reader.peek()?;
                let span = reader.skip()?;
                if found == Kind::Object {
                    self.settings.image_checks.template = Some(span.of(reader.text()));
                    self.template = Some(span);
                } else {
                    self.problems.push(fill(
                        "{} must be a container, not {}",
                        &[path, found.name()],
                    ));
                }
                Ok(())
            }
            _ => {
                self.settings.image_checks.after = self.list(reader, path, container_glob)?;
                Ok(())
            }
        }
    }

    fn defaults(&mut self, reader: &mut Reader<'a>, key: &str, path: &str) -> Result<(), Error> {
        match key {
            "imagePullPolicy" => {
                let policy = self.one_of(reader, path, DEFAULT_POLICIES)?;
                self.settings.defaults.image_pull_policy = policy;
                Ok(())
            }
            "imageCheckPullPolicy" => {
                let policy = self.one_of(reader, path, DEFAULT_POLICIES)?;
                self.settings.defaults.image_check_pull_policy = policy;
                Ok(())
            }
            _ => self.boolean(reader, path, |s| &mut s.defaults.replace_server_defaults),
        }
    }

    fn images(&mut self, reader: &mut Reader<'a>, key: &str, path: &str) -> Result<(), Error> {
        let patterns = self.list(reader, path, ImagePattern::parse)?;
        if key == "requireAlways" {
            self.settings.images.require_always = patterns;
        } else {
            self.settings.images.forbid_always = patterns;
        }
        Ok(())
    }

    fn registry(&mut self, reader: &mut Reader<'a>, key: &str, path: &str) -> Result<(), Error> {
        match key {
            "lookup" => self.choice(reader, path, LOOKUPS, |s| &mut s.registry.lookup),
            "images" => {
                self.settings.registry.images = self.list(reader, path, ImagePattern::parse)?;
                Ok(())
            }
            "skipImages" => {
                self.settings.registry.skip_images =
                    self.list(reader, path, ImagePattern::parse)?;
                Ok(())
            }
            "maxLookups" => {
                let found = reader.peek()?;
                let text = reader.skip()?.of(reader.text());
                let number = std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| text.parse::<usize>().ok())
                    .filter(|number| (1..=MAX_LOOKUPS).contains(number));
                match number {
                    Some(number) => self.settings.registry.max_lookups = number,
                    None => self.problems.push(fill(
                        "{} must be a whole number from 1 to 100, not {}",
                        &[path, &value_shown(found, text)],
                    )),
                }
                Ok(())
            }
            "onNotFound" => self.choice(reader, path, ON_FAILURE, |s| &mut s.registry.on_not_found),
            "onDenied" => self.choice(reader, path, ON_FAILURE, |s| &mut s.registry.on_denied),
            "onRateLimited" => self.choice(reader, path, ON_FAILURE, |s| {
                &mut s.registry.on_rate_limited
            }),
            "onUnreachable" => {
                self.choice(reader, path, ON_FAILURE, |s| &mut s.registry.on_unreachable)
            }
            _ => self.choice(reader, path, ON_FAILURE, |s| &mut s.registry.on_unknown),
        }
    }

    fn exempt(&mut self, reader: &mut Reader<'a>, key: &str, path: &str) -> Result<(), Error> {
        if key == "containers" {
            self.settings.exempt.containers = self.list(reader, path, container_glob)?;
        } else {
            self.settings.exempt.images = self.list(reader, path, ImagePattern::parse)?;
        }
        Ok(())
    }

    /// Reads one of a few words.
    fn one_of<T: Copy>(
        &mut self,
        reader: &mut Reader<'a>,
        path: &str,
        choices: &[(&'static str, T)],
    ) -> Result<Option<T>, Error> {
        let found = reader.peek()?;
        let span = reader.clone().skip()?;
        let word = if found == Kind::String {
            reader.string()?.value
        } else if reader.skip()?.of(reader.text()) == b"false" {
            // YAML 1.1, which kubectl reads, takes a bare `Off` for `false`.
            Cow::Borrowed("Off")
        } else {
            Cow::Borrowed("")
        };
        let choice = choices.iter().find(|(name, _)| *name == word);
        if choice.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.problems.push(fill(
                "{} must be one of {}, not {}",
                &[
                    path,
                    &names.join(", "),
                    &value_shown(found, span.of(reader.text())),
                ],
            ));
        }
        Ok(choice.map(|(_, value)| *value))
    }

    fn choice<T: Copy>(
        &mut self,
        reader: &mut Reader<'a>,
        path: &str,
        choices: &[(&'static str, T)],
        field: for<'s> fn(&'s mut Settings<'a>) -> &'s mut T,
    ) -> Result<(), Error> {
        if let Some(value) = self.one_of(reader, path, choices)? {
            *field(&mut self.settings) = value;
        }
        Ok(())
    }

    fn boolean(
        &mut self,
        reader: &mut Reader<'a>,
        path: &str,
        field: for<'s> fn(&'s mut Settings<'a>) -> &'s mut bool,
    ) -> Result<(), Error> {
        let found = reader.peek()?;
        let text = reader.skip()?.of(reader.text());
        let value = BOOLEANS
            .iter()
            .find(|(word, _)| word.as_bytes() == text)
            .map(|(_, value)| *value);
        match value {
            Some(value) => *field(&mut self.settings) = value,
            None => self.problems.push(fill(
                "{} must be true or false, not {}",
                &[path, &value_shown(found, text)],
            )),
        }
        Ok(())
    }

    /// Reads a list of strings, each of which `parse` takes.
    fn list<T>(
        &mut self,
        reader: &mut Reader<'a>,
        path: &str,
        parse: fn(Cow<'a, str>) -> Result<T, &'static str>,
    ) -> Result<Vec<T>, Error> {
        let found = reader.peek()?;
        let mut values = Vec::new();
        if found != Kind::List {
            let text = reader.skip()?.of(reader.text());
            self.problems.push(fill(
                "{} must be a list of strings, not {}",
                &[path, &value_shown(found, text)],
            ));
            return Ok(values);
        }
        reader.list(|reader, index| {
            let found = reader.peek()?;
            let place = || fill("{}[{}]", &[path, &index.to_string()]);
            if found != Kind::String {
                let text = reader.skip()?.of(reader.text());
                self.problems.push(fill(
                    "{} must be a string, not {}",
                    &[&place(), &value_shown(found, text)],
                ));
                return Ok(());
            }
            let word = reader.string()?.value;
            match parse(word.clone()) {
                Ok(value) => values.push(value),
                Err(problem) => self
                    .problems
                    .push(fill("{} \"{}\" {}", &[&place(), &shown(&word), problem])),
            }
            Ok(())
        })?;
        Ok(values)
    }

    /// What no setting shows alone.
    pub(super) fn check_together(&mut self) {
        let checks = &self.settings.image_checks;
        if checks.coverage != Coverage::Fix {
            return;
        }
        if checks.every_pod && checks.template.is_none() && self.template.is_none() {
            self.problems.push(
                "imageChecks.template is missing: with coverage Fix and everyPod true, a Pod \
                 without image checks has none to copy"
                    .to_owned(),
            );
        }
        if let Some(prefix) = checks.name_prefixes.first() {
            let name = fill("{}0", &[prefix]);
            let exempt = &self.settings.exempt.containers;
            if let Some(glob) = exempt.iter().find(|glob| glob_matches(glob, &name)) {
                self.problems.push(
                    fill("exempt.containers \"{}\" matches the checks that imageChecks.coverage Fix adds: name \
                         containers that it does not", &[&shown(glob)]),
                );
            }
        }
    }
}

/// Passes over `null`, `{}` and `[]`, which the forms of the Kubewarden UI leave behind.
fn is_unset(reader: &mut Reader<'_>) -> Result<bool, Error> {
    let mut ahead = reader.clone();
    let mut unset = true;
    match ahead.peek()? {
        Kind::Null => {
            ahead.null()?;
        }
        Kind::Object => {
            ahead.object(|ahead, _| {
                unset = false;
                ahead.skip().map(drop)
            })?;
        }
        Kind::List => {
            ahead.list(|ahead, _| {
                unset = false;
                ahead.skip().map(drop)
            })?;
        }
        Kind::Boolean | Kind::Number | Kind::String => unset = false,
    }
    if unset {
        reader.skip()?;
    }
    Ok(unset)
}

/// A value in an error: what kind it is, and the value where it is short.
fn value_shown(kind: Kind, text: &[u8]) -> String {
    match kind {
        Kind::List | Kind::Object | Kind::Null => kind.name().to_owned(),
        _ => shown(sentence::text(text)),
    }
}

/// A text of the user's in an error, cut where it is long.
fn shown(text: &str) -> String {
    sentence::shorten(text, 60).into_owned()
}

fn name_prefix(prefix: Cow<'_, str>) -> Result<Cow<'_, str>, &'static str> {
    let starts_a_label = prefix
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if !starts_a_label || !prefix.bytes().all(is_label_byte) {
        return Err("can't start a container's name: it takes lower-case letters, digits and -");
    }
    if prefix.len() > PREFIX_MAX {
        return Err("leaves no room for a number: it takes at most 58 characters");
    }
    Ok(prefix)
}

fn container_glob(glob: Cow<'_, str>) -> Result<Cow<'_, str>, &'static str> {
    let wild = |byte| byte == b'*' || byte == b'?';
    if glob.is_empty() || !glob.bytes().all(|byte| is_label_byte(byte) || wild(byte)) {
        return Err("matches no container's name: it takes lower-case letters, digits, -, * and ?");
    }
    Ok(glob)
}

const fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}
