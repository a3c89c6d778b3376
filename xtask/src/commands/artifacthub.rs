//! `cargo xtask artifacthub`: writes the package that Artifact Hub and Rancher read. It is made from
//! metadata.yml, questions-ui.yml and CHANGELOG.md.
//!
//! `kwctl scaffold artifacthub` writes a similar package. That package always names `kubewarden` as the
//! provider, and lacks the changes, the logo and the screenshots.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use semver::Version;
use serde::Deserialize;
use yaml_serde::{Mapping, Value};

use crate::module::metadata::Metadata;
use crate::workspace;

/// The name of the package's file.
const PACKAGE: &str = "artifacthub-pkg.yml";

/// The screenshots: titles, and files in this repository.
const SCREENSHOTS: [(&str, &str); 3] = [
    (
        "The playground: a Pod is repaired",
        "docs/pictures/playground-repair.png",
    ),
    (
        "The playground: what a registry's outage does",
        "docs/pictures/playground-outage.png",
    ),
    (
        "The playground: the plan for a list of Pods",
        "docs/pictures/playground-plan.png",
    ),
];

const HEADER: &str = "\
# What Artifact Hub and Rancher show. Written by `make artifacthub-pkg.yml` from metadata.yml,
# questions-ui.yml and CHANGELOG.md; `make lint` compares. The release publishes it on the branch
# artifacthub, which is the one that Artifact Hub reads.
";

/// Writes the package for Artifact Hub and Rancher
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Writes nothing, and fails if the file is out of date
    #[arg(long, conflicts_with = "output_path")]
    check: bool,
    /// File for the package
    #[arg(short, long, value_name = "PATH")]
    output_path: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace::root();
    let committed = fs::read_to_string(root.join(PACKAGE)).unwrap_or_default();
    let package = package(&root, &committed)?;
    if args.check {
        return match first_difference(&committed, &package) {
            None => Ok(()),
            Some((number, is, should)) => bail!(
                "{PACKAGE} is out of date, run `make {PACKAGE}`: line {number} is '{is}', not \
                 '{should}'"
            ),
        };
    }
    let target = args.output_path.clone();
    let target = target.unwrap_or_else(|| root.join(PACKAGE));
    fs::write(&target, package).with_context(|| format!("cannot write {}", target.display()))
}

/// The first line in which two texts differ: the line's number, counted from 1, and its text in `is` and
/// in `should`.
fn first_difference<'a>(is: &'a str, should: &'a str) -> Option<(usize, &'a str, &'a str)> {
    let count = is.lines().count().max(should.lines().count());
    let line = |text: &'a str, index| text.lines().nth(index).unwrap_or("(nothing)");
    (0..count)
        .map(|index| (index + 1, line(is, index), line(should, index)))
        .find(|(_, is, should)| is != should)
        .or_else(|| (is != should).then_some((count, "(the end of a line)", "")))
}

/// The fields of an earlier package from which the next package gets its time.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EarlierPackage {
    version: Option<Version>,
    created_at: Option<String>,
}

/// A mapping with its keys in the order of `entries`.
fn mapping<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let entries = entries.into_iter().map(|(key, value)| (key.into(), value));
    entries.collect::<Mapping>().into()
}

/// The text of the package, with the keys in kwctl's order.
fn package(root: &Path, earlier: &str) -> Result<String> {
    let read = |name: &str| {
        fs::read_to_string(root.join(name)).with_context(|| format!("cannot read {name}"))
    };
    let metadata = Metadata::parse(&read("metadata.yml")?).context("in metadata.yml")?;
    let annotations = metadata.annotations.clone().unwrap_or_default();
    let optional = |key: &str| annotations.get(key).cloned();
    let required = |key: &str| {
        optional(key).with_context(|| format!("metadata.yml lacks the annotation {key}"))
    };
    let or_null = |key: &str| optional(key).map_or(Value::Null, Value::from);
    let version = required("io.kubewarden.policy.version")?;
    let version = Version::parse(&version)
        .with_context(|| format!("in metadata.yml: io.kubewarden.policy.version is '{version}'"))?;
    let image = format!("{}:v{version}", required("io.kubewarden.policy.ociUrl")?);
    let source = required("io.kubewarden.policy.source")?;
    let display_name = required("io.artifacthub.displayName")?;
    let path = source.strip_prefix("https://github.com/").context(
        "in metadata.yml: io.kubewarden.policy.source is not on GitHub, where the release is",
    )?;
    // Each address contains the tag of the release, so that it leads to the same file after a later release.
    let file = |name: &str| format!("https://raw.githubusercontent.com/{path}/v{version}/{name}");

    // The same files give the same package: the time changes only when the version changes.
    let earlier: EarlierPackage = yaml_serde::from_str(earlier).unwrap_or_default();
    let created_at = earlier
        .created_at
        .filter(|_| earlier.version.as_ref() == Some(&version))
        .unwrap_or_else(|| humantime::format_rfc3339_seconds(SystemTime::now()).to_string());

    let mut kubewarden = BTreeMap::from([
        ("kubewarden/mutation", metadata.mutating.to_string()),
        ("kubewarden/rules", yaml_serde::to_string(&metadata.rules)?),
        ("kubewarden/questions-ui", read("questions-ui.yml")?),
    ]);
    if !metadata.context_aware_resources.is_empty() {
        let resources = yaml_serde::to_string(&metadata.context_aware_resources)?;
        kubewarden.insert("kubewarden/contextAwareResources", resources);
    }
    if let Some(resources) = optional("io.artifacthub.resources") {
        kubewarden.insert("kubewarden/resources", resources);
    }

    let authors = optional("io.kubewarden.policy.author").unwrap_or_default();
    let keywords = optional("io.artifacthub.keywords").unwrap_or_default();
    let module = format!("{source}/releases/download/v{version}/policy.wasm");
    let link = |name: &str, url: String| mapping([("name", name.into()), ("url", url.into())]);
    let package = mapping([
        ("version", version.to_string().into()),
        ("name", required("io.kubewarden.policy.title")?.into()),
        ("displayName", display_name.clone().into()),
        ("createdAt", created_at.into()),
        (
            "description",
            required("io.kubewarden.policy.description")?.into(),
        ),
        ("logoURL", file("docs/logo.svg").into()),
        ("license", or_null("io.kubewarden.policy.license")),
        ("homeURL", or_null("io.kubewarden.policy.url")),
        (
            "containersImages",
            vec![mapping([
                ("name", "policy".into()),
                ("image", image.clone().into()),
            ])]
            .into(),
        ),
        ("screenshots", screenshots(root, file)?.into()),
        ("keywords", list(&keywords).into()),
        (
            "links",
            vec![link("policy", module), link("source", source.clone())].into(),
        ),
        (
            "changes",
            changes(&read("CHANGELOG.md")?, &version)
                .context("in CHANGELOG.md")?
                .into(),
        ),
        ("install", install(&image).into()),
        (
            "maintainers",
            maintainers(&authors)
                .context("in metadata.yml: io.kubewarden.policy.author")?
                .into(),
        ),
        ("provider", mapping([("name", display_name.into())])),
        (
            "recommendations",
            vec![mapping([(
                "url",
                "https://artifacthub.io/packages/helm/kubewarden/admission-controller".into(),
            )])]
            .into(),
        ),
        ("annotations", yaml_serde::to_value(kubewarden)?),
    ]);
    Ok(format!("{HEADER}{}", yaml_serde::to_string(&package)?))
}

fn screenshots(root: &Path, url: impl Fn(&str) -> String) -> Result<Vec<Value>> {
    let screenshot = |(title, path): (&'static str, &str)| {
        let is_there = root.join(path).is_file();
        ensure!(is_there, "{path} is missing: run `make pictures`");
        Ok(mapping([
            ("title", title.into()),
            ("url", url(path).into()),
        ]))
    };
    SCREENSHOTS.into_iter().map(screenshot).collect()
}

/// How to install the policy. `kwctl scaffold artifacthub` writes the same text.
fn install(image: &str) -> String {
    format!(
        "The policy can be obtained using [kwctl](https://docs.kubewarden.io/howtos/install-kwctl):\n\
         ```console\nkwctl pull {image}\n```\n\
         Then, generate the policy manifest and tune it to your liking. For example:\n\
         ```console\nkwctl scaffold manifest -t ClusterAdmissionPolicy registry://{image}\n```\n"
    )
}

/// The elements of a comma-separated list.
fn list(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The maintainers in `Name <mail>, Name <mail>`.
fn maintainers(text: &str) -> Result<Vec<Value>> {
    let maintainer = |text: String| {
        let (name, email) = text
            .strip_suffix('>')
            .and_then(|rest| rest.split_once('<'))
            .with_context(|| format!("'{text}' is not 'Name <mail>'"))?;
        ensure!(email.contains('@'), "'{email}' is no mail address");
        Ok(mapping([
            ("name", name.trim().into()),
            ("email", email.into()),
        ]))
    };
    list(text).into_iter().map(maintainer).collect()
}

/// The entries of a version in a changelog (<https://keepachangelog.com>). A version without a section
/// has the entries of `Unreleased`. Artifact Hub shows plain text, so `*` and backticks are removed.
fn changes(changelog: &str, version: &Version) -> Result<Vec<Value>> {
    let section = |title: &str| {
        let heading = format!("[{title}]");
        let mut sections = changelog.split("\n## ");
        sections.find(|section| section.starts_with(&heading))
    };
    let section = section(&version.to_string())
        .or_else(|| section("Unreleased"))
        .with_context(|| format!("there is neither a section [{version}] nor [Unreleased]"))?;
    let mut changes: Vec<(&str, String)> = Vec::new();
    let mut kind = None;
    let mut in_entry = false;
    for line in section.lines().skip(1) {
        if let Some(heading) = line.strip_prefix("### ") {
            const KINDS: [&str; 6] = [
                "added",
                "changed",
                "deprecated",
                "removed",
                "fixed",
                "security",
            ];
            let heading = heading.trim();
            let known = |name: &&str| heading.eq_ignore_ascii_case(name);
            let known = KINDS.into_iter().find(known);
            kind = Some(
                known.with_context(|| format!("'{heading}' is no heading of Keep a Changelog"))?,
            );
        } else if let Some(entry) = line.strip_prefix("- ") {
            let kind = kind.context("an entry comes before the first heading")?;
            changes.push((kind, plain(entry)));
        } else if let (true, Some((_, entry)), false) =
            (in_entry, changes.last_mut(), line.trim().is_empty())
        {
            entry.push(' ');
            entry.push_str(&plain(line));
        }
        in_entry = line.starts_with("- ") || (in_entry && line.starts_with("  "));
    }
    ensure!(!changes.is_empty(), "the section of {version} has no entry");
    let change = |(kind, description): (&str, String)| {
        mapping([("kind", kind.into()), ("description", description.into())])
    };
    Ok(changes.into_iter().map(change).collect())
}

fn plain(markdown: &str) -> String {
    markdown.trim().replace(['*', '`'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version() -> Version {
        Version::new(1, 2, 3)
    }

    #[test]
    fn the_changes_are_those_of_the_version() {
        let released = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Later.\n\n\
            ## [1.2.3] - 2026-01-01\n\nWords.\n\n### Added\n\n- The rule *x*,\n  with `y`.\n- Z.\n\n\
            ### Fixed\n\n- A bug.\n\n## [1.2.2]\n\n### Added\n\n- Earlier.\n";
        let change = |kind: &str, description: &str| {
            mapping([("kind", kind.into()), ("description", description.into())])
        };
        assert_eq!(
            changes(released, &version()).expect("changes"),
            [
                change("added", "The rule x, with y."),
                change("added", "Z."),
                change("fixed", "A bug."),
            ]
        );
        assert_eq!(
            changes(released, &Version::new(2, 0, 0)).expect("changes"),
            [change("added", "Later.")]
        );
    }

    #[test]
    fn a_changelog_without_the_version_is_refused() {
        for (changelog, expected) in [
            ("# Changelog\n", "neither a section [1.2.3] nor"),
            ("# C\n\n## [1.2.3]\n\nNothing.\n", "has no entry"),
            ("# C\n\n## [1.2.3]\n\n- X.\n", "before the first heading"),
            (
                "# C\n\n## [1.2.3]\n\n### New\n\n- X.\n",
                "'New' is no heading",
            ),
        ] {
            let error = changes(changelog, &version()).expect_err(changelog);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn maintainers_are_names_and_addresses() {
        assert_eq!(
            maintainers("A B <a@example.com>, C <c@example.com>").expect("two"),
            [("A B", "a@example.com"), ("C", "c@example.com")]
                .map(|(name, email)| mapping([("name", name.into()), ("email", email.into())]))
        );
        for wrong in ["A B", "a@example.com", "A <b>"] {
            assert!(maintainers(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_time_changes_only_with_the_version() {
        let root = workspace::root();
        let first = package(&root, "").expect("a package");
        let with = |version: &str| {
            let earlier = format!("version: {version}\ncreatedAt: 2001-02-03T04:05:06Z\n");
            package(&root, &earlier).expect("a package")
        };
        assert!(!first.contains("2001-02-03"));
        assert!(with(env!("CARGO_PKG_VERSION")).contains("\ncreatedAt: 2001-02-03T04:05:06Z\n"));
        assert!(!with("0.0.1-other").contains("2001-02-03"));
    }

    #[test]
    fn missing_pictures_are_an_error() {
        let shots = screenshots(&workspace::root(), |path| format!("v1/{path}")).expect("pictures");
        assert!(shots.iter().all(|shot| {
            shot["url"]
                .as_str()
                .is_some_and(|url| url.starts_with("v1/docs/pictures/"))
        }));
        let error = screenshots(Path::new("nowhere"), str::to_owned).err();
        assert!(error.is_some_and(|error| error.to_string().ends_with("run `make pictures`")));
    }

    #[test]
    fn the_first_difference_is_reported() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some((2, "b", "c")));
        assert_eq!(
            first_difference("a\n", "a\nc\n"),
            Some((2, "(nothing)", "c"))
        );
        assert!(first_difference("a", "a\n").is_some());
    }
}
