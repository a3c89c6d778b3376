//! `cargo xtask chart`: writes Chart.yaml and values.yaml of a Helm chart that Rancher's UI shows as a
//! policy. Both files are made from artifacthub-pkg.yml.
//!
//! The chart has no templates: Rancher's UI creates the `ClusterAdmissionPolicy` itself, from the
//! annotations, the values and the questions. `hack/helm-repository.sh` packs the chart.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use yaml_serde::{Mapping, Value};

use crate::workspace;

/// The package from which the chart is made.
const PACKAGE: &str = "artifacthub-pkg.yml";

/// The annotation with the questions of Rancher's form. It is left out, because the chart has these
/// questions in the file `questions.yaml`.
const QUESTIONS: &str = "kubewarden/questions-ui";

/// Writes Chart.yaml and values.yaml of the chart for Rancher
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder for the two files
    #[arg(short, long, value_name = "PATH")]
    output_path: PathBuf,
}

/// The fields of the package from which the chart is made.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Package {
    version: String,
    name: String,
    display_name: String,
    description: String,
    #[serde(rename = "logoURL")]
    logo_url: String,
    #[serde(rename = "homeURL")]
    home_url: String,
    containers_images: Vec<ContainerImage>,
    keywords: Vec<String>,
    maintainers: Vec<Value>,
    annotations: Mapping,
}

/// The address of the module, as Artifact Hub writes it.
#[derive(Deserialize)]
struct ContainerImage {
    image: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let path = workspace::root().join(PACKAGE);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {PACKAGE}"))?;
    let (chart, values) = chart(&text).with_context(|| format!("in {PACKAGE}"))?;
    write(&args.output_path, "Chart.yaml", &chart)?;
    write(&args.output_path, "values.yaml", &values)
}

fn write(folder: &Path, name: &str, content: &Value) -> Result<()> {
    let path = folder.join(name);
    fs::write(&path, yaml_serde::to_string(content)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

fn mapping<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let entries = entries.into_iter().map(|(key, value)| (key.into(), value));
    entries.collect::<Mapping>().into()
}

/// Chart.yaml and values.yaml for a package.
fn chart(package: &str) -> Result<(Value, Value)> {
    let package: Package = yaml_serde::from_str(package)?;
    let image = package.containers_images.first();
    let image = &image.context("containersImages is empty")?.image;
    let (registry, repository, tag) = image
        .split_once('/')
        .and_then(|(registry, rest)| {
            let (repository, tag) = rest.rsplit_once(':')?;
            Some((registry, repository, tag))
        })
        .with_context(|| format!("'{image}' is not registry/repository:tag"))?;

    let mut annotations = package.annotations;
    annotations.remove(QUESTIONS);
    annotations.extend(
        [
            // Rancher's UI lists the charts of this type as policies.
            ("catalog.cattle.io/type", "kubewarden-policy"),
            ("catalog.cattle.io/ui-component", "kubewarden"),
            // Hides the chart in Rancher's list of apps. Rancher installs apps with Helm, and Helm would
            // create no objects from this chart.
            ("catalog.cattle.io/hidden", "true"),
            ("kubewarden/displayName", package.display_name.as_str()),
            // Some versions of the UI take the module's address from these annotations. Other versions
            // take the address from the values.
            ("kubewarden/registry", registry),
            ("kubewarden/repository", repository),
            ("kubewarden/tag", tag),
        ]
        .map(|(key, value)| (key.into(), value.into())),
    );
    let chart = mapping([
        ("apiVersion", "v2".into()),
        ("name", package.name.into()),
        ("version", package.version.clone().into()),
        ("appVersion", package.version.into()),
        ("description", package.description.into()),
        ("home", package.home_url.clone().into()),
        ("icon", package.logo_url.into()),
        ("keywords", package.keywords.into()),
        ("sources", vec![package.home_url].into()),
        ("maintainers", package.maintainers.into()),
        ("annotations", annotations.into()),
    ]);
    // If Rancher's setting system-default-registry is set, its value replaces this registry.
    let cattle = mapping([("systemDefaultRegistry", registry.into())]);
    let values = mapping([
        ("global", mapping([("cattle", cattle)])),
        (
            "module",
            mapping([("repository", repository.into()), ("tag", tag.into())]),
        ),
    ]);
    Ok((chart, values))
}
