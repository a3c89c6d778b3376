//! The `MutatingAdmissionPolicy` in COMPARE.md says what the text around it claims.

#[path = "common/cel.rs"]
mod cel_request;
mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cel::common::types::{self, CelList};
use cel::{Env, StructDef};
use cel_request::Expression;
use common::captured;
use serde_json::{Value, json};

/// The expression of the example.
fn expression() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("COMPARE.md");
    let text = fs::read_to_string(path).expect("COMPARE.md");
    let manifest = text
        .split("```")
        .filter_map(|block| block.strip_prefix("yaml\n"))
        .flat_map(|block| block.split("\n---\n"))
        .map(|document| yaml_serde::from_str::<Value>(document).expect("YAML"))
        .find(|manifest| manifest["kind"] == "MutatingAdmissionPolicy")
        .expect("a MutatingAdmissionPolicy");
    manifest["spec"]["mutations"][0]["applyConfiguration"]["expression"]
        .as_str()
        .expect("an expression")
        .to_owned()
}

/// An environment with the types that the API server offers for a Pod's apply configuration.
fn environment() -> Arc<Env> {
    let mut env = Env::stdlib();
    let spec = "Object.spec";
    let empty = || Box::new(CelList::from(Vec::new()));
    for list in ["initContainers", "containers"] {
        env.add_type(
            StructDef::new(format!("{spec}.{list}"))
                .add_field("name".to_owned(), types::STRING_TYPE)
                .add_field("imagePullPolicy".to_owned(), types::STRING_TYPE),
        )
        .expect("a type");
    }
    env.add_type(
        StructDef::new(spec.to_owned())
            .add_field_with_default("initContainers".to_owned(), empty())
            .add_field_with_default("containers".to_owned(), empty()),
    )
    .expect("a type");
    env.add_type(
        StructDef::new("Object".to_owned())
            .add_field("spec".to_owned(), types::Type::new_struct(spec.to_owned())),
    )
    .expect("a type");
    Arc::new(env)
}

/// What the expression sets: list, container and pull policy.
fn set_by(expression: &str, request: &Value) -> Value {
    let lists = ["initContainers", "containers"].map(|list| {
        let fields =
            format!("({expression}).spec.{list}.map(c, ['{list}', c.name, c.imagePullPolicy])");
        Expression::new(&environment(), &fields)
            .evaluate(request)
            .json()
            .expect("JSON")
    });
    Value::Array(
        lists
            .iter()
            .flat_map(|list| list.as_array().expect("a list").clone())
            .collect(),
    )
}

#[test]
fn the_example_sets_always_on_the_images_that_it_names() {
    let request = captured("agent-stack-pod-create");
    assert_eq!(
        set_by(&expression(), &request),
        json!([
            ["initContainers", "copy-agent", "Always"],
            ["containers", "agent", "Always"],
            ["containers", "checkout", "Always"],
        ])
    );
    let without_init_containers = captured("pod-create-by-statefulset");
    assert_eq!(set_by(&expression(), &without_init_containers), json!([]));
}

/// The Pod has one image under two names: the check's `docker.io/library/postgres:16` is the
/// container's `postgres:16`. A prefix finds one of them, and that sets them apart.
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
        let expression = expression().replace("ghcr.io/buildkite/", prefix);
        assert_eq!(set_by(&expression, &request), expected, "{prefix}");
    }
}
