#!/usr/bin/env bash
# Writes NOTICES.txt: the packages of others that are in the module, the page and the survey's command, and their licences. The packages are
# those of Cargo.lock and site/package-lock.json, and the texts come with the packages. A package that can be had under
# Apache-2.0 is used under it, because its text is this project's LICENSE. With --check, it writes nothing, and fails
# if the list is out of date.
#
#   hack/release/notices.sh [--check]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

file=NOTICES.txt
# A package of this workspace, and the target for which a release compiles it.
programs=(
  "consistent-pull-policy wasm32-unknown-unknown"
  "survey-page wasm32-unknown-unknown"
  "survey-command x86_64-unknown-linux-musl"
)

# list: name, version and licence of each crate whose code is compiled into a program, and of each package of the page that is
# no tool. A crate of this workspace has a path.
list() {
  for program in "${programs[@]}"; do
    cargo --locked tree --package "${program% *}" --target "${program#* }" \
      --edges normal,no-proc-macro --prefix none --no-dedupe --format '{p} {l}'
  done | grep -v ' (/' | sed 's/ v\([0-9]\)/ \1/' | sort --unique
  echo
  jq --raw-output '.packages | to_entries[] | select(.key != "" and (.value.dev | not))
    | "\(.key | ltrimstr("node_modules/")) \(.value.version) \(.value.license)"' site/package-lock.json | sort --unique
}

list=$(list)
if [[ ${1:-} == --check ]]; then
  diff <(sed -n '/^-* The list -*$/,/^-* The texts -*$/{/^---/d;p}' "$file") <(echo "$list") >&2 || {
    echo "$file is out of date: run make notices" >&2
    exit 1
  }
  exit
fi

# Texts that differ only in white space are one, with the names of all their packages.
declare -A names texts
while read -r name version licence; do
  [[ -n $name ]] || continue
  folders=("${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$name-$version" "site/node_modules/$name")
  [[ -d ${folders[0]} ]] || folders=("${folders[@]: -1}")
  case $licence in
  *' AND '*) wanted='LICEN[SC]E.*' ;;
  *Apache-2.0*) wanted='NOTICE.*' ;;
  *) wanted='LICEN[SC]E.*' ;;
  esac
  while read -r text; do
    key=$(tr --squeeze-repeats '[:space:]' ' ' <"$text" | sha256sum)
    names[$key]+="${names[$key]:+, }$name $version"
    texts[$key]=$text
  done < <(find "${folders[0]}" -maxdepth 1 -type f -iregex ".*/$wanted" | grep -vi 'license-apache' || true)
done <<<"$list"

{
  cat <<TEXT
The module of consistent-pull-policy, its page and its survey contain code of others: the packages of this list, and Rust's standard library (MIT OR Apache-2.0). This project, and each package that can be had under
Apache-2.0, is under the Apache License 2.0, whose text is in the file LICENSE. Written by \`make notices\`.

---------------- The list ----------------
$list
---------------- The texts ----------------
TEXT
  for key in "${!names[@]}"; do echo "${names[$key]}|$key"; done | sort | while IFS='|' read -r packages key; do
    printf '\n---- %s ----\n\n' "$packages"
    sed 's/\r$//; s/[[:space:]]*$//' "${texts[$key]}" | cat --squeeze-blank
  done
} >"$file"
