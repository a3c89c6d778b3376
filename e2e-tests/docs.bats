# Runs the commands `jq` and `cargo xtask run`, `show` and `schema` in the console blocks of the
# documentation. Each command has to print the lines below it. A page may leave out the end of an output.

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

# prints COMMAND LINES: the output of COMMAND has to begin with LINES.
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

# Runs the commands of a console block. If the block begins with `$ `, each command begins with `$ `, and the
# other lines are output. Otherwise each line is a command. A line continues a command if it is indented by
# four columns, or if the line before it ends with a backslash.
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
