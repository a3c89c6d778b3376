# The package for Artifact Hub and Rancher, of metadata.yml. The arguments have the texts of metadata.yml,
# questions-ui.yml and CHANGELOG.md, and the time of the version.

# The entries of this version in a changelog (https://keepachangelog.com). Without a section of this version, they
# are those of `Unreleased`. Artifact Hub shows plain text, so `*` and backticks are removed.
def changes($version):
  ($changelog | split("\n## ")) as $sections
  | first(("[\($version)]", "[Unreleased]") as $title | $sections[] | select(startswith($title)))
  | split("\n### ")[1:][] | split("\n- ") | .[0] as $heading | .[1:][]
  | {kind: $heading | ascii_downcase | rtrimstr("\n"),
    description: split("\n\n")[0] | gsub("[*`]"; "") | [splits("\\s+")] | join(" ") | rtrimstr(" ")};

.annotations as $about
| def about($key): $about["io.kubewarden.policy.\($key)"] // error("metadata.yml lacks the annotation \($key)");
  (about("version") | tostring) as $version
| about("source") as $source
| "\(about("ociUrl")):v\($version)" as $image
# Each address contains the tag of the release, so that it leads to the same file after a later release.
| "https://raw.githubusercontent.com/\($source | ltrimstr("https://github.com/"))/v\($version)/docs" as $docs
| {
  version: $version,
  name: about("title"),
  displayName: $about["io.artifacthub.displayName"],
  createdAt: $created,
  description: about("description"),
  logoURL: "\($docs)/logo.svg",
  license: about("license"),
  homeURL: about("url"),
  containersImages: [{name: "policy", image: $image}],
  screenshots: [
    ["The playground: a Pod is repaired", "repair"],
    ["The playground: how a Pod starts while an image is gone", "start"],
    ["The playground: which file is for a cluster", "survey"]
    | {title: .[0], url: "\($docs)/pictures/playground-\(.[1]).png"}],
  keywords: $about["io.artifacthub.keywords"] | split(", "),
  links: [
    {name: "policy", url: "\($source)/releases/download/v\($version)/policy.wasm"},
    {name: "source", url: $source}],
  changes: [changes($version)],
  install: "The policy can be obtained using [kwctl](https://docs.kubewarden.io/howtos/install-kwctl):
```console
kwctl pull \($image)
```
Then, generate the policy manifest and tune it to your liking. For example:
```console
kwctl scaffold manifest -t ClusterAdmissionPolicy registry://\($image)
```
",
  maintainers: [about("author") | split(", ")[] | capture("^(?<name>.*) <(?<email>.*@.*)>$")],
  provider: {name: $about["io.artifacthub.displayName"]},
  recommendations: [{url: "https://artifacthub.io/packages/helm/kubewarden/admission-controller"}],
  annotations: {
    "kubewarden/mutation": .mutating | tostring,
    "kubewarden/resources": $about["io.artifacthub.resources"],
    "kubewarden/rules": $metadata | capture("\nrules:\n(?<rules>(  .*\n)+)").rules | gsub("(?m)^( *#.*\n)?  "; ""),
    "kubewarden/questions-ui": $questions
  }
}
