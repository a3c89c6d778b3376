//! Which normalised image names there are, and whether a glob can match one of them.
//!
//! The names are those that [`crate::image::Reference`] gives: `registry/repository`, with or
//! without `:tag`. As an automaton over bytes they have a few places in which a text can stand;
//! a glob is run through it with all places at once that its wildcards allow. Lengths don't
//! count, so a glob that can match is at worst thought to match a name that is too long.

use Place::{
    Begin, HostHyphen, HostLabel, HostWord, HubDot, HubHyphen, HubStart, HubUnderscore,
    HubUnderscores, HubWord, PathDot, PathHyphen, PathStart, PathUnderscore, PathUnderscores,
    PathWord, Port, PortStart, RegistryDot, RegistryHyphen, RegistryStart, RegistryUnderscore,
    RegistryUnderscores, RegistryWord, TagStart, TagWord, V6, V6Closed, V6Open,
};

/// A place in a name: what was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing yet, before a registry that is a host.
    Begin,
    HostLabel,
    HostWord,
    HostHyphen,
    PortStart,
    Port,
    V6Open,
    V6,
    V6Closed,
    /// Nothing yet, before a registry that is a path component with dots, such as `a.b_c`.
    RegistryStart,
    RegistryWord,
    RegistryDot,
    RegistryUnderscore,
    RegistryUnderscores,
    RegistryHyphen,
    /// Behind `docker.io/`, whose repositories have two components or more.
    HubStart,
    HubWord,
    HubDot,
    HubUnderscore,
    HubUnderscores,
    HubHyphen,
    /// Behind a slash: a component of the repository begins.
    PathStart,
    PathWord,
    PathDot,
    PathUnderscore,
    PathUnderscores,
    PathHyphen,
    /// Behind the colon of a tag.
    TagStart,
    TagWord,
}

/// The places of a path component: nothing yet, a letter or digit, and each separator.
const REGISTRY: [Place; 6] = [
    RegistryStart,
    RegistryWord,
    RegistryDot,
    RegistryUnderscore,
    RegistryUnderscores,
    RegistryHyphen,
];
const HUB: [Place; 6] = [
    HubStart,
    HubWord,
    HubDot,
    HubUnderscore,
    HubUnderscores,
    HubHyphen,
];
const PATH: [Place; 6] = [
    PathStart,
    PathWord,
    PathDot,
    PathUnderscore,
    PathUnderscores,
    PathHyphen,
];
/// All places.
const ALL: [Place; 29] = [
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

/// One byte of each kind that the automaton tells apart. A hexadecimal letter does for all
/// lower-case letters, as it is allowed wherever any of them is.
const KINDS: &[u8] = b"aA0._-:/[]";

impl Place {
    /// The place behind one more byte, where that can stand there.
    fn next(self, byte: u8) -> Option<Self> {
        let next = match (self, byte) {
            (RegistryWord | HubWord | PathWord | HostWord | Port | V6Closed, b'/') => PathStart,
            (PathWord, b':') => TagStart,
            (HostWord | V6Closed, b':') => PortStart,
            (Begin, b'[') => V6Open,
            (Begin | HostLabel | HostWord | HostHyphen, _) if byte.is_ascii_alphanumeric() => {
                HostWord
            }
            (HostWord, b'.') => HostLabel,
            (HostWord | HostHyphen, b'-') => HostHyphen,
            (PortStart | Port, b'0'..=b'9') => Port,
            (V6Open | V6, b':') => V6,
            (V6Open | V6, _) if byte.is_ascii_hexdigit() => V6,
            (V6, b']') => V6Closed,
            (TagStart | TagWord, b'_') => TagWord,
            (TagStart | TagWord, _) if byte.is_ascii_alphanumeric() => TagWord,
            (TagWord, b'.' | b'-') => TagWord,
            _ => return self.next_in_component(byte),
        };
        Some(next)
    }

    /// Lower-case letters and digits, parted by one of `.`, `_`, `__`, or any number of `-`.
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

    /// Whether a name can end here.
    const fn ends_a_name(self) -> bool {
        matches!(self, PathWord | TagWord)
    }
}

/// A set of places, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Places(u32);

impl Places {
    fn of(places: &[Place]) -> Self {
        places.iter().copied().collect()
    }

    fn iter(self) -> impl Iterator<Item = Place> {
        ALL.into_iter().filter(move |place| self.has(*place))
    }

    const fn bit(place: Place) -> u32 {
        1_u32.rotate_left(place as u32)
    }

    const fn has(self, place: Place) -> bool {
        self.0 & Self::bit(place) != 0
    }

    /// The places behind one byte of any of these.
    fn behind(self, bytes: &[u8]) -> Self {
        self.iter()
            .flat_map(|place| bytes.iter().filter_map(move |byte| place.next(*byte)))
            .collect()
    }

    /// These places and all behind them.
    fn behind_any_run(self) -> Self {
        let mut reached = self;
        loop {
            let more = Self(reached.0 | reached.behind(KINDS).0);
            if more == reached {
                return reached;
            }
            reached = more;
        }
    }
}

impl FromIterator<Place> for Places {
    fn from_iter<I: IntoIterator<Item = Place>>(places: I) -> Self {
        Self(
            places
                .into_iter()
                .fold(0, |set, place| set | Self::bit(place)),
        )
    }
}

/// Whether a glob matches any name.
pub(super) fn can_match(glob: &str) -> bool {
    match glob.strip_prefix("docker.io/") {
        Some(path) => can_match_from(HubStart, path.as_bytes()),
        None => [Begin, RegistryStart]
            .into_iter()
            .any(|place| can_match_from(place, glob.as_bytes())),
    }
}

/// Whether a glob matches the rest of any name.
fn can_match_from(mut place: Place, mut glob: &[u8]) -> bool {
    // Most globs are literal up to a `*` at the end, and every place has some end of a name
    // behind it.
    loop {
        match glob {
            [] => return place.ends_a_name(),
            [b'*'] => return true,
            [b'*' | b'?', ..] => return can_match_from_any(Places::of(&[place]), glob),
            [byte, rest @ ..] => match place.next(*byte) {
                Some(next) => (place, glob) = (next, rest),
                None => return false,
            },
        }
    }
}

fn can_match_from_any(places: Places, glob: &[u8]) -> bool {
    glob.iter()
        .fold(places, |places, byte| match byte {
            b'*' => places.behind_any_run(),
            b'?' => places.behind(KINDS),
            byte => places.behind(&[*byte]),
        })
        .iter()
        .any(Place::ends_a_name)
}
