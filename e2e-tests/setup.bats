# hack/setup.sh on machines where a part of Rust is missing. rustup, rustc, cargo and cc are stand-ins, and the PATH has
# no other program of this kind. So nothing is downloaded or compiled here: `make fresh-machine` tries the real ones.

load lib

# What the scripts and the Makefile need besides Rust.
OTHERS='awk bash basename cat cut date dirname env getconf head make mkdir mktemp rm sed sh sort touch tr uname'

# A machine with the whole Rust of this project, installed by rustup. The files in $MACHINE are what is there.
setup() {
  export MACHINE=$BATS_TEST_TMPDIR HOME=$BATS_TEST_TMPDIR/home
  export RUST=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  export TOOLS_DIR=$MACHINE/tools CARGO_TARGET_DIR=$MACHINE/target
  bin=$MACHINE/bin sysroot=$MACHINE/sysroot
  target=$sysroot/lib/rustlib/wasm32-unknown-unknown
  mkdir -p "$bin" "$HOME" "$sysroot/bin" "$target"
  touch "$sysroot/bin/rustc" "$MACHINE/toolchain" "$MACHINE/components" "$MACHINE/calls"
  for program in $OTHERS; do ln -s "$(command -v "$program")" "$bin/$program"; done

  stand_in cc 'exit 0'
  stand_in rustc '
    [[ -e $MACHINE/toolchain ]] || { echo "error: toolchain is not installed" >&2; exit 1; }
    case $1 in
      --version) echo "rustc $RUST.0 (0123456 2026-04-14)" ;;
      --print) echo "$MACHINE/sysroot" ;;
      *) exit 2 ;;
    esac'
  # It compiles nothing: the note in the file `calls` is what the tests look at.
  stand_in cargo '
    case $* in
      "fmt --version" | "clippy --version") [[ -e $MACHINE/components ]] ;;
      *) echo "cargo $*" >>"$MACHINE/calls" ;;
    esac'
  stand_in rustup '
    [[ $1 == which ]] && { echo "$MACHINE/sysroot/bin/rustc"; exit; }
    echo "rustup $*" >>"$MACHINE/calls"
    [[ ! -e $MACHINE/offline ]] || { echo "error: could not download" >&2; exit 1; }
    case $* in
      "toolchain install") touch "$MACHINE"/{toolchain,components} && mkdir -p "$MACHINE/sysroot/lib/rustlib/wasm32-unknown-unknown" ;;
      "target add wasm32-unknown-unknown") mkdir "$MACHINE/sysroot/lib/rustlib/wasm32-unknown-unknown" ;;
      "component add rustfmt clippy") touch "$MACHINE/components" ;;
      *) exit 2 ;;
    esac'
}

# stand_in NAME SCRIPT: makes a program.
stand_in() {
  printf '#!%s\n%s\n' "$(command -v bash)" "$2" >"$bin/$1"
  chmod +x "$bin/$1"
}

# lacks PART...: takes parts from the machine.
lacks() {
  for part in "$@"; do
    case $part in
      target) rm -r "$target" ;;
      toolchain) rm -r "$target" "$MACHINE/toolchain" "$MACHINE/components" ;;
      components) rm "$MACHINE/components" ;;
      *) rm "$bin/$part" ;;
    esac
  done
}

calls() { cat "$MACHINE/calls"; }

# fails_with TEXT COMMAND...: the command fails, and its last error has the text. Cargo compiles nothing.
fails_with() {
  row="${*:2}"
  run env PATH="$bin" "${@:2}"
  [[ $status != 0 ]] || fail "it succeeds" "$output"
  [[ $output == *"$1"* ]] || fail "it doesn't say: $1" "$output"
  same 'numbers of errors' 1 "$(grep -c '^setup: ' <<<"$output")"
  ! calls | grep '^cargo' || fail "cargo was started"
}

@test "where all of Rust is there, the set-up is silent and calls nothing" {
  empty output "$(PATH=$bin hack/setup.sh cargo components 2>&1)"
  empty calls "$(calls)"
}

@test "rustup installs what is missing, with a line for each, and only once" {
  while IFS='|' read -r missing installed; do
    row=$missing
    lacks "$missing"
    : >"$MACHINE/calls"
    output=$(PATH=$bin hack/setup.sh cargo components)
    same calls "rustup $installed" "$(calls)"
    same 'the last words of the line' "$installed" "${output##*: rustup }"
    empty 'output of the second time' "$(PATH=$bin hack/setup.sh cargo components 2>&1)"
  done <<'ROWS'
target|target add wasm32-unknown-unknown
components|component add rustfmt clippy
toolchain|toolchain install
ROWS
}

@test "without rustup, each command of make ends with one error and its remedy, before anything is compiled" {
  lacks target rustup
  for goal in run check test; do
    fails_with 'rustup target add wasm32-unknown-unknown' make "$goal"
    [[ $output == *https://rustup.rs* ]] || fail "no way to rustup" "$output"
  done
}

@test "where rustup can't download, each command of make ends with its command" {
  lacks target
  touch "$MACHINE/offline"
  for goal in run check test; do
    fails_with 'rustup target add wasm32-unknown-unknown' make "$goal"
    [[ $output == *'error: could not download'* ]] || fail "rustup's error is hidden" "$output"
  done
}

@test "a rustc that rustup did not install gets nothing from rustup" {
  lacks target
  stand_in rustup 'echo "error: no such toolchain" >&2; exit 1'
  fails_with 'rustup did not install this Rust' hack/setup.sh cargo
  empty calls "$(calls)"
}

@test "no Rust, an old one, no linker, no clippy and no rustup: each has its remedy" {
  lacks components
  mv "$bin/rustup" "$MACHINE/rustup"
  fails_with 'rustup component add rustfmt clippy' make check
  mv "$bin/cc" "$MACHINE/cc"
  fails_with build-essential make run
  stand_in rustc 'echo "rustc 1.9.1 (0123456 2026-03-01)"'
  fails_with 'rustc is 1.9.1' make run
  lacks rustc
  fails_with https://rustup.rs make run
}

@test "the parts of 'make test' have numbers and names, and at the end a table of their times" {
  same 'the second part' '== 2 of 3: b' "$(hack/parts.sh begin a a b c >&2 && hack/parts.sh begin b a b c)"
  hack/parts.sh begin c a b c
  same 'rows of the table' 'a b c all' "$(hack/parts.sh end | awk 'NR > 1 && $1 ~ /^[0-9]+$/ { printf gap $2; gap = " " }')"
}

@test "a command that is said to be still compiling keeps its output and its status" {
  run hack/alive.sh bash -c 'echo output; exit 4'
  same 'output, status' 'output 4' "$output $status"
}
