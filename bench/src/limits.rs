//! The limits in `bench/budgets.yaml`.

use serde::Deserialize;

use crate::cost::Cost;

/// The limits. DESIGN.md has the reasons for them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// The size of the annotated module.
    pub(crate) module_bytes: u64,
    /// By how many per cent a container, or a byte, may cost more instructions in a large request
    /// than in a small one.
    pub(crate) growth_percent: f64,
    /// The instructions for each byte of a request or of an addition.
    instructions_per_byte: u64,
    /// The instructions for each comparison of an image with a pattern of the settings.
    instructions_per_match: u64,
    /// The instructions that every request may use in addition.
    instructions: u64,
    /// The memory for each byte of a request.
    memory_per_byte: u64,
    /// Replaces `memory_per_byte` for a request that somebody made to be expensive.
    memory_per_hostile_byte: u64,
    /// The memory for each byte of an addition.
    memory_per_added_byte: u64,
    /// The memory that every request may use in addition.
    memory_bytes: u64,
}

impl Limits {
    /// A sentence for each figure of a request beyond its limit.
    pub(crate) fn excesses(
        &self,
        name: &str,
        cost: &Cost,
        is_hostile: bool,
        matches: u64,
    ) -> Vec<String> {
        let (bytes, added) = (cost.request_bytes, cost.added_bytes);
        let memory_per_byte = if is_hostile {
            self.memory_per_hostile_byte
        } else {
            self.memory_per_byte
        };
        let instructions = self.instructions_per_byte * (bytes + added)
            + self.instructions_per_match * matches
            + self.instructions;
        let memory =
            memory_per_byte * bytes + self.memory_per_added_byte * added + self.memory_bytes;
        let figures = [
            (cost.instructions, instructions, "instructions"),
            (cost.memory_bytes, memory, "bytes of memory"),
        ];
        let excesses = figures.into_iter().filter(|(is, most, _)| is > most);
        excesses
            .map(|(is, most, unit)| {
                format!(
                    "{name}: {is} {unit} for {bytes} bytes and {added} added ones, at most {most}"
                )
            })
            .collect()
    }
}

/// By how many per cent a unit costs more from `start` to `large` than from `start` to `small`.
/// Each has a number of units, and its instructions.
pub(crate) fn growth_percent(start: (u64, u64), small: (u64, u64), large: (u64, u64)) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let of_a_unit = |(units, instructions): (u64, u64)| {
        let instructions = instructions.saturating_sub(start.1) as f64;
        instructions / units.saturating_sub(start.0).max(1) as f64
    };
    (of_a_unit(large) / of_a_unit(small) - 1.0) * 100.0
}
