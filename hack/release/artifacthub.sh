#!/usr/bin/env bash
# Writes the Artifact Hub package of a release to the branch `artifacthub`, which Artifact Hub and Rancher's
# catalog read. The release workflow runs this script after it has pushed the module. So they learn of a
# version only when its module exists. Kubewarden has a GitHub action that also writes this branch, but that
# action names Kubewarden as the provider.
#
#   hack/release/artifacthub.sh <tag>
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tag=$1
branch=artifacthub
tree=$(mktemp -d)
trap 'git worktree remove --force "$tree"' EXIT

if git fetch --quiet origin "refs/heads/$branch"; then
  git worktree add --quiet --detach "$tree" FETCH_HEAD
else
  git worktree add --quiet --detach --no-checkout "$tree"
  git -C "$tree" checkout --quiet --orphan "$branch-$$"
  git -C "$tree" read-tree --empty
fi
for file in artifacthub-pkg.yml artifacthub-repo.yml; do
  git show "$tag:$file" >"$tree/$file"
done
git show "$tag:README.md" | hack/absolute-links.sh "$tag" >"$tree/README.md"
git -C "$tree" add artifacthub-pkg.yml artifacthub-repo.yml README.md
if git -C "$tree" diff --cached --quiet; then
  echo "the branch $branch has $tag already"
else
  git -C "$tree" -c user.name=github-actions -c user.email=github-actions@github.com \
    commit --quiet --message "Publish $tag"
  git -C "$tree" push --quiet origin "HEAD:refs/heads/$branch"
fi
