//! `cargo xtask artifacthub`: writes the package that Artifact Hub and Rancher read, from
//! metadata.yml, questions-ui.yml and CHANGELOG.md.
//!
//! It is what `kwctl scaffold artifacthub` writes, with what that can't know: who provides the
//! policy (kwctl writes `kubewarden`), what changed, logo and screenshots. With `--as-kwctl` it is
//! exactly what kwctl writes, but for the time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::module::metadata::Metadata;
use crate::workspace;

/// The file at the repository's top.
const PACKAGE: &str = "artifacthub-pkg.yml";

/// How kwctl begins the file. The space at the end is its own.
const KWCTL_HEADER: &str = "\
# Kubewarden Artifacthub Package config
#
# Use this config to submit the policy to https://artifacthub.io.
#
# This config can be saved to its default location with:
#   kwctl scaffold artifacthub > artifacthub-pkg.yml 
";

/// What there is to see, and the files in this repository that show it.
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

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Writes nothing, and fails if the file is not what would be written
    #[arg(long, conflicts_with_all = ["output_path", "as_kwctl"])]
    check: bool,
    /// What kwctl would write
    #[arg(long)]
    as_kwctl: bool,
    /// Where the package goes
    #[arg(short, long, value_name = "PATH")]
    output_path: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace::root();
    let target = args
        .output_path
        .clone()
        .unwrap_or_else(|| root.join(PACKAGE));
    let there = fs::read_to_string(root.join(PACKAGE)).unwrap_or_default();
    let package = package(&root, &there, args.as_kwctl)?;
    if args.check {
        return match first_difference(&there, &package) {
            None => Ok(()),
            Some((number, is, should)) => bail!(
                "{PACKAGE} is out of date, run `make {PACKAGE}`: line {number} is '{is}', not \
                 '{should}'"
            ),
        };
    }
    fs::write(&target, package).with_context(|| format!("cannot write {}", target.display()))
}

/// The first line in which two texts differ, its number from 1.
fn first_difference<'a>(is: &'a str, should: &'a str) -> Option<(usize, &'a str, &'a str)> {
    if is == should {
        return None;
    }
    let (mut is, mut should) = (is.lines(), should.lines());
    for number in 1.. {
        match (is.next(), should.next()) {
            (None, None) => return Some((number, "(the end of a line)", "")),
            (is, should) if is == should => {}
            (is, should) => {
                return Some((
                    number,
                    is.unwrap_or("(nothing)"),
                    should.unwrap_or("(nothing)"),
                ));
            }
        }
    }
    None
}

/// Artifact Hub's package, its keys in the order in which kwctl writes them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Package {
    version: Version,
    name: String,
    display_name: String,
    created_at: String,
    description: String,
    #[serde(rename = "logoURL", skip_serializing_if = "Option::is_none")]
    logo_url: Option<String>,
    license: Option<String>,
    #[serde(rename = "homeURL")]
    home_url: Option<String>,
    containers_images: Vec<Image>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    screenshots: Vec<Screenshot>,
    keywords: Vec<String>,
    links: Vec<Link>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Change>,
    install: String,
    maintainers: Vec<Maintainer>,
    provider: Named,
    recommendations: Vec<Recommendation>,
    annotations: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct Image {
    name: &'static str,
    image: String,
}

/// A picture of the playground.
#[derive(Serialize)]
struct Screenshot {
    title: &'static str,
    url: String,
}

#[derive(Serialize)]
struct Link {
    name: &'static str,
    url: String,
}

/// A line of the changelog.
#[derive(Debug, PartialEq, Serialize)]
struct Change {
    kind: &'static str,
    description: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct Maintainer {
    name: String,
    email: String,
}

#[derive(Serialize)]
struct Named {
    name: String,
}

#[derive(Serialize)]
struct Recommendation {
    url: &'static str,
}

/// What of an earlier package matters for the next one.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Earlier {
    version: Option<Version>,
    created_at: Option<String>,
}

fn package(root: &Path, there: &str, as_kwctl: bool) -> Result<String> {
    let read = |name: &str| {
        fs::read_to_string(root.join(name)).with_context(|| format!("cannot read {name}"))
    };
    let metadata = Metadata::parse(&read("metadata.yml")?).context("in metadata.yml")?;
    let annotations = metadata.annotations.clone().unwrap_or_default();
    let optional = |key: &str| annotations.get(key).cloned();
    let required = |key: &str| {
        optional(key).with_context(|| format!("metadata.yml lacks the annotation {key}"))
    };
    let version = required("io.kubewarden.policy.version")?;
    let version = Version::parse(&version)
        .with_context(|| format!("in metadata.yml: io.kubewarden.policy.version is '{version}'"))?;
    let image = format!("{}:v{version}", required("io.kubewarden.policy.ociUrl")?);
    let source = required("io.kubewarden.policy.source")?;
    let title = required("io.kubewarden.policy.title")?;
    let display_name = required("io.artifacthub.displayName")?;
    ensure!(
        source.starts_with("https://github.com/"),
        "in metadata.yml: io.kubewarden.policy.source is not on GitHub, where the release is"
    );

    // The time changes only when the version does, so that the same files give the same package.
    let earlier: Earlier = yaml_serde::from_str(there).unwrap_or_default();
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
        kubewarden.insert(
            "kubewarden/contextAwareResources",
            yaml_serde::to_string(&metadata.context_aware_resources)?,
        );
    }
    if let Some(resources) = optional("io.artifacthub.resources") {
        kubewarden.insert("kubewarden/resources", resources);
    }

    // From the release's own tag: what belongs to a version doesn't change with the next.
    let raw = source.replacen(
        "https://github.com/",
        "https://raw.githubusercontent.com/",
        1,
    );
    let file = |path: &str| format!("{raw}/v{version}/{path}");
    let screenshots = if as_kwctl {
        Vec::new()
    } else {
        screenshots(root, file)?
    };

    let package = Package {
        name: title.clone(),
        display_name: display_name.clone(),
        created_at,
        description: required("io.kubewarden.policy.description")?,
        logo_url: (!as_kwctl).then(|| file("docs/logo.svg")),
        screenshots,
        license: optional("io.kubewarden.policy.license"),
        home_url: optional("io.kubewarden.policy.url"),
        keywords: list(&optional("io.artifacthub.keywords").unwrap_or_default()),
        links: vec![
            Link {
                name: "policy",
                url: format!("{source}/releases/download/v{version}/policy.wasm"),
            },
            Link {
                name: "source",
                url: source,
            },
        ],
        changes: if as_kwctl {
            Vec::new()
        } else {
            changes(&read("CHANGELOG.md")?, &version).context("in CHANGELOG.md")?
        },
        install: install(&image),
        containers_images: vec![Image {
            name: "policy",
            image,
        }],
        maintainers: maintainers(&optional("io.kubewarden.policy.author").unwrap_or_default())
            .context("in metadata.yml: io.kubewarden.policy.author")?,
        provider: Named {
            name: if as_kwctl {
                "kubewarden".to_owned()
            } else {
                display_name
            },
        },
        recommendations: vec![Recommendation {
            url: "https://artifacthub.io/packages/helm/kubewarden/kubewarden-controller",
        }],
        annotations: kubewarden,
        version,
    };
    let header = if as_kwctl { KWCTL_HEADER } else { HEADER };
    Ok(format!("{header}{}", yaml_serde::to_string(&package)?))
}

fn screenshots(root: &Path, url: impl Fn(&str) -> String) -> Result<Vec<Screenshot>> {
    let screenshot = |(title, path): (&'static str, &str)| {
        let is_there = root.join(path).is_file();
        ensure!(is_there, "{path} is missing: run `make pictures`");
        let url = url(path);
        Ok(Screenshot { title, url })
    };
    SCREENSHOTS.into_iter().map(screenshot).collect()
}

/// kwctl's own words.
fn install(image: &str) -> String {
    format!(
        "The policy can be obtained using [kwctl](https://docs.kubewarden.io/howtos/install-kwctl):\n\
         ```console\nkwctl pull {image}\n```\n\
         Then, generate the policy manifest and tune it to your liking. For example:\n\
         ```console\nkwctl scaffold manifest -t ClusterAdmissionPolicy registry://{image}\n```\n"
    )
}

/// The parts of a list with commas.
fn list(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// `Name <mail>, Name <mail>`.
fn maintainers(text: &str) -> Result<Vec<Maintainer>> {
    list(text)
        .into_iter()
        .map(|maintainer| {
            let (name, email) = maintainer
                .strip_suffix('>')
                .and_then(|rest| rest.split_once('<'))
                .with_context(|| format!("'{maintainer}' is not 'Name <mail>'"))?;
            ensure!(email.contains('@'), "'{email}' is no mail address");
            Ok(Maintainer {
                name: name.trim().to_owned(),
                email: email.to_owned(),
            })
        })
        .collect()
}

/// A version's entries in a changelog (<https://keepachangelog.com>); those under `Unreleased` as
/// long as it has no section of its own. Artifact Hub shows plain text.
fn changes(changelog: &str, version: &Version) -> Result<Vec<Change>> {
    let section = |title: &str| {
        changelog
            .split("\n## ")
            .find(|section| section.starts_with(&format!("[{title}]")))
    };
    let section = section(&version.to_string())
        .or_else(|| section("Unreleased"))
        .with_context(|| format!("there is neither a section [{version}] nor [Unreleased]"))?;
    let mut changes: Vec<Change> = Vec::new();
    let mut kind = None;
    let mut in_entry = false;
    for line in section.lines().skip(1) {
        if let Some(heading) = line.strip_prefix("### ") {
            kind = Some(match heading.trim() {
                "Added" => "added",
                "Changed" => "changed",
                "Deprecated" => "deprecated",
                "Removed" => "removed",
                "Fixed" => "fixed",
                "Security" => "security",
                other => bail!("'{other}' is no heading of Keep a Changelog"),
            });
        } else if let Some(entry) = line.strip_prefix("- ") {
            changes.push(Change {
                kind: kind.context("an entry stands before the first heading")?,
                description: plain(entry),
            });
        } else if let (true, Some(entry), false) =
            (in_entry, changes.last_mut(), line.trim().is_empty())
        {
            entry.description.push(' ');
            entry.description.push_str(&plain(line));
        }
        in_entry = line.starts_with("- ") || (in_entry && line.starts_with("  "));
    }
    ensure!(!changes.is_empty(), "the section of {version} has no entry");
    Ok(changes)
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
    fn changes_are_those_of_the_version() {
        let released = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Later.\n\n\
            ## [1.2.3] - 2026-01-01\n\nWords.\n\n### Added\n\n- The rule *x*,\n  with `y`.\n- Z.\n\n\
            ### Fixed\n\n- A bug.\n\n## [1.2.2]\n\n### Added\n\n- Earlier.\n";
        let change = |kind, description: &str| Change {
            kind,
            description: description.to_owned(),
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
            [("A B", "a@example.com"), ("C", "c@example.com")].map(|(name, email)| Maintainer {
                name: name.to_owned(),
                email: email.to_owned(),
            })
        );
        for wrong in ["A B", "a@example.com", "A <b>"] {
            assert!(maintainers(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_time_stays_as_long_as_the_version_does() {
        let root = workspace::root();
        let first = package(&root, "", false).expect("a package");
        let with = |version: &str| {
            let there = format!("version: {version}\ncreatedAt: 2001-02-03T04:05:06Z\n");
            package(&root, &there, false).expect("a package")
        };
        assert!(!first.contains("2001-02-03"));
        assert!(with(env!("CARGO_PKG_VERSION")).contains("\ncreatedAt: 2001-02-03T04:05:06Z\n"));
        assert!(!with("0.0.1-other").contains("2001-02-03"));
    }

    #[test]
    fn pictures_are_those_of_the_version_and_have_to_be_there() {
        let shots = screenshots(&workspace::root(), |path| format!("v1/{path}")).expect("pictures");
        assert!(
            shots
                .iter()
                .all(|shot| shot.url.starts_with("v1/docs/pictures/"))
        );
        let error = screenshots(Path::new("nowhere"), str::to_owned).err();
        assert!(error.is_some_and(|error| error.to_string().ends_with("run `make pictures`")));
    }

    #[test]
    fn a_difference_is_named() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some((2, "b", "c")));
        assert_eq!(
            first_difference("a\n", "a\nc\n"),
            Some((2, "(nothing)", "c"))
        );
        assert!(first_difference("a", "a\n").is_some());
    }
}
