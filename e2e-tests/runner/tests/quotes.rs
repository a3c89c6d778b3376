//! Checks that each message which a page quotes comes out of a row.
//!
//! A message is compared word by word. The names, images, pull policies and other values in it may be any words.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use consistent_pull_policy_rows::{Case, Evaluation, Host, Native, rows};
use serde_json::Value;

/// The words of a sentence. `None` stands for any value.
type Template = Vec<Option<String>>;

/// The sentences of a text, each as its words without punctuation.
fn sentences(text: &str) -> Vec<Vec<String>> {
    let sentences = text.trim_end_matches(';').split("; ").map(|sentence| {
        let words = sentence.replace("'s ", " ");
        let words = words.split(['"', '(', ')', ',', '`', ' ', '\n']);
        words
            .map(|word| word.trim_end_matches([':', '.']).to_owned())
            .filter(|word| !word.is_empty())
            .collect()
    });
    sentences.filter(|words: &Vec<String>| !words.is_empty()).collect()
}

/// All strings of a value, and the names in it only if `key` is a name.
fn strings<'a>(value: &'a Value, key: Option<&str>, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::String(text) if key.is_none_or(|key| key == "name") => drop(found.insert(text)),
        Value::Array(list) => list.iter().for_each(|one| strings(one, key.and(Some("")), found)),
        Value::Object(object) => {
            for (name, value) in object {
                strings(value, key.and(Some(name)), found);
            }
        }
        _ => {}
    }
}

/// The sentences of an answer, without the values in them.
fn templates(case: &Case, evaluation: &Evaluation) -> Vec<Template> {
    let mut values = BTreeSet::new();
    strings(&case.request["object"], Some(""), &mut values);
    strings(&case.settings, None, &mut values);
    let is_value = |word: &str| {
        word.contains(|c: char| c.is_ascii_digit() || "/@*$_…".contains(c))
            || ["Always", "IfNotPresent", "Never"].contains(&word)
            || values.contains(word)
    };
    let answer = &evaluation.answer;
    let warnings = answer["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let texts =
        evaluation.invalid.as_deref().into_iter().chain(answer["message"].as_str()).chain(warnings);
    let words = texts.flat_map(sentences);
    words
        .map(|words| {
            words.into_iter().map(|word| Some(word).filter(|word| !is_value(word))).collect()
        })
        .collect()
}

/// Each three words in a row. Any value may stand between the first and the last of them.
fn three_words(words: &[Option<String>]) -> impl Iterator<Item = [Option<String>; 3]> {
    let windows = words.windows(3).filter(|three| three[0].is_some() && three[2].is_some());
    windows.map(|three| [three[0].clone(), three[1].clone(), three[2].clone()])
}

/// A quoted text, and whether it may be a part of a sentence.
type Quote = (String, bool);

/// The lines of the code blocks of a page, without comments, and the code in its prose. A folded text of YAML is one line.
fn quotes(page: &str) -> Vec<Quote> {
    let mut quotes = Vec::new();
    for (number, part) in page.split("```").enumerate() {
        if number % 2 == 0 {
            let code = part.split('`').skip(1).step_by(2).filter(|code| !code.contains('\n'));
            quotes.extend(code.map(|code| (code.to_owned(), true)));
        } else if let Some((_, folded)) = part.split_once(">-\n") {
            quotes.push((folded.replace('\n', " "), false));
        } else {
            quotes.extend(
                part.lines()
                    .map(|line| (line.split('#').next().unwrap_or_default().to_owned(), false)),
            );
        }
    }
    quotes
}

/// Whether words are a sentence, or a part of one.
fn is_produced(words: &[String], is_part: bool, templates: &BTreeSet<Template>) -> bool {
    let fits = |part: &[Option<String>]| {
        part.iter().zip(words).all(|(known, word)| known.as_ref().is_none_or(|known| known == word))
    };
    templates.iter().any(|template| {
        (is_part || template.len() == words.len()) && template.windows(words.len()).any(fits)
    })
}

#[test]
fn each_message_on_a_page_comes_out_of_a_row() {
    let mut produced = BTreeSet::new();
    for row in rows().expect("the rows") {
        for case in row.cases().expect("the cases") {
            produced.extend(templates(&case, &Native.evaluate(&case).expect("an answer")));
        }
    }
    let known: BTreeSet<_> = produced.iter().flat_map(|template| three_words(template)).collect();
    let (mut count, mut unknown) = (0, Vec::new());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in ["", "docs", "examples"] {
        for file in fs::read_dir(root.join(folder)).expect("a folder") {
            let path = file.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            let page = fs::read_to_string(&path).expect("a page");
            for (text, is_part) in quotes(&page) {
                for words in sentences(&text) {
                    let own: Template = words.iter().cloned().map(Some).collect();
                    // A fifth of the words begin three known words.
                    let is_known = |three: &[Option<String>; 3]| {
                        let [first, _, last] = three;
                        known.contains(three)
                            || known.contains(&[first.clone(), None, last.clone()])
                    };
                    if three_words(&own).filter(is_known).count() * 5 < words.len() {
                        continue;
                    }
                    count += 1;
                    if !is_produced(&words, is_part, &produced) {
                        let page = path.strip_prefix(&root).unwrap_or(&path).display();
                        unknown.push(format!("{page}: {}", words.join(" ")));
                    }
                }
            }
        }
    }
    assert!(unknown.is_empty(), "no row produces these messages:\n{}", unknown.join("\n"));
    assert!(count >= 20, "the pages quote only {count} messages");
}
