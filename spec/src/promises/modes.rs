//! All modes compute the same findings, and only mode `Fix` changes the object. The mode decides
//! whether the findings reject.

use serde_json::Value;

use super::{MODES, Story};
use crate::compare::Observed;
use crate::differential::Policy;

impl<P: Policy> Story<'_, P> {
    /// Checks that all modes have the same findings. A Pod with a status is skipped, because
    /// *stuck-pull* runs in two modes only. Settings with `maxLookups: 0` are skipped, because mode
    /// `Fix` doesn't allow them.
    pub(super) fn modes_agree(&mut self) -> Result<(), String> {
        let has_status = self.case.request["object"]["status"].is_object();
        if has_status || self.settings().max_lookups() == 0 {
            return Ok(());
        }
        let request = self.case.request.clone();
        let mut look = |mode: &str| self.observe(request.clone(), &[("mode", mode.into())]);
        let (warn, reject, fix) = (look("Warn")?, look("Reject")?, look("Fix")?);
        let is_accepted = |one: &Observed| one.answer["accepted"] == true;
        let is_changed = |one: &Observed| !one.answer["mutated_object"].is_null();
        if is_changed(&warn) || is_changed(&reject) {
            self.breaks(MODES, "only mode `Fix` may change an object");
        }
        if is_accepted(&reject) && !is_accepted(&fix) {
            self.breaks(MODES, "`Reject` accepts an object that `Fix` rejects");
        }
        // `Warn` rejects only an object that this policy can't read. Such an object has no findings to
        // compare.
        if !is_accepted(&warn) {
            return Ok(());
        }
        // `Reject` and `Fix` make no lookups if the object is rejected in any case. Then they lack
        // findings that `Warn` has, so only accepted answers are compared.
        for (mode, other) in [("Reject", &reject), ("Fix", &fix)] {
            if is_accepted(other) && findings(other) != findings(&warn) {
                let details = format!("{mode} and Warn: {} {}", other.answer, warn.answer);
                self.breaks(MODES, details);
            }
        }
        if is_accepted(&reject) && reject.answer["warnings"] != warn.answer["warnings"] {
            self.breaks(MODES, "`Reject` and `Warn` warn of different things");
        }
        Ok(())
    }
}

fn findings(observed: &Observed) -> &Value {
    &observed.answer["audit_annotations"]["findings"]
}
