//! without-kubewarden.yaml on the Pods that agent-stack-k8s really made: its expressions are
//! evaluated as an API server evaluates them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cel::common::types::{CelMap, CelMapKey, Type};
use cel::common::value::{CowVal, Val};
use cel::{Context, Env, ExecutionError, StructType};
use consistent_pull_policy_promises::repository::all_captured;
use serde_json::{Value, json};

/// The types of the messages that the expressions make.
const MESSAGES: [&str; 6] = [
    "Object",
    "Object.spec",
    "Object.spec.containers",
    "Object.spec.initContainers",
    "Object.spec.initContainers.volumeMounts",
    "JSONPatch",
];

/// A message, which is a map of its fields here.
struct Message(Type);

impl StructType for Message {
    fn get_type(&self) -> &Type {
        &self.0
    }

    fn new_value<'b, 'v>(
        &self,
        fields: BTreeMap<String, CowVal<'b, 'v>>,
    ) -> Result<Box<dyn Val + 'v>, ExecutionError> {
        let fields = fields
            .into_iter()
            .map(|(name, value)| (CelMapKey::from(name), value.into_owned()));
        let fields: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = fields.collect();
        Ok(Box::new(CelMap::from(fields)))
    }
}

/// The policy's spec.
fn spec() -> Value {
    let examples = super::examples();
    let example = examples
        .iter()
        .find(|example| example.name == "without-kubewarden");
    example.expect("the example").manifests[0]["spec"].clone()
}

fn evaluated(expression: &Value, object: &Value, variables: &Value) -> Value {
    let mut env = Env::stdlib();
    for name in MESSAGES {
        env.add_type(Message(Type::new_struct_type(name)))
            .expect("a type");
    }
    let text = expression.as_str().expect("an expression");
    let program = env
        .compile(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut context = Context::with_env(Arc::new(env));
    for (name, value) in [("object", object), ("variables", variables)] {
        let value = cel::to_value(value).expect("a value");
        context.add_variable(name, value).expect("a variable");
    }
    let result = program
        .execute(&context)
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    result.json().expect("JSON")
}

fn is_selected(spec: &Value, pod: &Value) -> bool {
    let mut conditions = spec["matchConditions"].as_array().expect("a list").iter();
    conditions.all(|condition| evaluated(&condition["expression"], pod, &json!({})) == true)
}

/// The Pod after both mutations.
fn mutated(spec: &Value, pod: &Value) -> Value {
    let mut pod = pod.clone();
    for mutation in spec["mutations"].as_array().expect("a list") {
        let mut variables = json!({});
        for variable in spec["variables"].as_array().expect("a list") {
            let name = variable["name"].as_str().expect("a name");
            variables[name] = evaluated(&variable["expression"], &pod, &variables);
        }
        let result = |kind: &str| evaluated(&mutation[kind]["expression"], &pod, &variables);
        if mutation["patchType"] == "ApplyConfiguration" {
            let configuration = result("applyConfiguration");
            apply(&mut pod, &configuration);
        } else {
            let patches = result("jsonPatch");
            for patch in patches.as_array().expect("a list") {
                assert_eq!(patch["op"], "add");
                assert_eq!(patch["path"], "/spec/initContainers/-");
                let list = pod["spec"]["initContainers"].as_array_mut();
                list.expect("a list").push(patch["value"].clone());
            }
        }
    }
    pod
}

/// Merges containers by their names, as server-side apply does.
fn apply(pod: &mut Value, configuration: &Value) {
    for (list, entries) in configuration["spec"].as_object().expect("a spec") {
        for entry in entries.as_array().expect("a list") {
            let containers = pod["spec"][list].as_array_mut().expect("a list");
            let container = containers
                .iter_mut()
                .find(|container| container["name"] == entry["name"])
                .expect("a container of this name");
            for (field, value) in entry.as_object().expect("a container") {
                container[field] = value.clone();
            }
        }
    }
}

fn list<'v>(pod: &'v Value, name: &str) -> &'v [Value] {
    pod["spec"][name].as_array().map_or(&[], Vec::as_slice)
}

/// What the two mutations have done to Pods.
#[derive(Debug, Default)]
struct Counts {
    raised: usize,
    lowered: usize,
    added: usize,
}

#[test]
fn the_policy_without_kubewarden_repairs_captured_pods() {
    let spec = spec();
    let mut counts = Counts::default();
    for (name, request) in all_captured() {
        let pod = &request["object"];
        // Audits name no user, and the API server evaluates no policy for them.
        let is_audit = request["userInfo"]["username"].is_null();
        if pod["kind"] != "Pod" || request["operation"] != "CREATE" || is_audit {
            continue;
        }
        // The controller labels its Pods.
        let is_of_agent_stack = !pod["metadata"]["labels"]["buildkite.com/job-uuid"].is_null();
        assert_eq!(is_selected(&spec, pod), is_of_agent_stack, "{name}");
        if is_of_agent_stack {
            let after = mutated(&spec, pod);
            assert_eq!(mutated(&spec, &after), after, "{name}: a second time");
            assert_eq!(expected(pod, &mut counts), after, "{name}");
        }
    }
    assert!(
        counts.raised > 1 && counts.lowered > 1 && counts.added > 1,
        "{counts:?}"
    );
}

/// The Pod as the policy promises it.
fn expected(pod: &Value, counts: &mut Counts) -> Value {
    let mut after = pod.clone();
    let is_check = |container: &Value| {
        let name = container["name"].as_str().expect("a name");
        name.starts_with("imagecheck-")
    };
    for (index, init) in list(pod, "initContainers").iter().enumerate() {
        let guards_always = list(pod, "containers").iter().any(|container| {
            container["image"] == init["image"] && container["imagePullPolicy"] == "Always"
        });
        if is_check(init) && guards_always {
            counts.raised += usize::from(init["imagePullPolicy"] != "Always");
            after["spec"]["initContainers"][index]["imagePullPolicy"] = json!("Always");
        }
    }
    for (index, container) in list(pod, "containers").iter().enumerate() {
        let image = &container["image"];
        let mut inits = list(pod, "initContainers").iter();
        if inits
            .clone()
            .any(|init| is_check(init) && init["image"] == *image)
        {
            counts.lowered += usize::from(container["imagePullPolicy"] == "Always");
            let policy = &mut after["spec"]["containers"][index]["imagePullPolicy"];
            if *policy == "Always" {
                *policy = json!("IfNotPresent");
            }
        }
        if inits.all(|init| init["image"] != *image) {
            counts.added += 1;
            let check = json!({
                "name": format!("imagecheck-{}", container["name"].as_str().expect("a name")),
                "image": image,
                "imagePullPolicy": container["imagePullPolicy"],
                "command": ["/workspace/tini-static"],
                "args": ["--version"],
                "volumeMounts": [{"name": "workspace", "mountPath": "/workspace"}],
            });
            let list = after["spec"]["initContainers"].as_array_mut();
            list.expect("a list").push(check);
        }
    }
    after
}
