//! The grammar of normalised image names, and whether a glob matches at least one name of the grammar.
//!
//! The names are those of [`crate::image::Reference`]: `registry/repository`, with or without
//! `:tag`. The grammar is a finite automaton over bytes. For a glob with wildcards, the code follows
//! all states that the automaton can be in. The grammar ignores lengths, and it does not know that
//! normalised hosts never have the port 443. So a glob may be accepted although it matches only
//! names that are too long, or only names whose host has this port.
//!
//! The grammar has no repository of Docker Hub with a single component, such as `docker.io/nginx`. This
//! name comes only from the reference `registry-1.docker.io/nginx`, and no such repository exists.

use super::glob::{ANY_BYTE, ANY_RUN};
use GrammarState::{
    Begin, HostHyphen, HostLabel, HostWord, HubDot, HubHyphen, HubStart, HubUnderscore,
    HubUnderscores, HubWord, PathDot, PathHyphen, PathStart, PathUnderscore, PathUnderscores,
    PathWord, Port, PortStart, RegistryDot, RegistryHyphen, RegistryStart, RegistryUnderscore,
    RegistryUnderscores, RegistryWord, TagStart, TagWord, V6, V6Closed, V6Open,
};

/// A state of the automaton: the kind of the last byte, and the part of the name with this byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GrammarState {
    /// The start of a name whose registry is a host.
    Begin,
    HostLabel,
    HostWord,
    HostHyphen,
    PortStart,
    Port,
    V6Open,
    V6,
    V6Closed,
    /// The start of a name whose registry is a path component and no host, such as `a.b_c`.
    RegistryStart,
    RegistryWord,
    RegistryDot,
    RegistryUnderscore,
    RegistryUnderscores,
    RegistryHyphen,
    /// After `docker.io/`. Repositories of Docker Hub have at least two components.
    HubStart,
    HubWord,
    HubDot,
    HubUnderscore,
    HubUnderscores,
    HubHyphen,
    /// After a slash: a component of the repository begins.
    PathStart,
    PathWord,
    PathDot,
    PathUnderscore,
    PathUnderscores,
    PathHyphen,
    /// After the colon of a tag.
    TagStart,
    TagWord,
}

/// The states in a path component that is the registry: at the start, after a letter or digit, and
/// after each separator. The states of `HUB` and `PATH` have the same order.
const REGISTRY: [GrammarState; 6] = [
    RegistryStart,
    RegistryWord,
    RegistryDot,
    RegistryUnderscore,
    RegistryUnderscores,
    RegistryHyphen,
];
const HUB: [GrammarState; 6] = [
    HubStart,
    HubWord,
    HubDot,
    HubUnderscore,
    HubUnderscores,
    HubHyphen,
];
const PATH: [GrammarState; 6] = [
    PathStart,
    PathWord,
    PathDot,
    PathUnderscore,
    PathUnderscores,
    PathHyphen,
];
/// All states.
const ALL: [GrammarState; 29] = [
    Begin,
    HostLabel,
    HostWord,
    HostHyphen,
    PortStart,
    Port,
    V6Open,
    V6,
    V6Closed,
    RegistryStart,
    RegistryWord,
    RegistryDot,
    RegistryUnderscore,
    RegistryUnderscores,
    RegistryHyphen,
    HubStart,
    HubWord,
    HubDot,
    HubUnderscore,
    HubUnderscores,
    HubHyphen,
    PathStart,
    PathWord,
    PathDot,
    PathUnderscore,
    PathUnderscores,
    PathHyphen,
    TagStart,
    TagWord,
];

/// One byte of each kind that the automaton distinguishes. The hexadecimal digit `a` represents all
/// lower-case letters: wherever another lower-case letter is allowed, `a` is allowed too.
const KINDS: &[u8] = b"/aA0._-:[]";
/// The bytes of `KINDS` without the slash.
const KINDS_WITHOUT_SLASH: &[u8] = KINDS.split_at(1).1;

impl GrammarState {
    /// The state after one more byte. `None` if no name has this byte here.
    fn next(self, byte: u8) -> Option<Self> {
        let next = match (self, byte) {
            (RegistryWord | HubWord | PathWord | HostWord | Port | V6Closed, b'/') => PathStart,
            (PathWord, b':') => TagStart,
            (HostWord | V6Closed, b':') => PortStart,
            (Begin, b'[') => V6Open,
            (Begin | HostLabel | HostWord | HostHyphen, b'a'..=b'z' | b'0'..=b'9') => HostWord,
            (HostWord, b'.') => HostLabel,
            (HostWord | HostHyphen, b'-') => HostHyphen,
            (PortStart | Port, b'0'..=b'9') => Port,
            (V6Open | V6, b':' | b'a'..=b'f' | b'0'..=b'9') => V6,
            (V6, b']') => V6Closed,
            (TagStart | TagWord, b'_') => TagWord,
            (TagStart | TagWord, _) if byte.is_ascii_alphanumeric() => TagWord,
            (TagWord, b'.' | b'-') => TagWord,
            _ => return self.next_in_component(byte),
        };
        Some(next)
    }

    /// The next state in a path component. A component consists of lower-case letters and digits.
    /// They may be separated by `.`, `_`, `__` or any number of `-`.
    fn next_in_component(self, byte: u8) -> Option<Self> {
        let [_, word, dot, underscore, underscores, hyphen] = match self {
            RegistryStart | RegistryWord | RegistryDot | RegistryUnderscore
            | RegistryUnderscores | RegistryHyphen => REGISTRY,
            HubStart | HubWord | HubDot | HubUnderscore | HubUnderscores | HubHyphen => HUB,
            PathStart | PathWord | PathDot | PathUnderscore | PathUnderscores | PathHyphen => PATH,
            _ => return None,
        };
        match byte {
            b'a'..=b'z' | b'0'..=b'9' => Some(word),
            b'.' if self == word => Some(dot),
            b'_' if self == word => Some(underscore),
            b'_' if self == underscore => Some(underscores),
            b'-' if self == word || self == hyphen => Some(hyphen),
            _ => None,
        }
    }

    /// Whether a name can end in this state.
    const fn ends_a_name(self) -> bool {
        matches!(self, PathWord | TagWord)
    }
}

/// A set of states, with one bit for each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StateSet(u32);

impl StateSet {
    fn of(states: &[GrammarState]) -> Self {
        states.iter().copied().collect()
    }

    fn iter(self) -> impl Iterator<Item = GrammarState> {
        ALL.into_iter().filter(move |state| self.has(*state))
    }

    const fn bit(state: GrammarState) -> u32 {
        1_u32.rotate_left(state as u32)
    }

    const fn has(self, state: GrammarState) -> bool {
        self.0 & Self::bit(state) != 0
    }

    /// The states after one of these bytes.
    fn after(self, bytes: &[u8]) -> Self {
        self.iter()
            .flat_map(|state| bytes.iter().filter_map(move |byte| state.next(*byte)))
            .collect()
    }

    /// The states after any run of these bytes, the empty run included.
    fn after_any_run_of(self, bytes: &[u8]) -> Self {
        let mut reached = self;
        loop {
            let more = Self(reached.0 | reached.after(bytes).0);
            if more == reached {
                return reached;
            }
            reached = more;
        }
    }
}

impl FromIterator<GrammarState> for StateSet {
    fn from_iter<I: IntoIterator<Item = GrammarState>>(states: I) -> Self {
        Self(
            states
                .into_iter()
                .fold(0, |set, state| set | Self::bit(state)),
        )
    }
}

/// Whether a glob matches at least one name of the grammar. Here every wildcard can match a slash.
pub(super) fn can_match(glob: &str) -> bool {
    match glob.strip_prefix("docker.io/") {
        Some(path) => can_match_from(HubStart, path.as_bytes()),
        None => [Begin, RegistryStart]
            .into_iter()
            .any(|state| can_match_from(state, glob.as_bytes())),
    }
}

/// Whether a glob for the host and a glob for the rest, from the first slash on, together match at
/// least one name of the grammar. The wildcards of the host's glob match no slash.
pub(super) fn can_match_host_and_path(host: &str, path: &str) -> bool {
    let begin = StateSet::of(&[Begin, RegistryStart]);
    let after_host = states_after(begin, host.as_bytes(), KINDS_WITHOUT_SLASH);
    can_match_from_any(after_host, path.as_bytes())
}

/// Whether a glob matches the rest of at least one name, from this state on.
fn can_match_from(mut state: GrammarState, mut glob: &[u8]) -> bool {
    // Most globs have only literal bytes before a `*` at the end. From every state, some name can
    // be completed, so such a `*` always matches.
    loop {
        match glob {
            [] => return state.ends_a_name(),
            [ANY_RUN] => return true,
            [ANY_RUN | ANY_BYTE, ..] => return can_match_from_any(StateSet::of(&[state]), glob),
            [byte, rest @ ..] => match state.next(*byte) {
                Some(next) => (state, glob) = (next, rest),
                None => return false,
            },
        }
    }
}

fn can_match_from_any(states: StateSet, glob: &[u8]) -> bool {
    states_after(states, glob, KINDS)
        .iter()
        .any(GrammarState::ends_a_name)
}

/// The states after a glob whose wildcards match these bytes.
fn states_after(states: StateSet, glob: &[u8], wildcard_bytes: &[u8]) -> StateSet {
    glob.iter().fold(states, |states, byte| match *byte {
        ANY_RUN => states.after_any_run_of(wildcard_bytes),
        ANY_BYTE => states.after(wildcard_bytes),
        byte => states.after(&[byte]),
    })
}
