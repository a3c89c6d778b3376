//! Globs: matching them with texts, and comparing them with each other.

/// The wildcard that matches any run of bytes, the empty run included.
pub(super) const ANY_RUN: u8 = b'*';
/// The wildcard that matches any single byte.
pub(super) const ANY_BYTE: u8 = b'?';

/// Whether a glob matches the whole of a text. Apart from the two wildcards, each byte of the glob
/// matches itself.
pub(super) fn glob_matches(glob: &str, text: &str) -> bool {
    // Most globs don't match most texts, and usually the text's end shows this already. So the end is
    // compared first, which is fast.
    let tail = glob.rsplit('*').next().unwrap_or_default();
    if !tail.contains('?') && !text.ends_with(tail) {
        return false;
    }
    aligns(glob.as_bytes(), text.as_bytes(), |wanted, byte| {
        wanted == ANY_BYTE || wanted == byte
    })
}

/// Whether a glob matches the whole of a text. Each `*` matches any run of bytes. For any other
/// byte `wanted` of the glob, `fits(wanted, byte)` says whether `wanted` matches the text's `byte`.
///
/// Only the last `*` needs backtracking. It is never worse to match the part before a `*` as far
/// left as possible: the rest of the glob then has the longest text to choose from. This holds for
/// every `fits`.
pub(super) fn aligns(mut glob: &[u8], mut text: &[u8], fits: impl Fn(u8, u8) -> bool) -> bool {
    // The part of the glob after the latest `*`, and the text that this part is now matched with.
    let mut last_star: Option<(&[u8], &[u8])> = None;
    loop {
        match (glob, text) {
            ([ANY_RUN, rest @ ..], _) => {
                last_star = Some((rest, text));
                glob = rest;
            }
            ([], []) => return true,
            ([wanted, glob_rest @ ..], [byte, text_rest @ ..]) if fits(*wanted, *byte) => {
                glob = glob_rest;
                text = text_rest;
            }
            _ => {
                let Some((after_star, [_, text_rest @ ..])) = last_star else {
                    return false;
                };
                last_star = Some((after_star, text_rest));
                glob = after_star;
                text = text_rest;
            }
        }
    }
}

/// Whether the glob `earlier` matches every text that the glob `later` matches.
///
/// The answer is never wrongly true. It is wrongly false only if a `?` of `earlier` would have to
/// match one byte of a run that a `*` of `later` matches. For example, `?*` matches every text that
/// `*a` matches, but the answer is false.
///
/// The function matches `earlier` with `later`, as if `later` were a text. A `*` of `earlier`
/// matches any run, with wildcards in it or not. A `?` of `earlier` matches any byte but a `*`.
/// Every other byte matches only itself.
///
/// - If this succeeds, then `earlier` matches all texts of `later`. If a wildcard of `earlier`
///   matches a part of `later`, this wildcard also matches every text that this part matches.
/// - If this fails, and `earlier` has no `?`, then there is a counterexample: replace each wildcard
///   of `later` with a letter that `earlier` does not have. Only a `*` of `earlier` can match this
///   letter.
pub(super) fn subsumes(earlier: &str, later: &str) -> bool {
    aligns(earlier.as_bytes(), later.as_bytes(), |wanted, other| {
        wanted == other || (wanted == ANY_BYTE && other != ANY_RUN)
    })
}

pub(super) fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}
