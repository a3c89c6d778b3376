#!/usr/bin/env bash
# Adds the package of the release in TAG to the branch `artifacthub`, which Artifact Hub reads: a folder for each version. The
# release workflow does this last, so Artifact Hub learns of a version only when all of it exists. Kubewarden has a GitHub
# action that also writes this branch, but that action names Kubewarden as the provider, and keeps no earlier version.
#
#   TAG=v<version> hack/release/artifacthub.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

branch=artifacthub
tree=$(mktemp -d)
trap 'git worktree remove --force "$tree"' EXIT

if [[ -n $(git ls-remote origin "refs/heads/$branch") ]]; then
  git fetch --quiet origin "refs/heads/$branch"
  git worktree add --quiet --detach "$tree" FETCH_HEAD
else
  git worktree add --quiet --detach --no-checkout "$tree"
  git -C "$tree" checkout --quiet --orphan "$branch-$$"
  git -C "$tree" read-tree --empty
fi
package=$tree/${TAG#v}
mkdir -p "$package"
git show "$TAG:artifacthub-repo.yml" >"$tree/artifacthub-repo.yml"
git show "$TAG:artifacthub-pkg.yml" >"$package/artifacthub-pkg.yml"
git show "$TAG:README.md" | hack/absolute-links.sh "$TAG" >"$package/README.md"
git -C "$tree" add artifacthub-repo.yml "${TAG#v}"
if git -C "$tree" diff --cached --quiet; then
  echo "the branch $branch has $TAG already"
else
  git -C "$tree" -c user.name=github-actions -c user.email=github-actions@github.com \
    commit --quiet --message "Publish $TAG"
  git -C "$tree" push --quiet origin "HEAD:refs/heads/$branch"
fi
