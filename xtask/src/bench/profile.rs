//! Which function burns how much fuel, exactly: what `cargo xtask bench --profile` prints.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Result, bail};
use wasmtime::Caller;

use crate::host::capabilities::HostFunctions;

use super::guest::{Guest, Meter, Outcome, State};
use super::instrument::{FUEL_BEFORE_ENTER, FUEL_INSIDE, FUEL_OF_MOVE, OBSERVER, instrument};
use super::names;

/// What an instrumented module tells while it runs. Functions are numbered from the first one with a
/// body; where there is none, the host is the caller.
#[derive(Default)]
pub(crate) struct Trace {
    stack: Vec<Frame>,
    last: Option<u64>,
    functions: Vec<Counter>,
    /// By caller and callee.
    edges: BTreeMap<(Option<u32>, u32), Edge>,
}

struct Frame {
    function: u32,
    /// Burnt by the functions that it called.
    inner: u64,
    own: u64,
    /// Burnt by the wrappers, and to be subtracted.
    excess: u64,
}

#[derive(Default, Clone)]
struct Counter {
    calls: u64,
    own: u64,
    total: u64,
    moved: u64,
    /// How often it is on the stack; only the outermost one counts for the total.
    depth: u32,
}

#[derive(Default)]
struct Edge {
    calls: u64,
    total: u64,
}

impl Trace {
    fn new(parameters: &[u32]) -> Self {
        Self {
            functions: vec![Counter::default(); parameters.len()],
            ..Self::default()
        }
    }

    fn burn(&mut self, left: u64) {
        let burnt = self
            .last
            .replace(left)
            .map_or(0, |last| last.saturating_sub(left));
        if let Some(frame) = self.stack.last_mut() {
            frame.own += burnt;
        }
    }

    fn enter(&mut self, function: u32, left: u64) {
        self.burn(left);
        if let Some(frame) = self.stack.last_mut() {
            frame.excess += FUEL_BEFORE_ENTER;
        }
        if let Some(counter) = self.counter(function) {
            counter.calls += 1;
            counter.depth += 1;
        }
        self.stack.push(Frame {
            function,
            inner: 0,
            own: 0,
            excess: 0,
        });
    }

    fn exit(&mut self, left: u64, parameters: &[u32]) {
        self.burn(left);
        let Some(frame) = self.stack.pop() else {
            return;
        };
        let index = usize::try_from(frame.function).unwrap_or(usize::MAX);
        let parameters = parameters.get(index).copied().unwrap_or_default();
        let excess = frame.excess + FUEL_INSIDE + u64::from(parameters);
        let own = frame.own.saturating_sub(excess);
        let total = own + frame.inner;
        if let Some(counter) = self.counter(frame.function) {
            counter.own += own;
            counter.depth -= 1;
            if counter.depth == 0 {
                counter.total += total;
            }
        }
        let caller = self.stack.last_mut().map(|caller| {
            caller.inner += total;
            caller.function
        });
        let edge = self.edges.entry((caller, frame.function)).or_default();
        edge.calls += 1;
        edge.total += total;
    }

    fn moved(&mut self, bytes: u32) {
        if let Some(frame) = self.stack.last_mut() {
            frame.excess += FUEL_OF_MOVE;
            let function = frame.function;
            if let Some(counter) = self.counter(function) {
                counter.moved += u64::from(bytes);
            }
        }
    }

    fn counter(&mut self, function: u32) -> Option<&mut Counter> {
        self.functions.get_mut(usize::try_from(function).ok()?)
    }
}

/// A module, and the instrumented copy of it.
pub(crate) struct Profiler {
    plain: Guest,
    observed: Guest<Trace>,
    names: BTreeMap<u32, String>,
    /// How many functions come before the first one with a body.
    imported: u32,
    parameters: Arc<[u32]>,
}

/// What one call burnt, by function.
pub(crate) struct Profile {
    rows: Vec<Row>,
    /// The call without instruments.
    pub(crate) call: Outcome<()>,
    /// By `memory.copy` and `memory.fill`, in bytes.
    pub(crate) moved: u64,
}

struct Row {
    name: String,
    counter: Counter,
    /// Largest first.
    callers: Vec<(String, Edge)>,
}

impl Profiler {
    /// Compiles a module twice. Its functions have the names that it keeps.
    pub(crate) fn new(module: &[u8]) -> Result<Self> {
        let instrumented = instrument(module)?;
        let parameters: Arc<[u32]> = instrumented.parameters.into();
        let of_exit = Arc::clone(&parameters);
        let observed = Guest::<Trace>::with_imports(&instrumented.module, Meter::Fuel, |linker| {
            linker
                .func_wrap(
                    OBSERVER,
                    "enter",
                    |mut caller: Caller<'_, State<Trace>>, function: u32| {
                        let left = caller.get_fuel()?;
                        caller.data_mut().observer.enter(function, left);
                        Ok(())
                    },
                )?
                .func_wrap(
                    OBSERVER,
                    "exit",
                    move |mut caller: Caller<'_, State<Trace>>| {
                        let left = caller.get_fuel()?;
                        caller.data_mut().observer.exit(left, &of_exit);
                        Ok(())
                    },
                )?
                .func_wrap(
                    OBSERVER,
                    "moved",
                    |mut caller: Caller<'_, State<Trace>>, bytes: u32| {
                        caller.data_mut().observer.moved(bytes);
                    },
                )?;
            Ok(())
        })?;
        Ok(Self {
            plain: Guest::new(module, Meter::Fuel)?,
            observed,
            names: names::of_functions(module)?,
            imported: instrumented.imported,
            parameters,
        })
    }

    /// The module as it is.
    pub(crate) fn plain(&self) -> &Guest {
        &self.plain
    }

    /// Calls a waPC function in both modules.
    pub(crate) fn call(
        &self,
        functions: &Arc<HostFunctions>,
        operation: &str,
        payload: &[u8],
    ) -> Result<Profile> {
        let trace = Trace::new(&self.parameters);
        let observed = self.observed.call(functions, trace, operation, payload)?;
        let call = self.plain.call(functions, (), operation, payload)?;
        if call.answer != observed.answer {
            bail!("the instrumented module answers differently");
        }
        let rows = self.rows(observed.observer);
        // What proves the subtractions right.
        let sum: u64 = rows.iter().map(|row| row.counter.own).sum();
        if sum != call.fuel() {
            bail!(
                "the functions burnt {sum} together, but the module burns {}",
                call.fuel()
            );
        }
        let moved = rows.iter().map(|row| row.counter.moved).sum();
        Ok(Profile { rows, call, moved })
    }

    /// Those that were called, the one that burnt most first.
    fn rows(&self, trace: Trace) -> Vec<Row> {
        let mut callers: BTreeMap<u32, Vec<(String, Edge)>> = BTreeMap::new();
        for ((caller, callee), edge) in trace.edges {
            let caller = caller.map_or_else(|| "the host".to_owned(), |caller| self.name(caller));
            callers.entry(callee).or_default().push((caller, edge));
        }
        let mut rows: Vec<Row> = (0..)
            .zip(trace.functions)
            .filter(|(_, counter)| counter.calls > 0)
            .map(|(index, counter)| {
                let mut callers = callers.remove(&index).unwrap_or_default();
                callers.sort_by_key(|(_, edge)| Reverse(edge.total));
                Row {
                    name: self.name(index),
                    counter,
                    callers,
                }
            })
            .collect();
        rows.sort_by_key(|row| Reverse(row.counter.own));
        rows
    }

    fn name(&self, function: u32) -> String {
        let name = self.names.get(&(self.imported + function));
        name.map_or_else(
            || format!("function {function}"),
            |name| names::readable(name),
        )
    }
}

impl Profile {
    /// As a table: own fuel, fuel with callees, calls, bytes moved, and who called.
    pub(crate) fn table(&self, count: usize) -> Result<String> {
        let mut text = String::new();
        writeln!(
            text,
            "{} instructions, {} bytes moved by memory.copy and memory.fill\n",
            self.call.fuel(),
            self.moved
        )?;
        writeln!(
            text,
            "{:>10} {:>6} {:>10} {:>8} {:>9}  function",
            "own", "%", "total", "calls", "moved"
        )?;
        for row in self.rows.iter().take(count) {
            let counter = &row.counter;
            let share = counter.own.saturating_mul(1000) / self.call.fuel().max(1);
            writeln!(
                text,
                "{:>10} {:>4}.{} {:>10} {:>8} {:>9}  {}",
                counter.own,
                share / 10,
                share % 10,
                counter.total,
                counter.calls,
                counter.moved,
                row.name
            )?;
            for (caller, edge) in row.callers.iter().take(4) {
                writeln!(
                    text,
                    "{:>17} {:>10} {:>8} {:>9}      from {caller}",
                    "", edge.total, edge.calls, ""
                )?;
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest that copies, calls with parameters, calls itself, and returns early.
    const GUEST: &str = r#"(module
        (import "wapc" "__guest_response" (func $response (param i32 i32)))
        (memory (export "memory") 2)
        (data (i32.const 0) "\22v1\22")
        (func (export "wapc_init"))
        (func $count (param $n i32)
            (if (i32.eqz (local.get $n)) (then (return)))
            (call $count (i32.sub (local.get $n) (i32.const 1))))
        (func $copy (param i32) (result i32)
            (memory.copy (i32.const 0) (i32.const 0) (i32.const 4096))
            (memory.fill (i32.const 5000) (i32.const 0) (local.get 0))
            (local.get 0))
        (func (export "__guest_call") (param i32 i32) (result i32)
            (call $count (i32.const 3))
            (drop (call $copy (i32.const 4)))
            (call $response (i32.const 0) (i32.const 4))
            (i32.const 1)))"#;

    fn profile() -> Profile {
        let module = wat::parse_str(GUEST).expect("a module");
        let functions = Arc::new(HostFunctions::none());
        Profiler::new(&module)
            .and_then(|profiler| profiler.call(&functions, "x", b"payload"))
            .expect("a profile")
    }

    #[test]
    fn functions_burn_what_the_module_burns() {
        // Wasmtime's own count, by hand: an entry, and an instruction each but `drop`, `end`,
        // `return` and `then`.
        let own = |name: &str| {
            let profile = profile();
            let row = profile
                .rows
                .iter()
                .find(|row| row.name == name)
                .expect("a function");
            (row.counter.calls, row.counter.own, row.counter.total)
        };
        // Four entries, four tests of three instructions, three calls of four.
        assert_eq!(own("count"), (4, 4 + 4 * 3 + 3 * 4, 28));
        assert_eq!(own("copy"), (1, 1 + 4 + 4 + 1, 10));
    }

    #[test]
    fn moved_bytes_are_counted() {
        assert_eq!(profile().moved, 4096 + 4);
    }

    #[test]
    fn counts_are_the_same_in_each_run() {
        let (one, two) = (profile(), profile());
        assert_eq!(one.call.fuel(), two.call.fuel());
        assert_eq!(one.table(9).expect("text"), two.table(9).expect("text"));
    }

    #[test]
    fn callers_are_told() {
        let text = profile().table(9).expect("text");
        assert!(text.contains("from count\n"), "{text}");
        assert!(text.contains("from the host\n"), "{text}");
    }
}
