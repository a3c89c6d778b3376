//! The fields of `imageChecks.template`, with `k8s-openapi`'s types as the oracle.

mod common;

use std::cell::RefCell;

use common::settings_problems;
use k8s_openapi::api::core::v1;
use serde::de::{Deserialize, Deserializer, Visitor};
use serde_json::{Value, json};

fn problems(template: &Value) -> Vec<String> {
    settings_problems(&json!({"imageChecks": {"template": template}}))
        .map(|problems| problems.split("; ").map(str::to_owned).collect())
        .unwrap_or_default()
}

/// A template that has every field that it may have.
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
fn every_field_of_the_table_is_a_field_of_kubernetes() {
    let template = full();
    assert_eq!(problems(&template), Vec::<String>::new());
    let mut container = template.clone();
    container["name"] = json!("imagecheck-0");
    let typed: v1::Container = serde_json::from_value(container.clone()).expect("a container");
    assert_eq!(serde_json::to_value(typed).expect("JSON"), container);
}

thread_local! {
    static FIELDS: RefCell<&'static [&'static str]> = const { RefCell::new(&[]) };
}

/// Asks a type for the names of its fields.
struct Names;

impl<'de> Deserializer<'de> for Names {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("only structs have fields"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        FIELDS.set(fields);
        Err(serde::de::Error::custom("only the names are wanted"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn fields<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    assert!(T::deserialize(Names).is_err());
    FIELDS.take()
}

#[test]
fn every_field_of_kubernetes_is_in_the_table() {
    type Inside = fn(Value) -> Value;
    let cases: [(&'static [&'static str], Inside); 20] = [
        (fields::<v1::EnvVar>(), |o| json!({"env": [o]})),
        (
            fields::<v1::EnvVarSource>(),
            |o| json!({"env": [{"valueFrom": o}]}),
        ),
        (
            fields::<v1::ConfigMapKeySelector>(),
            |o| json!({"env": [{"valueFrom": {"configMapKeyRef": o}}]}),
        ),
        (
            fields::<v1::SecretKeySelector>(),
            |o| json!({"env": [{"valueFrom": {"secretKeyRef": o}}]}),
        ),
        (
            fields::<v1::ObjectFieldSelector>(),
            |o| json!({"env": [{"valueFrom": {"fieldRef": o}}]}),
        ),
        (
            fields::<v1::FileKeySelector>(),
            |o| json!({"env": [{"valueFrom": {"fileKeyRef": o}}]}),
        ),
        (
            fields::<v1::ResourceFieldSelector>(),
            |o| json!({"env": [{"valueFrom": {"resourceFieldRef": o}}]}),
        ),
        (fields::<v1::EnvFromSource>(), |o| json!({"envFrom": [o]})),
        (
            fields::<v1::SecretEnvSource>(),
            |o| json!({"envFrom": [{"secretRef": o}]}),
        ),
        (fields::<v1::ContainerPort>(), |o| json!({"ports": [o]})),
        (
            fields::<v1::ContainerResizePolicy>(),
            |o| json!({"resizePolicy": [o]}),
        ),
        (
            fields::<v1::ResourceRequirements>(),
            |o| json!({"resources": o}),
        ),
        (
            fields::<v1::SecurityContext>(),
            |o| json!({"securityContext": o}),
        ),
        (
            fields::<v1::Capabilities>(),
            |o| json!({"securityContext": {"capabilities": o}}),
        ),
        (
            fields::<v1::SELinuxOptions>(),
            |o| json!({"securityContext": {"seLinuxOptions": o}}),
        ),
        (
            fields::<v1::SeccompProfile>(),
            |o| json!({"securityContext": {"seccompProfile": o}}),
        ),
        (
            fields::<v1::AppArmorProfile>(),
            |o| json!({"securityContext": {"appArmorProfile": o}}),
        ),
        (
            fields::<v1::WindowsSecurityContextOptions>(),
            |o| json!({"securityContext": {"windowsOptions": o}}),
        ),
        (
            fields::<v1::VolumeDevice>(),
            |o| json!({"volumeDevices": [o]}),
        ),
        (
            fields::<v1::VolumeMount>(),
            |o| json!({"volumeMounts": [o]}),
        ),
    ];
    for (names, inside) in cases {
        assert!(!names.is_empty());
        for name in names {
            let mut template = inside(json!({*name: null}));
            template["command"] = json!(["/check"]);
            assert_eq!(problems(&template), Vec::<String>::new(), "{template}");
        }
    }
    for name in fields::<v1::Container>() {
        let template = json!({"command": ["/check"], *name: "x"});
        let unknown = format!("imageChecks.template.{name} is not a field of a container");
        assert!(!problems(&template).contains(&unknown), "{name}");
    }
}

#[test]
fn what_is_wrong_with_a_template_is_told_with_its_path() {
    let cases = [
        (
            json!({"args": ["a"]}),
            "imageChecks.template.command is missing: without it a check would run the image's own program",
        ),
        (
            json!({"command": "/check"}),
            "imageChecks.template.command must be a list, not a string",
        ),
        (
            json!({"command": [1]}),
            "imageChecks.template.command[0] must be a string, not a number",
        ),
        (
            json!({"command": ["a"], "name": "x"}),
            "imageChecks.template.name can't be set: every added check has its own",
        ),
        (
            json!({"command": ["a"], "image": "x"}),
            "imageChecks.template.image can't be set: every added check has its own",
        ),
        (
            json!({"command": ["a"], "imagePullPolicy": "Always"}),
            "imageChecks.template.imagePullPolicy can't be set: every added check has its own",
        ),
        (
            json!({"command": ["a"], "livenessProbe": {}}),
            "imageChecks.template.livenessProbe can't be set: init containers have no probes and no lifecycle",
        ),
        (
            json!({"command": ["a"], "restartPolicy": "Always"}),
            "imageChecks.template.restartPolicy can't be set: a check has to run once and end",
        ),
        (
            json!({"command": ["a"], "resource": {}}),
            "imageChecks.template.resource is not a field of a container",
        ),
        (
            json!({"command": ["a"], "resources": {"limit": {}}}),
            "imageChecks.template.resources.limit is not a field of a container",
        ),
        (
            json!({"command": ["a"], "resources": {"limits": {"cpu": true}}}),
            "imageChecks.template.resources.limits.cpu must be a quantity such as 100m or 64Mi, not a boolean",
        ),
        (
            json!({"command": ["a"], "securityContext": {"runAsUser": 1.5}}),
            "imageChecks.template.securityContext.runAsUser must be a whole number, not a number",
        ),
        (
            json!({"command": ["a"], "volumeMounts": [{"name": "a"}, {"readOnly": "yes"}]}),
            "imageChecks.template.volumeMounts[1].readOnly must be true or false, not a string",
        ),
    ];
    for (template, expected) in cases {
        assert!(
            problems(&template).contains(&expected.to_owned()),
            "{template}: {:?}",
            problems(&template)
        );
    }
}
