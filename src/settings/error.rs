//! The error about wrong settings: the problems, each with its path. If more than 100 values can't be
//! read, the error lists only 100 of them.

use std::fmt;

/// One problem of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsProblem {
    /// The path to the wrong value, e.g. `exempt.images[2]`. It is empty for a conflict between
    /// settings, for a problem of the settings as a whole, and for a text that is not JSON.
    pub path: String,
    /// The problem as a sentence for a person. The sentence includes the path, if there is one.
    pub message: String,
}

/// The problems of the settings. `Display` writes the messages, joined with `; `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// The problems. There is at least one.
    pub problems: Vec<SettingsProblem>,
}

impl SettingsError {
    /// `Ok` if there are no problems.
    pub(super) fn unless_empty(problems: Vec<SettingsProblem>) -> Result<(), Self> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Self { problems })
        }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{}", problem.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingsError {}
