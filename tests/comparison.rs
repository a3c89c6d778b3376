//! The two `MutatingAdmissionPolicy` manifests in COMPARE.md and in examples/without-kubewarden.yaml
//! do what the documentation says about them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::captured;
use crate::common::cel::Expression;
use cel::common::types::{self, CelList};
use cel::{Env, StructDef};
use serde::Deserialize;
use serde_json::{Value, json};

/// A file of this repository.
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The first `MutatingAdmissionPolicy` in a text of several YAML documents.
fn mutating_policy(text: &str) -> Value {
    yaml_serde::Deserializer::from_str(text)
        .map(|document| Value::deserialize(document).expect("YAML"))
        .find(|manifest| manifest["kind"] == "MutatingAdmissionPolicy")
        .expect("a MutatingAdmissionPolicy")
}

/// The expression of the example in COMPARE.md.
fn compare_md_expression() -> String {
    let text = file("COMPARE.md");
    let block = text
        .split("```")
        .filter_map(|block| block.strip_prefix("yaml\n"))
        .find(|block| block.contains("kind: MutatingAdmissionPolicy"))
        .expect("an example");
    let manifest = mutating_policy(block);
    manifest["spec"]["mutations"][0]["applyConfiguration"]["expression"]
        .as_str()
        .expect("an expression")
        .to_owned()
}

/// A CEL environment. Of the API server's types and fields, it has only those that the two manifests use.
fn environment() -> Arc<Env> {
    let mut env = Env::stdlib();
    let spec = "Object.spec";
    let check = format!("{spec}.initContainers");
    let mount = format!("{check}.volumeMounts");
    let empty = || Box::new(CelList::from(Vec::new()));
    let text = |definition: StructDef, field: &str| {
        definition.add_field(field.to_owned(), types::STRING_TYPE)
    };
    let list = |definition: StructDef, field: &str| {
        definition.add_field_with_default(field.to_owned(), empty())
    };
    let container = |name: String| {
        let container = ["name", "image", "imagePullPolicy"]
            .iter()
            .fold(StructDef::new(name), |container, field| {
                text(container, field)
            });
        ["command", "args", "volumeMounts"]
            .iter()
            .fold(container, |container, field| list(container, field))
    };
    let mount_type = ["name", "mountPath"]
        .iter()
        .fold(StructDef::new(mount), |mount, field| text(mount, field));
    let spec_type = ["initContainers", "containers"]
        .iter()
        .fold(StructDef::new(spec.to_owned()), |spec, field| {
            list(spec, field)
        });
    let patch = ["op", "path"]
        .iter()
        .fold(StructDef::new("JSONPatch".to_owned()), |patch, field| {
            text(patch, field)
        })
        .add_field("value".to_owned(), types::Type::new_struct(check.clone()));
    let object = StructDef::new("Object".to_owned())
        .add_field("spec".to_owned(), types::Type::new_struct(spec.to_owned()));
    for definition in [
        mount_type,
        container(check),
        container(format!("{spec}.containers")),
        spec_type,
        object,
        patch,
    ] {
        env.add_type(definition).expect("a type");
    }
    Arc::new(env)
}

/// The value of an expression for a request, as JSON.
fn value_of(expression: &str, request: &Value) -> Value {
    Expression::new(&environment(), expression)
        .evaluate(request)
        .json()
        .expect("JSON")
}

/// The pull policies that an apply configuration sets. Each entry has the list, the container and
/// the pull policy.
fn set_by(expression: &str, request: &Value) -> Value {
    let lists = ["initContainers", "containers"].map(|list| {
        let fields =
            format!("({expression}).spec.{list}.map(c, ['{list}', c.name, c.imagePullPolicy])");
        value_of(&fields, request)
    });
    Value::Array(
        lists
            .iter()
            .flat_map(|list| list.as_array().expect("a list").clone())
            .collect(),
    )
}

/// The manifest in examples/without-kubewarden.yaml.
struct WithoutKubewarden {
    manifest: Value,
}

impl WithoutKubewarden {
    fn read() -> Self {
        Self {
            manifest: mutating_policy(&file("examples/without-kubewarden.yaml")),
        }
    }

    /// An expression in which each `variables.…` is replaced with its definition.
    fn expanded(&self, expression: &Value) -> String {
        let mut expression = expression.as_str().expect("an expression").to_owned();
        let variables = self.manifest["spec"]["variables"].as_array();
        // A variable may use the variables that are defined before it. So the last one is replaced first.
        for variable in variables.expect("variables").iter().rev() {
            let [name, meaning] =
                ["name", "expression"].map(|field| variable[field].as_str().expect("a text"));
            expression = expression.replace(&format!("variables.{name}"), &format!("({meaning})"));
        }
        expression
    }

    /// Whether the `matchConditions` of the manifest select a request.
    fn matches(&self, request: &Value) -> bool {
        let condition = &self.manifest["spec"]["matchConditions"][0]["expression"];
        value_of(&self.expanded(condition), request) == true
    }

    /// The pull policies that the first mutation sets, in the order of their texts. In place of a check's
    /// name, which has a random number, there is the check's image.
    fn pull_policies(&self, request: &Value) -> Vec<String> {
        let mutation = &self.manifest["spec"]["mutations"][0]["applyConfiguration"];
        let set = set_by(&self.expanded(&mutation["expression"]), request);
        let spec = &request["object"]["spec"];
        let text = |set: &Value| {
            let [list, name, pull_policy] = [0, 1, 2].map(|part| set[part].as_str().expect("text"));
            let containers = spec[list].as_array().expect("containers");
            let container = containers.iter().find(|c| c["name"] == name);
            if name.starts_with("imagecheck-") {
                let image = &container.expect("a container")["image"];
                format!(
                    "check of {}: {pull_policy}",
                    image.as_str().expect("an image")
                )
            } else {
                format!("{name}: {pull_policy}")
            }
        };
        let mut texts: Vec<_> = set.as_array().expect("a list").iter().map(text).collect();
        texts.sort();
        texts
    }

    /// The init containers that the second mutation adds.
    fn added_checks(&self, request: &Value) -> Value {
        let mutation = &self.manifest["spec"]["mutations"][1]["jsonPatch"];
        let expression = self.expanded(&mutation["expression"]);
        value_of(
            &format!(
                "({expression}).map(p, [p.op, p.path, p.value.name, p.value.image, \
                 p.value.imagePullPolicy, p.value.command[0], p.value.args[0], \
                 p.value.volumeMounts[0].name, p.value.volumeMounts[0].mountPath])"
            ),
            request,
        )
    }
}

/// A check that `added_checks` returns.
fn added(container: &str, image: &str, pull_policy: &str) -> Value {
    json!([
        "add",
        "/spec/initContainers/-",
        format!("imagecheck-{container}"),
        image,
        pull_policy,
        "/workspace/tini-static",
        "--version",
        "workspace",
        "/workspace",
    ])
}

#[test]
fn compare_md_sets_always_on_the_images_that_it_names() {
    let request = captured("agent-stack-pod-create");
    assert_eq!(
        set_by(&compare_md_expression(), &request),
        json!([
            ["initContainers", "copy-agent", "Always"],
            ["containers", "agent", "Always"],
            ["containers", "checkout", "Always"],
        ])
    );
    let without_init_containers = captured("pod-create-by-statefulset");
    assert_eq!(
        set_by(&compare_md_expression(), &without_init_containers),
        json!([])
    );
}

/// The Pod has one image under two names: the check's `docker.io/library/postgres:16` is the
/// container's `postgres:16`. A prefix matches only one of these names, so the check and the
/// container get different pull policies.
#[test]
fn cel_does_not_see_that_two_names_are_one_image() {
    let request = captured("agent-stack-pod-create");
    for (prefix, expected) in [
        (
            "docker.io/library/postgres:",
            json!([["initContainers", "imagecheck-1", "Always"]]),
        ),
        ("postgres:", json!([["containers", "sidecar-0", "Always"]])),
    ] {
        let expression = compare_md_expression().replace("ghcr.io/buildkite/", prefix);
        assert_eq!(set_by(&expression, &request), expected, "{prefix}");
    }
}

#[test]
fn without_kubewarden_repairs_the_three_pods_of_agent_stack() {
    let policy = WithoutKubewarden::read();
    for (name, pull_policies, checks) in [
        (
            "step-image",
            vec![],
            json!([added("container-0", "node:22-alpine", "IfNotPresent")]),
        ),
        (
            "weak-checks",
            vec![
                "check of my-app:v1.2.3: Always",
                "check of redis:7: Always",
                "container-0: IfNotPresent",
                "container-1: IfNotPresent",
            ],
            json!([]),
        ),
        (
            "podspecpatch-image",
            vec![],
            json!([added("container-0", "my-app:v1.2.4-fix", "IfNotPresent")]),
        ),
    ] {
        let request = captured(&format!("agent-stack-0.47-real-{name}-pod-create"));
        assert!(policy.matches(&request), "{name}");
        assert_eq!(policy.pull_policies(&request), pull_policies, "{name}");
        assert_eq!(policy.added_checks(&request), checks, "{name}");
    }
}

#[test]
fn without_kubewarden_leaves_other_pods_alone() {
    let policy = WithoutKubewarden::read();
    for name in ["pod-create", "pod-create-by-statefulset"] {
        assert!(!policy.matches(&captured(name)), "{name}");
    }
}

/// COMPARE.md says that examples/without-kubewarden.yaml compares image references as texts.
#[test]
fn without_kubewarden_does_not_see_that_two_names_are_one_image() {
    let policy = WithoutKubewarden::read();
    let mut request = captured("agent-stack-0.47-real-weak-checks-pod-create");
    let init_containers = request["object"]["spec"]["initContainers"].as_array_mut();
    let mut checks = init_containers.expect("init containers").iter_mut();
    let check = checks.find(|check| check["image"] == "my-app:v1.2.3");
    check.expect("a check")["image"] = json!("docker.io/library/my-app:v1.2.3");
    assert_eq!(
        policy.pull_policies(&request),
        ["check of redis:7: Always", "container-1: IfNotPresent"]
    );
    assert_eq!(
        policy.added_checks(&request),
        json!([added("container-0", "my-app:v1.2.3", "Always")])
    );
}

/// COMPARE.md says that examples/without-kubewarden.yaml adds one check for each container, even if two
/// containers have the same image.
#[test]
fn without_kubewarden_adds_a_check_for_each_container() {
    let policy = WithoutKubewarden::read();
    let mut request = captured("agent-stack-0.47-real-podspecpatch-image-pod-create");
    request["object"]["spec"]["containers"][1]["image"] = json!("my-app:v1.2.4-fix");
    assert_eq!(
        policy.added_checks(&request),
        json!([
            added("container-0", "my-app:v1.2.4-fix", "IfNotPresent"),
            added("container-1", "my-app:v1.2.4-fix", "IfNotPresent"),
        ])
    );
}
