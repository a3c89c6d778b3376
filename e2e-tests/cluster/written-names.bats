# What a node does: the table "The written name" of docs/rules.md. The repositories of docker.io are those of the
# registry here, because the nodes ask this machine for every image.
load lib

@test "each row of the table" {
  local check container expected name library row=0
  # In a row, X is an image of docker.io/library, and @ its digest.
  while read -r check container expected; do
    row=$((row + 1))
    name=cluster-$RANDOM$RANDOM
    library=docker.io/library/$name
    image "$library:v1"
    [[ $check != X ]] || { image "$library:latest"; }
    create "pod row-$row" "init imagecheck-0 ${check/X/$name} Always, init stop stop:v1 Always, app main ${container/X/$name} IfNotPresent"
  done <<'ROWS'
