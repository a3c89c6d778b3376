# registry.overrides: only the first entry with a pattern that matches the image decides. The value of a key
# that this entry lacks comes from `registry`.

load lib
load registry/lib

setup_file() {
  export REGISTRY FAULTY APP DIGEST
  REGISTRY=$(start_registry registry)
  FAULTY=$(start_faulty_registry)
  APP=$REGISTRY/app:1
  publish "$APP" app
  DIGEST=$(digest_of "$APP")
}

teardown_file() {
  stop_servers
}

alone='"pullOnce":false'

# overriding ENTRIES: prints settings with ENTRIES as `registry.overrides`.
overriding() {
  with "\"overrides\":[$1]" "$alone"
}

@test "the first entry that matches the image decides, and its missing keys come from registry" {
  while fields entries action; do
    pod "app a $FAULTY/429/app:1 Always"
    consult "$(overriding "${entries//HOST/$FAULTY}")"
    failed "$FAULTY/429/app:1" rateLimited true "$action"
    case $action in
      Reject) rejected "registry a $FAULTY/429/app:1 ${told[rateLimited]}" ;;
      KeepTag) kept ;;
      UseCached) repaired "app a $FAULTY/429/app:1 IfNotPresent" ;;
    esac
  done <<'ROWS'
    {"images":["HOST/*"],"onRateLimited":"Reject"}                                                      | Reject
    {"images":["HOST/*"],"onRateLimited":"UseCached"}                                                   | UseCached
    {"images":["HOST/*"],"onDenied":"Reject"}                                                           | KeepTag
    {"images":["other"],"onRateLimited":"Reject"}                                                       | KeepTag
    {"images":["HOST/429/app"],"onRateLimited":"UseCached"},{"images":["HOST/*"],"onRateLimited":"Reject"} | UseCached
    {"images":["HOST/429/app"],"onDenied":"UseCached"},{"images":["HOST/*"],"onRateLimited":"Reject"}   | KeepTag
    {"images":["other","HOST/429/*"],"onRateLimited":"Reject"}                                          | Reject
ROWS
}

@test "each image has its own lookup: Off, Verify and Pin in one Pod" {
  pod "app a $APP Always, app b $FAULTY/works/b:1 Always, app c $FAULTY/429/c:1 Always"
  consult "$(overriding "{\"images\":[\"$FAULTY/works/*\"],\"lookup\":\"Verify\"},{\"images\":[\"$FAULTY/429/*\"],\"lookup\":\"Off\"}")"
  repaired "app a $APP@$DIGEST IfNotPresent, app b $FAULTY/works/b:1 Always, app c $FAULTY/429/c:1 Always"
  asked_for "$APP" "$FAULTY/works/b:1"
  warned
  # If `registry.lookup` is Off, an image is looked up only if its entry of `overrides` sets a lookup.
  lookup=Off
  consult "$(overriding "{\"images\":[\"$REGISTRY/*\"],\"lookup\":\"Pin\"}")"
  repaired "app a $APP@$DIGEST IfNotPresent, app b $FAULTY/works/b:1 Always, app c $FAULTY/429/c:1 Always"
  asked_for "$APP"
}

@test "registry.images and skipImages decide first whether an image is looked up at all" {
  pod "app a $APP Always"
  for key in images skipImages; do
    row=$key
    patterns='"other"'
    [[ $key != skipImages ]] || patterns="\"$REGISTRY/*\""
    consult "$(with "\"$key\":[$patterns],\"overrides\":[{\"images\":[\"$REGISTRY/*\"],\"lookup\":\"Pin\"}]" "$alone")"
    untouched
    asked_for
  done
}

@test "entries that are malformed are settings errors" {
  invalid '{"registry":{"overrides":["docker.io/*",null,["a"]]}}' \
    'registry.overrides[0] object not a string' 'registry.overrides[1] object not null' 'registry.overrides[2] object not a list'
  invalid '{"registry":{"overrides":[{"images":["a"]},""]}}' 'registry.overrides[1] object not a string'
  invalid '{"registry":{"overrides":[{"images":["b","/b"],"lookup":"on"}]}}' \
    'registry.overrides[0].lookup Off Verify Pin not on' 'registry.overrides[0].images[1] /b */b'
}
