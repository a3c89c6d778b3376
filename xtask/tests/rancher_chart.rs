//! Reads the Helm repository that `hack/helm-repository.sh` writes, as Rancher reads it. This test
//! shares no code with the script, so that an error of the script isn't repeated here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::Value;

/// Helm's index. An index without `apiVersion` is refused.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    api_version: String,
    entries: BTreeMap<String, Vec<ChartVersion>>,
}

/// A version of a chart: its metadata, and the addresses of its archive.
#[derive(Deserialize)]
struct ChartVersion {
    urls: Vec<String>,
    digest: String,
    created: String,
    #[serde(flatten)]
    metadata: Chart,
}

/// Chart.yaml. Each annotation must be a text, because Helm refuses any other value.
#[derive(Debug, PartialEq, Deserialize)]
struct Chart {
    name: String,
    version: String,
    description: String,
    home: String,
    keywords: Vec<String>,
    annotations: BTreeMap<String, String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml(path: &Path) -> Value {
    yaml_serde::from_str(&text(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// The Helm repository, and the unpacked chart of its first entry.
struct Repository {
    folder: PathBuf,
    newest: ChartVersion,
    /// The only folder of the archive.
    chart: PathBuf,
}

/// Writes the repository into a folder of this test, and reads it as Rancher's server does.
fn repository(test: &str) -> Repository {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the folder of an earlier run");
    }
    output(
        Command::new(root().join("hack/helm-repository.sh"))
            .arg(&folder)
            .env("XTASK", env!("CARGO_BIN_EXE_xtask")),
    );
    let index: Index = yaml_serde::from_str(&text(&folder.join("index.yaml"))).expect("an index");
    assert_eq!(index.api_version, "v1");
    let (name, versions) = index.entries.into_iter().next().expect("a chart");
    let newest = versions.into_iter().next().expect("a version");
    assert_eq!(newest.metadata.name, name);

    // The last part of the address is the name of the file.
    let (_, archive) = newest.urls[0].rsplit_once('/').expect("an address");
    let unpacked = folder.join("unpacked");
    fs::create_dir(&unpacked).expect("a folder");
    output(
        Command::new("tar")
            .arg("-xzf")
            .arg(folder.join(archive))
            .arg("-C")
            .arg(&unpacked),
    );
    let mut folders = fs::read_dir(&unpacked).expect("the archive");
    let chart = folders.next().expect("a folder").expect("a folder").path();
    assert!(folders.next().is_none(), "a chart has one folder");
    Repository {
        folder,
        newest,
        chart,
    }
}

#[test]
fn the_newest_version_of_the_index_is_the_archive() {
    let Repository {
        folder,
        newest,
        chart,
    } = repository("archive");
    let address = &newest.urls[0];
    // The address is absolute, because versions of Rancher resolve relative addresses differently.
    assert!(address.starts_with("https://"), "{address}");
    let (published, name) = address.rsplit_once('/').expect("an address");
    let docs = text(&root().join("docs/rancher.md"));
    assert!(docs.contains(&format!("\n{published}\n")), "{published}");
    let file = folder.join(name);
    let archive = fs::File::open(&file).expect("the archive");
    let digest = output(Command::new("sha256sum").stdin(Stdio::from(archive)));
    assert_eq!(digest.split(' ').next(), Some(&*newest.digest));
    assert!(newest.created.ends_with('Z'), "{}", newest.created);

    let inside: Chart = serde_json::from_value(yaml(&chart.join("Chart.yaml"))).expect("a chart");
    assert_eq!(inside, newest.metadata);
    assert_eq!(inside.version, env!("CARGO_PKG_VERSION"));
    // The chart has no templates: Rancher's UI creates the policy, and Helm must create no objects.
    assert!(!chart.join("templates").exists());
}

/// Rancher's UI takes the module's address and the rules from the annotations, and the form from the archive.
#[test]
fn the_chart_has_the_form_the_module_and_the_rules() {
    let Repository { newest, chart, .. } = repository("policy");
    for (file, source) in [
        ("questions.yaml", "questions-ui.yml"),
        ("README.md", "README.md"),
        ("LICENSE", "LICENSE"),
    ] {
        let copied = text(&chart.join(file));
        assert_eq!(copied, text(&root().join(source)), "{file}");
    }
    let annotation = |key: &str| newest.metadata.annotations[key].as_str();
    let metadata = yaml(&root().join("metadata.yml"));
    let of_metadata = |key: &str| metadata["annotations"][key].as_str().expect("text");
    let [registry, repository, tag] =
        ["registry", "repository", "tag"].map(|key| annotation(&format!("kubewarden/{key}")));
    assert_eq!(
        format!("{registry}/{repository}:{tag}"),
        format!(
            "{}:v{}",
            of_metadata("io.kubewarden.policy.ociUrl"),
            of_metadata("io.kubewarden.policy.version")
        )
    );
    let rules: Value = yaml_serde::from_str(annotation("kubewarden/rules")).expect("rules");
    assert_eq!(rules, metadata["rules"]);
    assert_eq!(annotation("kubewarden/mutation"), "true");
    assert_eq!(annotation("catalog.cattle.io/type"), "kubewarden-policy");
    // With this annotation, Rancher doesn't show the chart among the apps.
    assert_eq!(annotation("catalog.cattle.io/hidden"), "true");
}
