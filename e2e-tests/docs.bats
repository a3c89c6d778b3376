# Runs the `jq` commands and the `cargo xtask run`, `show` and `schema` commands of README and documentation.
# Each has to print the lines that the page has below it. (The page may leave out the end of an output.)

load lib

# Runs `cargo xtask` commands with the xtask that is already built.
cargo() {
  [[ $1 == xtask ]] || fail "not a command of this test: cargo $*"
  case $2 in
    show) "$XTASK" show --module "$POLICY" "${@:3}" ;;
    *) "$XTASK" "${@:2}" ;;
  esac
}

# Whether this test can run a command.
can_run() {
  [[ $1 =~ ^(jq |cargo\ xtask\ (run|show|schema)( |$)) ]]
}

# Runs a command from a page. Its output has to begin with the lines that the page has.
prints() {
  local command=${1//\/tmp\//$BATS_TEST_TMPDIR/} expected=${2//\/tmp\//$BATS_TEST_TMPDIR/} actual status=0
  row="$page: $1"
  actual=$(eval "$command") || status=$?
  [[ $status == 0 ]] || fail "the exit status is $status"
  if [[ -n $expected ]]; then
    same outputs "$expected" "$(head -n "$(wc -l <<<"$expected")" <<<"$actual")"
  fi
  count=$((count + 1))
}

# Runs the commands of a console block. If the block begins with `$ `, each line that begins so is a
# command. Else each line is a command. A line that is indented by four columns, or that comes after a
# backslash, continues a command. The other lines are output.
run_block() {
  local line command='' output='' prompt='' state=
  [[ $block != '$ '* ]] || prompt='$ '
  while IFS= read -r line; do
    if [[ $state == command && $line == '    '* || $state == command && $command == *\\ ]]; then
      command+=$'\n'$line
    elif [[ -z $prompt && -n $line || -n $prompt && $line == "$prompt"* ]]; then
      ! can_run "$command" || prints "$command" "${output%$'\n'}"
      command=${line#"$prompt"} output='' state=command
    else
      output+=$line$'\n' state=output
    fi
  done <<<"$block"
  ! can_run "$command" || prints "$command" "${output%$'\n'}"
}

@test "the commands in README and documentation print the lines below them" {
  count=0
  for page in README.md CONTRIBUTING.md examples/README.md docs/*.md; do
    block='' inside=
    while IFS= read -r text; do
      if [[ $text == '```console' ]]; then
        block='' inside=yes
      elif [[ $text == '```' && -n $inside ]]; then
        run_block
        inside=
      elif [[ -n $inside ]]; then
        block+=${block:+$'\n'}$text
      fi
    done <"$page"
  done
  row=
  ((count >= 8)) || fail "only $count commands were run"
}
