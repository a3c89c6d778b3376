//! All modes compute the same findings, except those of the rule *stuck-pull*. Only mode `Fix` changes
//! the object.

use serde_json::Value;

use super::{MODES, Story};
use crate::compare::Observed;
use crate::differential::Policy;
use crate::request::names_no_user;

impl<P: Policy> Story<'_, P> {
    /// Checks that all modes have the same findings. A Pod with a status is skipped, because *stuck-pull*
    /// doesn't act in mode `Fix`. Settings of the copy are skipped, because they are not allowed in mode
    /// `Fix`.
    pub(super) fn modes_agree(&mut self) -> Result<(), String> {
        let has_status = self.case.request["object"]["status"].is_object();
        if has_status || self.settings().is_copy() {
            return Ok(());
        }
        let request = self.case.request.clone();
        let mut look = |mode: &str| self.observe(request.clone(), &[("mode", mode.into())]);
        let (warn, reject, fix) = (look("Warn")?, look("Reject")?, look("Fix")?);
        let is_changed = |one: &Observed| !one.answer["mutated_object"].is_null();
        if is_changed(&warn) || is_changed(&reject) {
            self.breaks(MODES, "only mode `Fix` may change an object");
        }
        if reject.is_accepted() && !fix.is_accepted() {
            self.breaks(MODES, "`Reject` accepts an object that `Fix` rejects");
        }
        // `Warn` rejects only an object that this policy can't read. There are no findings to compare
        // for such an object.
        if !warn.is_accepted() {
            return Ok(());
        }
        // In an audit, `Reject` makes lookups that the other modes leave out.
        let makes_more_lookups = names_no_user(&request) && !reject.is_accepted();
        for (mode, other) in [("Reject", &reject), ("Fix", &fix)] {
            let is_compared = mode == "Fix" || !makes_more_lookups;
            if is_compared && findings(other) != findings(&warn) {
                let details = format!("{mode} and Warn: {} {}", other.answer, warn.answer);
                self.breaks(MODES, details);
            }
        }
        if reject.is_accepted() && reject.answer["warnings"] != warn.answer["warnings"] {
            self.breaks(MODES, "`Reject` and `Warn` warn of different things");
        }
        Ok(())
    }
}

fn findings(observed: &Observed) -> &Value {
    &observed.answer["audit_annotations"]["findings"]
}
