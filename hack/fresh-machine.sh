#!/usr/bin/env bash
# Runs README's commands of make, word for word, on a machine that nobody has prepared: a new Debian (or Ubuntu) in a
# folder, with what README says that the commands need, and nothing else. Each command is the first one in a new clone of
# this repository's last commit.
#
# - With rustup, each command has to succeed. rustup has the toolchain of rust-toolchain.toml, but not the module's target,
#   rustfmt or clippy, and installs nothing by itself (RUSTUP_AUTO_INSTALL=0).
# - Without rustup, each command has to fail before anything is compiled, and its last error names rustup's command.
#
#   hack/fresh-machine.sh [COMMAND...]    as root, with debootstrap and rustup; a command is, for example, "make run"
#
# The new machine uses this machine's network: the names of its servers, its proxies, certificates and mirrors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  printf 'fresh-machine: %s\n' "$@" >&2
  exit 1
}

[[ $(id -u) == 0 ]] || fail "only root can make a new machine: sudo make fresh-machine"
for program in debootstrap rustup unshare; do
  command -v "$program" >/dev/null || fail "$program is missing"
done

# In a namespace of its own, all that is mounted below is gone when this script ends.
[[ -n ${FRESH_MACHINE:-} ]] || FRESH_MACHINE=1 exec unshare --mount --pid --fork --kill-child hack/fresh-machine.sh "$@"

# README's commands of "Build and test": the lines of its console blocks.
readme_commands() {
  awk '/^## / { here = ($0 == "## Build and test") } /^```/ { console = ($0 == "```console") } here && console && /^make /' README.md
}
if (($# > 0)); then commands=("$@"); else mapfile -t commands < <(readme_commands); fi
((${#commands[@]} > 0)) || fail "README.md has no commands"

machine=$(mktemp -d "${TMPDIR:-/var/tmp}/fresh-machine.XXXXXX")
# The folder must not be removed while /dev and /proc are mounted in it.
trap 'umount --recursive "$machine/dev" "$machine/proc" 2>/dev/null; mountpoint -q "$machine/dev" || rm -rf "$machine"' EXIT

# The programs that README names, and what makes a clone. apt-get's mirror is that of this machine, if it is a web server.
debian() {
  local suite mirror settings variables
  # shellcheck disable=SC1091
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' | awk -v suite="$suite" '$2 == suite && /^http/ { print $1; exit }')
  # shellcheck disable=SC2086 # no mirror is no argument
  debootstrap --variant=minbase --include=build-essential,ca-certificates,git "$suite" "$machine" $mirror >"$machine.log" ||
    { cat "$machine.log" "$machine/debootstrap/debootstrap.log"; fail "debootstrap failed (its output is above)"; } >&2
  rm -f "$machine.log"
  mount --rbind /dev "$machine/dev"
  mount -t proc proc "$machine/proc"

  # This machine's way to the network.
  for settings in /etc/resolv.conf /etc/hosts /etc/npmrc "$HOME/.npmrc" "$HOME/.cargo/config.toml"; do
    [[ ! -e $settings ]] || install -D -m 644 "$(realpath "$settings")" "$machine/${settings/#$HOME//root}"
  done
  for settings in /etc/apt/*; do
    [[ $settings == */apt.conf.d ]] || cp -a "$settings" "$machine/etc/apt/"
  done
  apt-config dump Acquire >"$machine/etc/apt/apt.conf.d/99this-machine"
  cp -a /usr/local/share/ca-certificates/. "$machine/usr/local/share/ca-certificates/"
  chroot "$machine" update-ca-certificates >/dev/null 2>&1
  variables='(https?|no|all)_proxy|.*_CA_?(FILE|BUNDLE|CERTS|CAINFO)|.*_CAINFO|SSL_CERT_.*|NODE_EXTRA_CA_CERTS|npm_config_registry|RUSTUP_(DIST_SERVER|UPDATE_ROOT)'
  mapfile -t network < <(env | grep -iE "^($variables)=" || true)
  for settings in "${network[@]#*=}"; do
    [[ ! -f $settings || -e $machine$settings ]] || install -D -m 644 "$settings" "$machine$settings"
  done
}

# install_rust with: this machine's rustup, and the pinned toolchain without the parts that the set-up has to bring.
# install_rust without: the same toolchain, without rustup.
install_rust() {
  local name toolchain program
  name=$(rustup show active-toolchain | cut -d ' ' -f 1)
  toolchain=$machine/root/.rustup/toolchains/$name
  rm -rf "$machine/root/.rustup" "$machine"/root/.cargo/{bin,registry} "$machine/opt/rust"
  mkdir -p "$toolchain" "$machine/root/.cargo/bin" "$machine/opt"
  # Without the book and the documentation of the standard library, which is half of it.
  tar --create --directory "$(rustc --print sysroot)" --exclude ./share/doc/rust/html . | tar --extract --directory "$toolchain"
  cp "$(command -v rustup)" "$machine/root/.cargo/bin/rustup"
  for program in cargo rustc rustdoc rustfmt cargo-fmt cargo-clippy clippy-driver; do
    ln -s rustup "$machine/root/.cargo/bin/$program"
  done
  in_machine "rustup target remove wasm32-unknown-unknown; rustup component remove rustfmt clippy" >"$machine/output" 2>&1 || true
  [[ ! -e $toolchain/lib/rustlib/wasm32-unknown-unknown && ! -e $toolchain/bin/cargo-clippy ]] ||
    fail "rustup did not remove the target and Clippy from $name:" "$(cat "$machine/output")"
  [[ $1 == with ]] || { mv "$toolchain" "$machine/opt/rust" && rm -rf "$machine/root/.rustup" "$machine/root/.cargo/bin"; }
}

in_machine() {
  chroot "$machine" env --ignore-environment "${network[@]}" HOME=/root LANG=C.UTF-8 RUSTUP_AUTO_INSTALL=0 \
    PATH=/root/.cargo/bin:/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c "cd /root/clone 2>/dev/null; $1"
}

new_clone() {
  rm -rf "$machine/root/clone"
  git clone --quiet --no-hardlinks "$PWD" "$machine/root/clone"
}

echo "Making a new machine in $machine"
network=()
debian
results=() failed=false

new_clone
install_rust without
for command in "${commands[@]}"; do
  new_clone
  SECONDS=0
  echo "== without rustup: $command"
  if in_machine "$command" >"$machine/output" 2>&1; then status=0; else status=$?; fi
  took=$SECONDS
  cat "$machine/output"
  if ((status == 0)) || ! grep -q 'rustup target add' "$machine/output" ||
    [[ -e $machine/root/clone/target/xtask || $(grep -c '^setup: ' "$machine/output") != 1 ]]; then
    failed=true results+=("WRONG, without rustup: $command: status $status after $took s")
  else
    results+=("right, without rustup: $command: one error after $took s")
  fi
done

for command in "${commands[@]}"; do
  new_clone
  install_rust with
  echo "== with rustup: $command"
  SECONDS=0
  if in_machine "$command"; then status=0; else status=$?; fi
  took=$SECONDS
  size="$(du -sm "$machine/root/clone" | cut -f 1) MB in the clone, $(du -sm "$machine/root/.cargo" | cut -f 1) MB in ~/.cargo"
  if ((status == 0)); then
    results+=("right, with rustup: $command: $took s on $(nproc) cores, $size")
  else
    failed=true results+=("WRONG, with rustup: $command: status $status after $took s")
  fi
done

printf '%s\n' "${results[@]}"
! $failed
