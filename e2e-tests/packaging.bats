# hack/check-packaging.sh, on what hack/release/prepare.sh makes of this source.

load lib

# A file, a change of it as a command of sed, and what packaging says.
@test "packaging refuses words about a release that is still to come, and what doesn't agree" {
  git ls-files -z | xargs -0 cp --parents -t "$BATS_TEST_TMPDIR"
  cd "$BATS_TEST_TMPDIR"
  git init --quiet
  git add --all
  before_first_release
  hack/release/prepare.sh 0.1.0
  git add --all
  git -c user.name=test -c user.email=test@example.com commit --quiet --message "Release 0.1.0"
  while IFS='|' read -r file change message; do
    row="$file $change"
    sed -i "$change" "$file"
    run hack/check-packaging.sh v0.1.0
    git checkout --quiet "$file"
    [[ $status != 0 && $output == *"$message"* ]] || fail "not refused with: $message" "$output"
  done <<'ROWS'
README.md|$a <!-- begin: before the first release -->|words about the time before the first release
README.md|$a Nothing is published yet.|still to come
questions-ui.yml|1s/$/ After the first release, this works./|still to come
README.md|s/^helm install/helm upgrade/|README.md does not install
README.md|s#--version 0.1.0#--version 0.0.9#|does not end with 0.1.0
docs/verify.md|s#refs/tags/v0.1.0#refs/tags/v0.0.9#|does not end with 0.1.0
metadata.yml|s/"CREATE"/"DELETE"/|no example registers pods DELETE
metadata.yml|s/resources: Pod/&, Job/|io.artifacthub.resources names 'Pod, Job'
CHANGELOG.md|s/^## .0.1.0. - .*/## [0.1.0]/|has no section [0.1.0] with a date
CHANGELOG.md|$a ## [0.0.9] - 2026-01-01|has no repositoryID
NOTICES.txt|s/^serde 1.*//|NOTICES.txt is out of date
rust-toolchain.toml|s/^channel.*/channel = "1.9.0"/|has another Rust
metadata.yml|s/policy.version: .*/policy.version: 0.0.9/|metadata.yml says version '0.0.9'
chart/values.yaml|s/^  tag: v.*/  tag: v0.0.9/|chart/values.yaml says version '0.0.9'
Cargo.toml|s/^version = .*/version = "0.0.9"/|the tag v0.1.0 says version '0.1.0'
chart/Chart.yaml|$a # x|chart/Chart.yaml is out of date
questions-ui.yml|$a # x|artifacthub-pkg.yml is out of date
ROWS
}
