//! The instructions and the memory of a request.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;

use crate::host::capabilities::Capabilities;
use crate::host::policy_module::PolicyModule;
use crate::host::wasmtime_engine::{CompiledModule, Usage};

/// The figures that are the same whenever a module gets the same payload.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestCost {
    /// The size of the payload. A hostile request adds the size of the registry's answer.
    pub(crate) request_bytes: u64,
    /// The number of bytes by which the changed object is larger than the object of the request.
    pub(crate) added_bytes: u64,
    /// The instructions that the guest executed, its start-up included, in wasmtime's fuel.
    pub(crate) instructions: u64,
    /// The size of the linear memory after the call. Linear memory never shrinks, so this is its
    /// peak.
    pub(crate) memory_bytes: u64,
}

/// The number of bytes by which the changed object of an answer is larger than the object of its request. The
/// answer is not parsed, because a hostile object may be nested too deeply. The changed object is the last
/// member of the answer, and a quote in a string would have a backslash before it.
pub(crate) fn added_bytes(answer: &[u8], object_bytes: usize) -> Result<u64> {
    let object = str::from_utf8(answer)?.split_once(r#","mutated_object":"#);
    let changed_bytes = object.map_or(0, |(_, object)| object.len().saturating_sub(1));
    Ok(u64::try_from(changed_bytes.saturating_sub(object_bytes))?)
}

/// A module that counts the cost of its calls. Several threads can call it at the same time.
pub(crate) struct MeteredPolicy(CompiledModule);

impl MeteredPolicy {
    /// Compiles a module.
    pub(crate) fn new(bytes: &[u8]) -> Result<Self> {
        Ok(Self(CompiledModule::with_fuel(bytes)?))
    }

    /// The policy's answer to a payload, and its cost.
    pub(crate) fn cost(
        &self,
        payload: &[u8],
        capabilities: &Capabilities,
    ) -> Result<(Vec<u8>, RequestCost)> {
        let usage = Arc::<Mutex<Usage>>::default();
        let module = PolicyModule::of(self.0.counting(&usage));
        let answer = module.validate(capabilities, payload)?;
        let usage = *usage.lock().unwrap_or_else(PoisonError::into_inner);
        let cost = RequestCost {
            request_bytes: u64::try_from(payload.len())?,
            added_bytes: 0,
            instructions: usage.instructions,
            memory_bytes: usage.memory_bytes,
        };
        Ok((answer, cost))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::host::capabilities::nothing_granted;

    /// A policy whose start runs `start`, and whose calls run `call`.
    fn policy(start: &str, call: &str) -> MeteredPolicy {
        let text = format!(
            r#"(module
                (import "wapc" "__guest_response" (func $response (param i32 i32)))
                (memory (export "memory") 1)
                (data (i32.const 0) "ok")
                (func (export "wapc_init") {start})
                (func (export "__guest_call") (param i32 i32) (result i32)
                    {call}
                    (call $response (i32.const 0) (i32.const 2)) (i32.const 1)))"#
        );
        MeteredPolicy::new(&wat::parse_str(text).expect("a module")).expect("a policy")
    }

    fn cost(policy: &MeteredPolicy, payload: &[u8]) -> RequestCost {
        let (answer, cost) = policy.cost(payload, &nothing_granted()).expect("an answer");
        assert_eq!(answer, b"ok");
        cost
    }

    #[test]
    fn instructions_and_memory_include_the_start_up() {
        let empty = cost(&policy("", ""), b"");
        let start = "(drop (i32.const 1)) (drop (i32.const 1))";
        let more = cost(&policy(start, "(drop (memory.grow (i32.const 2)))"), b"");
        // `drop` costs no fuel. So the two additional `i32.const` of the start count, and two instructions
        // that enlarge the memory.
        assert_eq!(more.instructions - empty.instructions, 4);
        assert_eq!(
            [empty.memory_bytes, more.memory_bytes],
            [65_536, 3 * 65_536]
        );
    }

    #[test]
    fn calls_of_two_threads_have_their_own_costs() {
        // Each byte of the payload is a round of the loop.
        let policy = policy(
            "",
            "(loop $round
                (local.set 1 (i32.sub (local.get 1) (i32.const 1)))
                (br_if $round (i32.gt_s (local.get 1) (i32.const 0))))",
        );
        let instructions = |size| cost(&policy, &vec![0; size]).instructions;
        let expected = [1, 1000].map(instructions);
        assert!(expected[0] < expected[1], "{expected:?}");
        thread::scope(|scope| {
            for (size, expected) in [1, 1000].into_iter().zip(expected) {
                scope.spawn(move || {
                    for _ in 0..1000 {
                        assert_eq!(instructions(size), expected, "for {size} bytes");
                    }
                });
            }
        });
    }
}
