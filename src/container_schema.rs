//! The fields of an init container that an image check may have, and their types.
//!
//! A misspelt field in `imageChecks.template` would be dropped or rejected by the API server in
//! every Pod that gets a check, so it is found when the settings are. Source: `Container` of the
//! Kubernetes API v1.36; the tests hold the table against `k8s-openapi`'s types, which would
//! themselves cost the module more than everything else in it (`docs/performance.md`).

use crate::json::{Error, Kind, Reader};
use crate::sentence::{fill, shorten, text};

/// The type of a field.
enum Type {
    String,
    Boolean,
    Integer,
    /// A Kubernetes quantity: a string or a number.
    Quantity,
    List(&'static Type),
    Map(&'static Type),
    Object(&'static [(&'static str, Type)]),
    /// A field that a check can't have, and why.
    Forbidden(&'static str),
}

use Type::{Boolean, Forbidden, Integer, List, Map, Object, Quantity};

const STRING: Type = Type::String;
const PER_CHECK: &str = "can't be set: every added check has its own";
const NO_PROBES: &str = "can't be set: init containers have no probes and no lifecycle";
const NO_RESTART: &str = "can't be set: a check has to run once and end";

const CONTAINER: Type = Object(&[
    ("name", Forbidden(PER_CHECK)),
    ("image", Forbidden(PER_CHECK)),
    ("imagePullPolicy", Forbidden(PER_CHECK)),
    ("lifecycle", Forbidden(NO_PROBES)),
    ("livenessProbe", Forbidden(NO_PROBES)),
    ("readinessProbe", Forbidden(NO_PROBES)),
    ("startupProbe", Forbidden(NO_PROBES)),
    ("restartPolicy", Forbidden(NO_RESTART)),
    ("restartPolicyRules", Forbidden(NO_RESTART)),
    ("args", List(&STRING)),
    ("command", List(&STRING)),
    ("env", List(&ENV_VAR)),
    ("envFrom", List(&ENV_FROM)),
    ("ports", List(&PORT)),
    (
        "resizePolicy",
        List(&Object(&[
            ("resourceName", STRING),
            ("restartPolicy", STRING),
        ])),
    ),
    (
        "resources",
        Object(&[
            (
                "claims",
                List(&Object(&[("name", STRING), ("request", STRING)])),
            ),
            ("limits", Map(&Quantity)),
            ("requests", Map(&Quantity)),
        ]),
    ),
    ("securityContext", SECURITY_CONTEXT),
    ("stdin", Boolean),
    ("stdinOnce", Boolean),
    ("terminationMessagePath", STRING),
    ("terminationMessagePolicy", STRING),
    ("tty", Boolean),
    (
        "volumeDevices",
        List(&Object(&[("devicePath", STRING), ("name", STRING)])),
    ),
    (
        "volumeMounts",
        List(&Object(&[
            ("mountPath", STRING),
            ("mountPropagation", STRING),
            ("name", STRING),
            ("readOnly", Boolean),
            ("recursiveReadOnly", STRING),
            ("subPath", STRING),
            ("subPathExpr", STRING),
        ])),
    ),
    ("workingDir", STRING),
]);

const KEY_REF: Type = Object(&[("key", STRING), ("name", STRING), ("optional", Boolean)]);
const NAME_REF: Type = Object(&[("name", STRING), ("optional", Boolean)]);

const ENV_VAR: Type = Object(&[
    ("name", STRING),
    ("value", STRING),
    (
        "valueFrom",
        Object(&[
            ("configMapKeyRef", KEY_REF),
            (
                "fieldRef",
                Object(&[("apiVersion", STRING), ("fieldPath", STRING)]),
            ),
            (
                "fileKeyRef",
                Object(&[
                    ("key", STRING),
                    ("optional", Boolean),
                    ("path", STRING),
                    ("volumeName", STRING),
                ]),
            ),
            (
                "resourceFieldRef",
                Object(&[
                    ("containerName", STRING),
                    ("divisor", Quantity),
                    ("resource", STRING),
                ]),
            ),
            ("secretKeyRef", KEY_REF),
        ]),
    ),
]);

const ENV_FROM: Type = Object(&[
    ("configMapRef", NAME_REF),
    ("prefix", STRING),
    ("secretRef", NAME_REF),
]);

const PORT: Type = Object(&[
    ("containerPort", Integer),
    ("hostIP", STRING),
    ("hostPort", Integer),
    ("name", STRING),
    ("protocol", STRING),
]);

const PROFILE: Type = Object(&[("localhostProfile", STRING), ("type", STRING)]);

const SECURITY_CONTEXT: Type = Object(&[
    ("allowPrivilegeEscalation", Boolean),
    ("appArmorProfile", PROFILE),
    (
        "capabilities",
        Object(&[("add", List(&STRING)), ("drop", List(&STRING))]),
    ),
    ("privileged", Boolean),
    ("procMount", STRING),
    ("readOnlyRootFilesystem", Boolean),
    ("runAsGroup", Integer),
    ("runAsNonRoot", Boolean),
    ("runAsUser", Integer),
    (
        "seLinuxOptions",
        Object(&[
            ("level", STRING),
            ("role", STRING),
            ("type", STRING),
            ("user", STRING),
        ]),
    ),
    ("seccompProfile", PROFILE),
    (
        "windowsOptions",
        Object(&[
            ("gmsaCredentialSpec", STRING),
            ("gmsaCredentialSpecName", STRING),
            ("hostProcess", Boolean),
            ("runAsUserName", STRING),
        ]),
    ),
]);

/// Checks the container that comes next, and adds what is wrong with it to `problems`, each with
/// its path below `path`.
pub fn check(reader: &mut Reader<'_>, path: &str, problems: &mut Vec<String>) {
    let mut command = false;
    let mut ahead = reader.clone();
    let read = ahead.object(|reader, key| {
        if key != b"command" {
            return reader.skip().map(drop);
        }
        let found = reader.peek()?;
        if found != Kind::List {
            // Of the wrong type, which is told below, it is not missing.
            command = found != Kind::Null;
            return reader.skip().map(drop);
        }
        reader
            .list(|reader, _| {
                command = true;
                reader.skip().map(drop)
            })
            .map(drop)
    });
    let result = read.and_then(|_| check_type(reader, &CONTAINER, path, problems));
    match result {
        Err(error) => problems.push(fill("{}: {}", &[path, &error.sentence()])),
        Ok(()) if !command => problems.push(fill(
            "{}.command is missing: without it a check would run the image's own program",
            &[path],
        )),
        Ok(()) => {}
    }
}

/// Checks one value. Only broken JSON ends it.
fn check_type(
    reader: &mut Reader<'_>,
    wanted: &Type,
    path: &str,
    problems: &mut Vec<String>,
) -> Result<(), Error> {
    let found = reader.peek()?;
    if let Forbidden(reason) = wanted {
        problems.push(fill("{} {}", &[path, reason]));
        reader.skip()?;
        return Ok(());
    }
    if found == Kind::Null {
        reader.skip()?;
        return Ok(());
    }
    let (name, fits) = match wanted {
        Type::String => ("a string", found == Kind::String),
        Boolean => ("true or false", found == Kind::Boolean),
        Integer => {
            let text = reader.clone().skip()?.of(reader.text());
            let whole = std::str::from_utf8(text).is_ok_and(|text| text.parse::<i64>().is_ok());
            ("a whole number", found == Kind::Number && whole)
        }
        Quantity => (
            "a quantity such as 100m or 64Mi",
            matches!(found, Kind::String | Kind::Number),
        ),
        List(_) => ("a list", found == Kind::List),
        Map(_) | Object(_) | Forbidden(_) => ("an object", found == Kind::Object),
    };
    if !fits {
        problems.push(fill("{} must be {}, not {}", &[path, name, found.name()]));
        reader.skip()?;
        return Ok(());
    }
    match wanted {
        List(element) => reader
            .list(|reader, index| {
                let path = fill("{}[{}]", &[path, &index.to_string()]);
                check_type(reader, element, &path, problems)
            })
            .map(drop),
        Map(value) => reader
            .object(|reader, key| {
                let path = fill("{}.{}", &[path, &shorten(text(key), 60)]);
                check_type(reader, value, &path, problems)
            })
            .map(drop),
        Object(fields) => reader
            .object(|reader, key| {
                let path = fill("{}.{}", &[path, &shorten(text(key), 60)]);
                if let Some((_, wanted)) = fields.iter().find(|(name, _)| name.as_bytes() == key) {
                    check_type(reader, wanted, &path, problems)
                } else {
                    problems.push(fill("{} is not a field of a container", &[&path]));
                    reader.skip().map(drop)
                }
            })
            .map(drop),
        Type::String | Boolean | Integer | Quantity | Forbidden(_) => reader.skip().map(drop),
    }
}
