//! Tests of the check template, which is compared with Kubernetes' own type for containers.

use super::settings_problems;
use serde_json::{Value, json};

fn problems(template: &Value) -> Option<String> {
    settings_problems(&json!({"imageChecks": {"template": template}}))
}

/// A check template with every field that it can have.
fn full() -> Value {
    let profile = json!({"localhostProfile": "p", "type": "Localhost"});
    let key = json!({"key": "k", "name": "n", "optional": true});
    let name = json!({"name": "n", "optional": false});
    json!({
        "command": ["/checks/true"],
        "args": ["--version"],
        "env": [
            {"name": "A", "value": "b"},
            {"name": "B", "valueFrom": {
                "configMapKeyRef": key,
                "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"},
                "fileKeyRef": {"key": "k", "optional": true, "path": "p", "volumeName": "v"},
                "resourceFieldRef": {"containerName": "c", "divisor": "1m", "resource": "limits.cpu"},
                "secretKeyRef": key,
            }},
        ],
        "envFrom": [{"configMapRef": name, "prefix": "P_", "secretRef": name}],
        "ports": [{"containerPort": 1, "hostIP": "0.0.0.0", "hostPort": 2, "name": "p", "protocol": "TCP"}],
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
        "resources": {
            "claims": [{"name": "c", "request": "r"}],
            "limits": {"cpu": "100m"},
            "requests": {"memory": "64Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "appArmorProfile": profile,
            "capabilities": {"add": ["A"], "drop": ["ALL"]},
            "privileged": false,
            "procMount": "Default",
            "readOnlyRootFilesystem": true,
            "runAsGroup": 1,
            "runAsNonRoot": true,
            "runAsUser": 1,
            "seLinuxOptions": {"level": "l", "role": "r", "type": "t", "user": "u"},
            "seccompProfile": profile,
            "windowsOptions": {
                "gmsaCredentialSpec": "s",
                "gmsaCredentialSpecName": "n",
                "hostProcess": false,
                "runAsUserName": "u",
            },
        },
        "stdin": false,
        "stdinOnce": false,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "tty": false,
        "volumeDevices": [{"devicePath": "/dev/x", "name": "v"}],
        "volumeMounts": [{
            "mountPath": "/checks",
            "mountPropagation": "None",
            "name": "checks",
            "readOnly": true,
            "recursiveReadOnly": "Disabled",
            "subPath": "a",
            "subPathExpr": "$(B)",
        }],
        "workingDir": "/",
    })
}

#[test]
fn a_check_template_can_have_every_field_of_an_init_container_that_runs_once() {
    assert_eq!(problems(&full()), None);
}

/// Kubernetes treats a field with `null` as a field that is not there.
#[test]
fn every_field_of_a_check_template_may_be_null() {
    fn with_nulls(value: &Value, all: &mut Vec<Value>, rebuild: &dyn Fn(Value) -> Value) {
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    let rebuild = |inner| {
                        let mut map = map.clone();
                        map.insert(key.clone(), inner);
                        rebuild(Value::Object(map))
                    };
                    all.push(rebuild(Value::Null));
                    with_nulls(inner, all, &rebuild);
                }
            }
            Value::Array(list) => {
                for (index, inner) in list.iter().enumerate() {
                    let rebuild = |inner| {
                        let mut list = list.clone();
                        list[index] = inner;
                        rebuild(Value::Array(list))
                    };
                    with_nulls(inner, all, &rebuild);
                }
            }
            _ => {}
        }
    }
    let mut templates = Vec::new();
    with_nulls(&full(), &mut templates, &|template| template);
    assert!(templates.len() > 90, "{}", templates.len());
    for template in templates {
        let expected = template["command"].is_null().then(|| {
            "imageChecks.template.command is missing: without it a check would run the image's \
             own program"
                .to_owned()
        });
        // A quantity is the exception: its type in `k8s-openapi` refuses `null`.
        let problems = problems(&template).filter(|message| !message.contains("a quantity"));
        assert_eq!(problems, expected, "{template}");
    }
}

#[test]
fn all_problems_of_a_check_template_are_reported_together() {
    let template = json!({
        "name": "a",
        "args": ["a", 1, "b", 2],
        "env": [{"nam": "a"}, {"name": 5}],
        "volumeMount": [],
    });
    let expected = [
        "name can't be set: every added check has its own",
        "args[1] must be a string, not a number",
        "args[3] must be a string, not a number",
        "env[0].nam is not a field of a container",
        "env[1].name must be a string, not a number",
        "volumeMount is not a field of a container",
        "command is missing: without it a check would run the image's own program",
    ]
    .map(|problem| format!("imageChecks.template.{problem}"));
    assert_eq!(problems(&template), Some(expected.join("; ")));
}
