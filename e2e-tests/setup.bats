# hack/setup.sh on machines where a part of Rust is missing. rustup, rustc, cargo and cc are stand-ins, and the PATH has
# no other program of this kind. So nothing is downloaded or compiled here. CI's weekly run has a new Debian.

load lib

# A machine with the whole Rust of this project, installed by rustup. The files in $MACHINE are what is there.
setup() {
  export MACHINE=$BATS_TEST_TMPDIR HOME=$BATS_TEST_TMPDIR/home
  export RUST=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  export TOOLS_DIR=$MACHINE/tools CARGO_TARGET_DIR=$MACHINE/target
  bin=$MACHINE/bin
  mkdir -p "$bin" "$HOME" "$MACHINE/sysroot/lib/rustlib/wasm32-unknown-unknown"
  touch "$MACHINE"/{toolchain,components,calls}
  # What the scripts and the Makefile need besides Rust.
  for program in awk bash basename cat cut dirname env getconf head make mkdir mktemp rm sed sh sort touch tr uname; do
    ln -s "$(command -v "$program")" "$bin/$program"
  done
  stand_in cc 'exit 0'
  stand_in rustc '
    [[ -e $MACHINE/toolchain ]] || { echo "error: toolchain is not installed" >&2; exit 1; }
    case $1 in
      --version) echo "rustc $RUST.0 (0123456 2026-04-14)" ;;
      --print) echo "$MACHINE/sysroot" ;;
    esac'
  # It compiles nothing: the note in the file `calls` is what the tests look at.
  stand_in cargo '
    case $* in
      "fmt --version" | "clippy --version") [[ -e $MACHINE/components ]] ;;
      *) echo "cargo $*" >>"$MACHINE/calls" ;;
    esac'
  stand_in rustup '
    echo "rustup $*" >>"$MACHINE/calls"
    [[ ! -e $MACHINE/offline ]] || { echo "error: could not download" >&2; exit 1; }
    touch "$MACHINE"/{toolchain,components}
    mkdir -p "$MACHINE/sysroot/lib/rustlib/wasm32-unknown-unknown"'
}

# stand_in NAME SCRIPT: makes a program.
stand_in() {
  printf '#!%s\n%s\n' "$(command -v bash)" "$2" >"$bin/$1"
  chmod +x "$bin/$1"
}

@test "rustup installs what is missing, with a line for it, and only once" {
  for missing in toolchain components sysroot/lib; do
    row=$missing
    (cd "$MACHINE" && rm -r $missing && : >calls)
    output=$(PATH=$bin hack/setup.sh cargo components)
    same calls "rustup toolchain install" "$(<"$MACHINE/calls")"
    same 'the last words of the line' "rustup toolchain install" "${output##*: }"
    empty 'output of the second time' "$(PATH=$bin hack/setup.sh cargo components 2>&1)"
  done
}

# A change of the machine, a command, and what its only error says. Cargo compiles nothing.
@test "what rustup can't bring ends each command with one error and its remedy, before anything is compiled" {
  while IFS='|' read -r change command remedy; do
    row="$change: $command"
    (cd "$MACHINE" && eval "$change" && : >calls)
    run env PATH="$bin" $command
    [[ $status != 0 && $output == *"$remedy"* && $(grep -c '^setup: ' <<<"$output") == 1 ]] || fail "it doesn't say: $remedy" "$output"
    ! grep '^cargo' "$MACHINE/calls" || fail "cargo was started"
  done <<'ROWS'
rm -r sysroot/lib; touch offline|make run|when the network is there, run: rustup toolchain install
stand_in rustup ''|make check|is not rustup's, and doesn't have the target wasm32-unknown-unknown
rm bin/rustup|make test|install Rust from https://rustup.rs
rm bin/cc; stand_in rustc 'echo "rustc 1.1000.0 (0123456 2026-03-01)"'|make run|build-essential
stand_in rustc 'echo "rustc 1.9.1 (0123456 2026-03-01)"'|make run|rustc is 1.9.1
rm bin/rustc|make run|https://rustup.rs
rm bin/uname; stand_in uname 'echo Darwin arm64'; stand_in npm ''; stand_in node 'echo v9.9.9'|hack/setup.sh site|install node from https://nodejs.org
true|hack/setup.sh helm|install helm from https://helm.sh
true|hack/setup.sh zizmor|install zizmor from https://docs.zizmor.sh
true|hack/setup.sh packages|the end-to-end tests need bats
true|env CHROMIUM= hack/setup.sh browser|need Chromium
true|hack/setup.sh none|unknown part: none
ROWS
}

@test "make test stops Cargo if the programs of the tests can't be downloaded" {
  ln -s "$(command -v sleep)" "$bin"
  stand_in id 'echo 0'
  stand_in cargo '
    case $* in
      *--version) ;;
      *)
        trap "echo stopped >>$MACHINE/calls; exit 1" TERM
        echo $$ >"$MACHINE/cargo"
        sleep 60 3>&- &
        wait ;;
    esac'
  # It fails when Cargo compiles.
  stand_in apt-get 'until [[ -s $MACHINE/cargo ]]; do sleep 0.1; done; exit 1'
  run env PATH="$bin" make test
  [[ $status != 0 && $output == *'as root: apt-get update && apt-get install'* ]] || fail "it doesn't say what to do" "$output"
  while kill -0 "$(<"$MACHINE/cargo")" 2>/dev/null; do sleep 0.1; done
  same 'what Cargo did' stopped "$(<"$MACHINE/calls")"
}
