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

# crates PACKAGE TARGET: name, version and licence of each crate whose code is compiled into the package. A crate of this
# workspace has a path.
crates() {
  cargo --locked tree --package "$1" --target "$2" --edges normal,no-proc-macro --prefix none --no-dedupe --format '{p} {l}' |
    grep -v ' (/' | sed 's/ v\([0-9]\)/ \1/'
}

# packages: name, version and licence of each package of the page that is no tool.
packages() {
  jq --raw-output '.packages | to_entries[] | select(.key != "" and (.value.dev | not))
    | "\(.key | ltrimstr("node_modules/")) \(.value.version) \(.value.license)"' site/package-lock.json
}

list() {
  for program in "${programs[@]}"; do
    # shellcheck disable=SC2086 # a package and a target
    crates $program
  done | sort --unique
  echo
  packages | sort --unique
}

list=$(list)
if [[ ${1:-} == --check ]]; then
  diff <(sed -n '/^-* The list -*$/,/^-* The texts -*$/{/^---/d;p}' "$file") <(echo "$list") >&2 || {
    echo "$file is out of date: run make notices" >&2
    exit 1
  }
  exit
fi

# folders: name and version of each package, the folder with its files, and where it is developed.
folders() {
  for program in "${programs[@]}"; do
    cargo --locked metadata --format-version 1 --filter-platform "${program#* }" |
      jq --raw-output '.packages[] | "\(.name) \(.version) \(.manifest_path | sub("/Cargo.toml$"; "")) \(.repository)"'
  done
  packages | awk '{ print $1, $2, "site/node_modules/" $1 }'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folders | sort --unique >"$work/folders"
while read -r name version licence; do
  [[ -n $name ]] || continue
  read -r folder home < <(awk -v name="$name" -v version="$version" '$1 == name && $2 == version { print $3, $4; exit }' "$work/folders")
  case $licence in
  *Apache-2.0*) wanted='NOTICE*' ;;
  *MIT*) wanted='LICENSE-MIT*' ;;
  *) wanted='LICENSE*' ;;
  esac
  mapfile -t found < <(find "$folder" -maxdepth 1 -iname "$wanted" | sort)
  [[ ${#found[@]} != 0 || $licence == *Apache-2.0* ]] || mapfile -t found < <(find "$folder" -maxdepth 1 -iname 'LICEN[SC]E*' | sort)
  if [[ ${#found[@]} == 0 && $licence != *Apache-2.0* ]]; then
    echo "The package comes without a text of its licence, $licence: $home" >"$work/none"
    found=("$work/none")
  fi
  for text in "${found[@]}"; do
    # Texts that differ only in white space are one.
    key=$(tr --squeeze-repeats '[:space:]' ' ' <"$text" | sha256sum | cut -c 1-16)
    echo "$name $version" >>"$work/$key.names"
    cp "$text" "$work/$key.text"
  done
done <<<"$list"

{
  cat <<TEXT
The module of consistent-pull-policy, its page and its survey contain code of others: the packages of this list, and Rust's standard library (MIT OR Apache-2.0). This project, and each package that can be had under
Apache-2.0, is under the Apache License 2.0, whose text is in the file LICENSE. Written by \`make notices\`.

---------------- The list ----------------
$list
---------------- The texts ----------------
TEXT
  # In the order of the first package of each text.
  for names in $(grep --max-count 1 '' "$work"/*.names | sort --field-separator : --key 2 | cut -d : -f 1); do
    echo
    echo "---- $(paste --serial --delimiters , "$names" | sed 's/,/, /g') ----"
    echo
    sed 's/\r$//; s/[[:space:]]*$//' "${names%.names}.text" | cat --squeeze-blank
  done
} >"$file"
