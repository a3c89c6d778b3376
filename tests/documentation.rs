//! Checks some facts of the documentation: links lead to existing pages, and addresses of files in
//! a release name this version.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use consistent_pull_policy_promises::repository::{files, path};

/// The address of the repository on GitHub.
const REPOSITORY: &str = "https://github.com/consistent-pull-policy/consistent-pull-policy";
/// The start of the addresses of the repository's files as plain text. A branch or a tag comes
/// next.
const RAW: &str =
    "https://raw.githubusercontent.com/consistent-pull-policy/consistent-pull-policy/";

/// The pages of the documentation: the path of each from the root, and its text.
fn pages() -> Vec<(PathBuf, String)> {
    let mut pages = Vec::new();
    for folder in [".", ".github", "docs", "examples", "site"] {
        let named = |(name, text)| (Path::new(folder).join(name).with_extension("md"), text);
        pages.extend(files(folder, ".md").into_iter().map(named));
    }
    assert!(pages.len() > 10, "{}", pages.len());
    pages
}

/// The lines of a page that are no code, with their line numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push((index + 1, line));
        }
    }
    lines
}

/// The anchors of a page: its headings, in the form that GitHub gives them in links.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter_map(|(_, line)| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len()).then(|| heading.trim().to_lowercase())
    });
    headings
        .map(|heading| {
            heading
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

/// The targets of a line's links.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
}

/// The reason why a link leads nowhere. `None` if its target exists, or is not a file of the
/// repository.
fn broken(page: &Path, target: &str) -> Option<String> {
    let (target, anchor) = target.split_once('#').unwrap_or((target, ""));
    let own = ["blob", "tree"].map(|kind| format!("{REPOSITORY}/{kind}/"));
    if own.iter().any(|start| target.starts_with(start.as_str())) {
        return Some(format!(
            "{target} is a file of this repository, so the link can be relative"
        ));
    }
    let file = match target {
        address if address.contains("://") => return None,
        "" => path("").join(page),
        relative => path("").join(page).parent()?.join(relative),
    };
    if !file.exists() {
        return Some(format!("there is no {}", file.display()));
    }
    let text = (!anchor.is_empty()).then(|| fs::read_to_string(&file).expect("a page"))?;
    (!anchors(&text).contains(anchor)).then(|| format!("{} has no #{anchor}", file.display()))
}

#[test]
fn each_link_leads_to_a_file_and_a_heading() {
    let mut problems = Vec::new();
    let mut count = 0;
    for (page, text) in pages() {
        for (number, line) in prose(&text) {
            for target in targets(line) {
                count += 1;
                problems.extend(
                    broken(&page, target)
                        .map(|problem| format!("{}:{number}: {problem}", page.display())),
                );
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count > 200, "{count}");
}

/// Renovate updates these versions together, and the workflows read them from these files.
#[test]
fn pages_and_examples_name_one_version_of_kubewarden() {
    let examples = files("examples", ".yaml").into_iter();
    let examples = examples.map(|(_, text)| text);
    let pages = pages().into_iter().map(|(_, text)| text);
    let texts: Vec<String> = pages.chain(examples).collect();
    for start in ["--version ", "/policy-server:"] {
        let rests = texts.iter().flat_map(|text| text.split(start).skip(1));
        let versions: BTreeSet<&str> = rests
            .filter_map(|rest| rest.split_whitespace().next())
            // hack/check-packaging.sh compares the versions of this policy's chart.
            .filter(|version| *version != env!("CARGO_PKG_VERSION"))
            .collect();
        assert_eq!(versions.len(), 1, "{start}{versions:?}");
    }
}

/// An address of a file in a release names the version that comes with this documentation.
#[test]
fn addresses_in_a_release_name_this_version() {
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    let mut count = 0;
    for (page, text) in pages() {
        for address in text.split(RAW).skip(1) {
            let (reference, file) = address.split_once('/').expect("a reference and a path");
            let file = file.split([')', ' ', '\n']).next().unwrap_or_default();
            assert!(path(file).exists(), "{}: {file}", page.display());
            // The README shows the pictures of the newest commit, so their addresses name a branch.
            if !file.starts_with("docs/pictures/") {
                count += 1;
                assert_eq!(reference, version, "{}: {file}", page.display());
            }
        }
    }
    assert!(count > 0, "{count}");
}
