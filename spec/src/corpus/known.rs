//! The failures of today's module, in `test_data/pods/known.yaml`. The tests write this file if
//! `UPDATE_KNOWN=1` is set.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{KNOWN, path, yaml};

/// A case of the corpus that breaks a promise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownFailure {
    /// The promise.
    pub promise: String,
    /// The file of the Pod.
    pub pod: String,
    /// The file of the settings.
    pub settings: String,
    /// The event in the Pod's life.
    pub event: String,
}

/// A promise that is not checked for random cases with a trait.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownTrait {
    /// The promise.
    pub promise: String,
    /// The trait of the Pod.
    pub of_pod: String,
}

/// All known failures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The known failures of the corpus.
    pub corpus: BTreeSet<KnownFailure>,
    /// The promises that are not checked for random cases with a trait.
    pub random: BTreeSet<KnownTrait>,
}

impl Known {
    /// Reads the file. If there is no file, there are no known failures.
    ///
    /// # Panics
    /// If the file has another form than the output of [`Known::write`].
    #[must_use]
    pub fn read() -> Self {
        match std::fs::read_to_string(path(KNOWN)) {
            Ok(text) => Self::parse(&text),
            Err(_) => Self::default(),
        }
    }

    fn parse(text: &str) -> Self {
        let file = yaml(KNOWN, text);
        let entries = |key: &str| file[key].as_array().cloned().unwrap_or_default();
        let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
        let mut known = Self::default();
        for entry in entries("corpus") {
            let list = |key: &str| entry[key].as_array().cloned().expect("a list");
            for settings in list("settings") {
                for event in list("events") {
                    known.corpus.insert(KnownFailure {
                        promise: text(&entry["promise"]),
                        pod: text(&entry["pod"]),
                        settings: text(&settings),
                        event: text(&event),
                    });
                }
            }
        }
        for entry in entries("random") {
            known.random.insert(KnownTrait {
                promise: text(&entry["promise"]),
                of_pod: text(&entry["trait"]),
            });
        }
        known
    }

    /// Writes the file, or removes it if there are no known failures.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write(&self) -> std::io::Result<()> {
        let path = path(KNOWN);
        if *self == Self::default() {
            return match std::fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        std::fs::write(path, self.yaml())
    }

    fn yaml(&self) -> String {
        let mut text = String::from(
            "# The failures of today's module. The tests write this file: UPDATE_KNOWN=1.\n\
             # A listed case that passes fails the tests. An unlisted case that fails does so too.\n",
        );
        let mut events: BTreeMap<[&str; 3], Vec<&str>> = BTreeMap::new();
        for one in &self.corpus {
            let events = events.entry([&one.promise, &one.pod, &one.settings]);
            events.or_default().push(&one.event);
        }
        let mut settings: BTreeMap<([&str; 2], String), Vec<&str>> = BTreeMap::new();
        for ([promise, pod, one], events) in events {
            let settings = settings.entry(([promise, pod], events.join(", ")));
            settings.or_default().push(one);
        }
        if !settings.is_empty() {
            text.push_str("corpus:\n");
        }
        for (([promise, pod], events), settings) in settings {
            let settings = settings.join(", ");
            writeln!(
                text,
                "  - {{promise: {promise}, pod: {pod}, settings: [{settings}], events: [{events}]}}"
            )
            .expect("a string takes all");
        }
        if !self.random.is_empty() {
            text.push_str("# Random cases with the trait are not held to the promise.\nrandom:\n");
        }
        for one in &self.random {
            writeln!(
                text,
                "  - {{promise: {}, trait: {}}}",
                one.promise, one.of_pod
            )
            .expect("a string takes all");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{Known, KnownFailure, KnownTrait};

    #[test]
    fn a_written_list_is_read_back_unchanged() {
        let mut known = Known::default();
        for (pod, settings, event) in [
            ("a.yaml", "x.yaml", "created"),
            ("a.yaml", "x.yaml", "audited"),
            ("a.yaml", "y.yaml", "created"),
            ("a.yaml", "z.yaml", "created"),
            ("b.yaml", "x.yaml", "created"),
        ] {
            known.corpus.insert(KnownFailure {
                promise: "p".to_owned(),
                pod: pod.to_owned(),
                settings: settings.to_owned(),
                event: event.to_owned(),
            });
        }
        known.random.insert(KnownTrait {
            promise: "p".to_owned(),
            of_pod: "windows".to_owned(),
        });
        let text = known.yaml();
        assert_eq!(Known::parse(&text), known, "{text}");
        // The two settings with the same event share a line.
        assert_eq!(text.matches("promise: p, pod: a.yaml").count(), 2, "{text}");
    }
}
