//! Checks some facts of the documentation: links lead to existing pages, the pages are short enough, all
//! examples are listed, addresses of files in a release name this version, and Kubewarden's names are right.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The address of the repository on GitHub.
const REPOSITORY: &str = "https://github.com/consistent-pull-policy/consistent-pull-policy";
/// The start of the addresses of the repository's files as plain text. A branch or a tag comes next.
const RAW: &str =
    "https://raw.githubusercontent.com/consistent-pull-policy/consistent-pull-policy/";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages of the documentation: the path of each from the root, and its text.
fn pages() -> Vec<(PathBuf, String)> {
    let mut pages = Vec::new();
    for folder in ["", ".github", "docs", "examples", "site"] {
        let Ok(entries) = fs::read_dir(root().join(folder)) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(&path).expect("a page");
                let name = path.strip_prefix(root()).expect("below the root");
                pages.push((name.to_owned(), text));
            }
        }
    }
    pages.sort();
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

/// The reason why a link leads nowhere. `None` if its target exists, or is not a file of the repository.
fn broken(page: &Path, target: &str) -> Option<String> {
    let (target, anchor) = target.split_once('#').unwrap_or((target, ""));
    let own = [
        format!("{REPOSITORY}/blob/main/"),
        format!("{REPOSITORY}/tree/main/"),
    ];
    let path = match own
        .iter()
        .find_map(|start| target.strip_prefix(start.as_str()))
    {
        Some(path) => root().join(path),
        None if target.contains("://") => return None,
        None if target.is_empty() => root().join(page),
        None => root().join(page).parent()?.join(target),
    };
    // GitHub makes these pages, so no file can be checked.
    if ["releases", "security"]
        .iter()
        .any(|end| path.ends_with(end))
    {
        return None;
    }
    if !path.exists() {
        return Some(format!("there is no {}", path.display()));
    }
    let text = (!anchor.is_empty()).then(|| fs::read_to_string(&path).expect("a page"))?;
    (!anchors(&text).contains(anchor)).then(|| format!("{} has no #{anchor}", path.display()))
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

/// Each example has a line in the list of examples.
#[test]
fn the_list_of_examples_is_complete() {
    let list = fs::read_to_string(root().join("examples/README.md")).expect("the list");
    for entry in fs::read_dir(root().join("examples")).expect("examples") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".yaml") {
            assert!(list.contains(&format!("({name})")), "{name} is not listed");
        }
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
            assert!(root().join(file).exists(), "{}: {file}", page.display());
            // The README shows the pictures of the newest commit, so their addresses name a branch.
            if !file.starts_with("docs/pictures/") {
                count += 1;
                assert_eq!(reference, version, "{}: {file}", page.display());
            }
        }
    }
    assert!(count > 2, "{count}");
}

/// The documentation uses the new names of two things that Kubewarden has renamed.
#[test]
fn renamed_things_have_their_new_name() {
    for (old, new) in [
        // From 1.36 on, the image of policy-server is in the repository of the adm-controller.
        (
            "ghcr.io/kubewarden/policy-server",
            "ghcr.io/kubewarden/adm-controller/policy-server",
        ),
        // Since 1.33, Kubewarden's audits write reports of OpenReports by default.
        (
            "kubectl get policyreports",
            "kubectl get reports.openreports.io",
        ),
    ] {
        let pages = pages();
        for (page, text) in &pages {
            assert!(
                !text.contains(old),
                "{}: {old} is {new} now",
                page.display()
            );
        }
        assert!(pages.iter().any(|(_, text)| text.contains(new)), "{new}");
    }
    // All pages with an image of policy-server name the same version.
    let image = "ghcr.io/kubewarden/adm-controller/policy-server:";
    let mut versions = BTreeSet::new();
    for (_, text) in pages() {
        for rest in text.split(image).skip(1) {
            versions.insert(
                rest.split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
    }
    assert_eq!(versions.len(), 1, "{versions:?}");
}

/// A page that names the status `unscheduled` of a Kubewarden policy names all five statuses. Sources:
/// `PolicyStatusEnum` of kubewarden-controller, `api/policies/v1/policy.go`; `rejected` came with 1.38.
#[test]
fn all_statuses_of_a_policy_are_named_together() {
    let pages = pages();
    let explaining: Vec<_> = pages
        .iter()
        .filter(|(_, text)| text.contains("`unscheduled`"))
        .collect();
    assert!(!explaining.is_empty(), "no page names the statuses");
    for (page, text) in explaining {
        for status in ["scheduled", "pending", "active", "rejected"] {
            let status = format!("`{status}`");
            assert!(text.contains(&status), "{}: {status}", page.display());
        }
    }
}

/// Long pages hide their answers, so the number of words is limited: in README.md, and in all pages.
#[test]
fn the_pages_are_short_enough() {
    let of_project = |page: &Path| !page.starts_with(".github") && !page.starts_with("site");
    let words: Vec<(PathBuf, usize)> = pages()
        .into_iter()
        .filter(|(page, _)| of_project(page))
        .map(|(page, text)| (page, text.split_whitespace().count()))
        .collect();
    let readme = words
        .iter()
        .find(|(page, _)| page == Path::new("README.md"));
    let readme = readme.expect("README.md").1;
    assert!(readme <= 900, "README.md has {readme} words");
    let total: usize = words.iter().map(|(_, count)| count).sum();
    assert!(total <= 32_000, "{total} words: {words:#?}");
}

/// The page with the table of the names that Kubewarden gives to policies.
const KUBEWARDEN_NAMES: &str = "docs/other-webhooks.md";

/// The beginnings of the names that Kubewarden gives to a kind of policies: up to version 1.37.1, if it is
/// known, and since 1.37.2. They come from the table in `KUBEWARDEN_NAMES`.
fn kubewarden_names() -> Vec<(Option<String>, String)> {
    let text = fs::read_to_string(root().join(KUBEWARDEN_NAMES)).expect("the page");
    let beginning = |cell: &str| {
        let name = cell.trim().trim_matches('`');
        let end = name.find('<')?;
        Some(name[..end].to_owned())
    };
    let rows = text.lines().filter(|line| line.contains("Admission"));
    rows.filter_map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        let [_, _, old, new, _] = cells[..] else {
            return None;
        };
        Some((beginning(old), beginning(new)?))
    })
    .collect()
}

/// The rest of each name that begins with `beginning` in a text.
fn names<'t>(text: &'t str, beginning: &str) -> Vec<&'t str> {
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '<' | '…');
    text.split(beginning)
        .skip(1)
        .map(|rest| rest.split(|c| !belongs(c)).next().unwrap_or_default())
        .collect()
}

/// Kubewarden 1.37.2 renamed policies. A page uses a new name, and an old one only beside the new one. A
/// command that selects by a policy's name has both.
#[test]
fn names_of_policies_are_those_of_kubewarden() {
    let kinds = kubewarden_names();
    assert_eq!(kinds.len(), 4, "{kinds:?}");
    let examples: String = fs::read_dir(root().join("examples"))
        .expect("examples")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .map(|path| fs::read_to_string(path).expect("an example"))
        .collect();
    let exists = |name: &str| {
        name.starts_with(['<', '…'])
            || matches!(name, "NAME" | "another-policy")
            || examples.contains(&format!("\n  name: {name}\n"))
    };
    let mut count = 0;
    for (page, text) in pages() {
        for (index, line) in text.lines().enumerate() {
            let place = format!("{}:{}: {line}", page.display(), index + 1);
            for (old, new) in &kinds {
                let new = names(line, new);
                let old = old.as_deref().map(|old| names(line, old));
                let old = old.unwrap_or_default();
                count += new.len();
                for name in new.iter().chain(&old) {
                    assert!(exists(name), "no example has the name {name}: {place}");
                }
                assert!(old.iter().all(|name| new.contains(name)), "{place}");
                if line.contains("policy_name") || line.contains("select(") {
                    assert_eq!(old, new, "{place}");
                }
            }
        }
    }
    assert!(count > 8, "{count}");
}
