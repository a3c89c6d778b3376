# pull-once: in a Pod with checks, an app container need not pull an image again if an init container has
# pulled the same image with Always.

load lib

@test "Always becomes IfNotPresent if an init container has pulled the image with Always" {
  outcomes '{"imageChecks":{"coverage":"Off"}}' <<'ROWS'
    init imagecheck-0 app:1 Always, app a app:1 Always                        | init imagecheck-0 app:1 Always, app a app:1 IfNotPresent
    init imagecheck-0 app Always, app a app                                   | init imagecheck-0 app Always, app a app IfNotPresent
    init imagecheck-0 app:1 IfNotPresent, app a app:1 Always                  | init imagecheck-0 app:1 Always, app a app:1 IfNotPresent
    init imagecheck-0 app:1 IfNotPresent, init copy tool:1 Always, app a app:1 IfNotPresent, app t tool:1 Always       | init imagecheck-0 app:1 IfNotPresent, init copy tool:1 Always, app a app:1 IfNotPresent, app t tool:1 IfNotPresent
    init imagecheck-0 app:1 IfNotPresent, init copy tool:1 IfNotPresent, app a app:1 IfNotPresent, app t tool:1 Always | same
    init imagecheck-0 app:1 IfNotPresent, sidecar s tool:1 Always, app a app:1 IfNotPresent, app t tool:1 Always       | same
    init imagecheck-0 app:1 Always, app a other:1 Always, volume v app:1 Always     | same
    init imagecheck-0 app:1 Always, app a other:1 Always, sidecar s app:1 Always    | same
    init imagecheck-0 app:1 Always, app a other:1 Always, init later app:1 Always   | same
    init imagecheck-0 docker.io/library/app:1 Always, app a app:1 Always              | same
    init imagecheck-0 docker.io/library/app:1 Always, init imagecheck-1 app:1, app a app:1 Always | init imagecheck-0 docker.io/library/app:1 Always, init imagecheck-1 app:1 Always, app a app:1 IfNotPresent
    init copy app:1 Always, app a app:1 Always                                      | same
    sidecar imagecheck-0 app:1 Always, app a app:1 Always                           | same
ROWS
}

@test "pull-once is a saving: it gives no finding and no warning in any mode" {
  pod 'init imagecheck-0 app:1 Always, app a app:1 Always'
  for mode in Reject Warn; do
    evaluate "{\"mode\":\"$mode\"}"
    untouched
  done
  evaluate
  repaired 'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'
  warned
  found '[]'
  changed '[{"path":"spec.containers[0].imagePullPolicy","container":"a","from":"Always","to":"IfNotPresent","rule":"pull-once"}]'
}

@test "pullOnce false leaves the containers at Always" {
  pod 'init imagecheck-0 app:1 Always, app a app:1 Always'
  evaluate '{"pullOnce":false}'
  untouched
  pod 'init imagecheck-0 app:1 IfNotPresent, app a app:1 Always'
  evaluate '{"pullOnce":false}'
  repaired 'init imagecheck-0 app:1 Always, app a app:1 Always'
}

@test "images of images.requireAlways keep Always" {
  pod 'init imagecheck-0 app:1 IfNotPresent, init imagecheck-1 free:1 Always, app a app:1 Always, app b free:1 Always'
  evaluate '{"images":{"requireAlways":["app"]}}'
  repaired 'init imagecheck-0 app:1 Always, init imagecheck-1 free:1 Always, app a app:1 Always, app b free:1 IfNotPresent'
}

@test "pull-once alone never changes a pod template, because the change would restart its Pods" {
  workload Deployment 'init imagecheck-0 app:1 Always, app a app:1 Always'
  for templates in Off Warn Enforce; do
    row=$templates
    evaluate "{\"templates\":\"$templates\"}"
    untouched
  done
  workload Deployment 'init imagecheck-0 app:1 IfNotPresent, app a app:1 Always'
  evaluate '{"templates":"Enforce"}'
  repaired 'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'
}
