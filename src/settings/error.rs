//! The error of settings: all their problems, each with its path.

use std::fmt;

/// One problem of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsProblem {
    /// The path to the wrong value, e.g. `exempt.images[2]`. It is empty if the problem is not
    /// about a single value.
    pub path: String,
    /// The problem as a sentence for a person, with the path.
    pub message: String,
}

/// All problems of the settings. As text, it is their messages, joined with `; `.
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
