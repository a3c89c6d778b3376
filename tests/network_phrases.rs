//! No text of this policy has a phrase that a controller reads as a network error or a quota error.
//!
//! GitLab Runner, Argo Workflows and Jenkins search the text of a rejection for such phrases. If a
//! controller finds a phrase, the controller sends its request again, and no user sees the text.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Answer, FakeRegistry, answer_to_payload, container, pod_create, validate};
use serde_json::json;

/// The phrases, in lower case. Sources: `executors/kubernetes/kubernetes.go` of GitLab Runner,
/// `util/errors/errors.go` of Argo Workflows, `KubernetesLauncher.java` of Jenkins' kubernetes-plugin.
const PHRASES: [&str; 20] = [
    "error dialing backend",
    "tls handshake timeout",
    "connection timed out",
    "timeout occurred",
    "request timed out",
    "client connection lost",
    "connection refused",
    "tls: internal error",
    "unexpected eof",
    "connection reset by peer",
    "software caused connection abort",
    "broken pipe",
    "i/o timeout",
    "invalid connection",
    "connection closed by foreign host",
    "request did not complete within requested timeout",
    "exceeded quota",
    "client rate limiter wait returned an error",
    "resource quota evaluation timed out",
    "etcdserver: leader changed",
];

/// The first of the phrases that a text contains.
fn phrase_in(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    PHRASES.into_iter().find(|phrase| text.contains(phrase))
}

/// All Rust files below a folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The string literals of a source file. `\n` becomes a space. Any other escape loses its backslash,
/// and an escaped line break disappears with the indentation after it.
fn string_literals(source: &str) -> Vec<String> {
    let chars: Vec<char> = source.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\n');
    let mut literals = Vec::new();
    let mut index = 0;
    while index < chars.len() {
        match at(index) {
            '/' if at(index + 1) == '/' => {
                while at(index) != '\n' {
                    index += 1;
                }
            }
            '\'' if at(index + 1) == '\\' => {
                index += 3;
                while at(index) != '\'' {
                    index += 1;
                }
            }
            '\'' if at(index + 2) == '\'' => index += 2,
            'r' if matches!(at(index + 1), '"' | '#')
                && !at(index.wrapping_sub(1)).is_alphanumeric() =>
            {
                let hashes = chars[index + 1..].iter().take_while(|c| **c == '#').count();
                if at(index + 1 + hashes) == '"' {
                    let end: String = format!("\"{}", "#".repeat(hashes));
                    let rest: String = chars[index + 2 + hashes..].iter().collect();
                    let length = rest.find(&end).expect("the end of a raw string");
                    literals.push(rest[..length].to_owned());
                    index += 2 + hashes + rest[..length].chars().count() + hashes;
                }
            }
            '"' => {
                let mut literal = String::new();
                index += 1;
                while at(index) != '"' {
                    if at(index) == '\\' {
                        index += 1;
                        if at(index) == '\n' {
                            while at(index + 1).is_whitespace() {
                                index += 1;
                            }
                        } else {
                            literal.push(if at(index) == 'n' { ' ' } else { at(index) });
                        }
                    } else {
                        literal.push(at(index));
                    }
                    index += 1;
                }
                literals.push(literal);
            }
            _ => {}
        }
        index += 1;
    }
    literals
}

/// Whether a part of a sentence begins with a phrase without its first word, or ends with a phrase
/// without its last word. A text of an object beside this part could then complete the phrase, as it
/// is one word in a sentence. Phrases of more than three words are not checked.
fn is_start_or_end_of(part: &str, phrase: &str) -> bool {
    let words: Vec<&str> = phrase.split(' ').collect();
    words.len() <= 3
        && (part.starts_with(&format!(" {}", words[1..].join(" ")))
            || part.ends_with(&format!("{} ", words[..words.len() - 1].join(" "))))
}

#[test]
fn the_scanner_finds_the_literals_of_a_source_file() {
    // Each `~` is replaced with `#` below, because `"#` would end this literal.
    let source = r#"
        // a "comment" and 'its quotes
        let a = 'x'; let b: &'static str = "one \
            two"; let c = '"'; let d = '\'';
        let e = r~"three "four""~; let f = "\"five\"";
    "#
    .replace('~', "#");
    assert_eq!(
        string_literals(&source),
        ["one two", "three \"four\"", "\"five\""]
    );
}

#[test]
fn no_words_of_this_policy_are_such_a_phrase_or_a_part_of_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = rust_files(&root.join("src"));
    files.extend(rust_files(&root.join("crates/settings-reader/src")));
    let mut count = 0;
    for file in files {
        let source = fs::read_to_string(&file).expect("a source file");
        for literal in string_literals(&source) {
            count += 1;
            let name = file.display();
            assert_eq!(phrase_in(&literal), None, "{name}: {literal}");
            // Each placeholder of `format!` separates two parts.
            for part in literal.to_lowercase().split(['{', '}']) {
                let phrase = PHRASES
                    .iter()
                    .find(|phrase| is_start_or_end_of(part, phrase));
                assert_eq!(phrase, None, "{name}: {literal}");
            }
        }
    }
    assert!(count > 500, "only {count} literals were found");
}

/// A sentence shows texts of an object without their white space. Each phrase has white space, so no
/// such text can be a phrase.
#[test]
fn no_text_of_an_object_brings_such_a_phrase_into_a_sentence() {
    for phrase in PHRASES {
        assert!(phrase.contains(' '), "{phrase}");
        let shown = phrase.replace(' ', "_");
        let texts = |answer: &Answer| {
            let mut texts = vec![answer.message().to_owned()];
            texts.extend(answer.warnings().into_iter().map(str::to_owned));
            texts
        };
        // The phrase is the name of one container and the image of another container.
        let weak = json!({
            "initContainers": [container("imagecheck-0", "a:1", "Never")],
            "containers": [container(phrase, "a:1", "Always"), container("b", phrase, "Always")],
        });
        // The phrase is the name of a waiting container, and is in the container's status.
        let mut stuck =
            pod_create(&json!({"containers": [container(phrase, "a:1", "IfNotPresent")]}));
        stuck["object"]["status"] = json!({
            "conditions": [{"type": "ContainersReady", "lastTransitionTime": phrase}],
            "containerStatuses": [{"name": phrase, "state": {"waiting": {
                "reason": "ErrImagePull", "message": format!("pulling \"a:1\": {phrase}"),
            }}}],
        });
        for request in [pod_create(&weak), stuck] {
            for mode in ["Fix", "Reject", "Warn"] {
                let answer = validate(&request, &json!({"mode": mode}));
                let texts = texts(&answer);
                for text in &texts {
                    assert_eq!(phrase_in(text), None, "{text}");
                }
                if mode == "Reject" {
                    assert!(texts.iter().any(|text| text.contains(&shown)), "{texts:?}");
                }
            }
        }
    }
}

/// The error for an unreadable payload repeats no text of the request or of the settings.
#[test]
fn an_unreadable_request_has_no_such_phrase_in_its_answer() {
    for phrase in PHRASES {
        for payload in [
            json!({"request": phrase, "settings": {}}),
            json!({"request": {"kind": phrase}, "settings": {}}),
            json!({"request": {"kind": {"kind": [phrase]}}, "settings": {}}),
            json!({"request": {"kind": {"group": "", "kind": "Pod"}, "operation": [phrase]}, "settings": {}}),
            json!({"request": pod_create(&json!(phrase)), "settings": {}}),
            json!({"request": pod_create(&json!({"containers": phrase})), "settings": {}}),
            json!({"request": pod_create(&json!({"containers": [phrase]})), "settings": {}}),
            json!({"request": pod_create(&json!({"containers": [{"name": "a", "imagePullPolicy": phrase}]})), "settings": {}}),
            json!({"request": pod_create(&json!({"containers": []})), "settings": phrase}),
        ] {
            let answer = answer_to_payload(&payload.to_string(), &mut FakeRegistry::default());
            assert_eq!(phrase_in(answer.message()), None, "{payload}");
        }
    }
}
