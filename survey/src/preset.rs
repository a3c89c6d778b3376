//! The presets, and the requests that the API server would send to their policies.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use cel::{Context, Env, Program};
use serde_json::{Value, json};

use crate::json::{documents, list, members, text};

/// A preset.
#[derive(Debug)]
pub struct Preset {
    /// Its name, without an extension.
    pub name: String,
    /// The paragraph after `# For:` in its header.
    pub purpose: String,
    /// The paragraph after `# Needs:`.
    pub needs: String,
    /// The lists in its settings that an operator has to replace, after `# Replace:`: the key of a
    /// section, and the key in it.
    pub(crate) replaced: Vec<(String, String)>,
    /// Its policy.
    pub policy: AdmissionPolicy,
}

/// A `ClusterAdmissionPolicy`.
#[derive(Debug)]
pub struct AdmissionPolicy {
    /// Its name in the cluster.
    pub name: String,
    /// Its spec.
    pub spec: Value,
    /// Whether it only audits: the API server sends it no request.
    pub is_audit: bool,
    /// The expressions of its `matchConditions`.
    conditions: Vec<Program>,
}

/// Presets that can't be combined: the installed one, the new one, and what to do.
pub(crate) type Pairs = BTreeMap<String, BTreeMap<String, String>>;

impl Preset {
    /// The preset in a file.
    ///
    /// # Errors
    /// It is no YAML, has no `ClusterAdmissionPolicy`, or one with an expression that is no CEL.
    pub(crate) fn new(name: &str, manifest: &str) -> Result<Self, String> {
        let documents = documents(manifest.as_bytes())?;
        let mut policies = documents.iter();
        let policy = policies.find(|it| text(it, "/kind") == "ClusterAdmissionPolicy");
        let policy = policy.ok_or("it has no ClusterAdmissionPolicy")?;
        let replaced = paragraph(manifest, "# Replace:");
        let paths = replaced.split('`').skip(1).step_by(2);
        let paths = paths.filter_map(|path| path.strip_prefix("settings.")?.split_once('.'));
        let paths = paths.map(|(section, key)| (section.to_owned(), key.to_owned()));
        Ok(Self {
            name: name.to_owned(),
            purpose: paragraph(manifest, "# For:").replace('`', ""),
            needs: paragraph(manifest, "# Needs:").replace('`', ""),
            replaced: paths.collect(),
            policy: AdmissionPolicy::new(policy)?,
        })
    }

    /// Whether its policy looks images up.
    pub(crate) fn asks_registries(&self) -> bool {
        !["", "Off"].contains(&text(self.policy.settings(), "/registry/lookup"))
    }

    /// The oldest Kubernetes (1.x) that the preset works with, as far as its own fields tell.
    pub(crate) fn kubernetes(&self) -> u32 {
        if self.has_image_volumes() {
            // Image volumes are on by default since 1.35.
            35
        } else if self.policy.conditions.is_empty() {
            0
        } else {
            // `matchConditions` of webhooks are stable since 1.30.
            30
        }
    }

    /// Whether its policy adds image volumes.
    pub(crate) fn has_image_volumes(&self) -> bool {
        text(self.policy.settings(), "/imageChecks/type") == "ImageVolume"
    }
}

/// The paragraph of a header that begins with these words, in one line.
fn paragraph(manifest: &str, start: &str) -> String {
    let header = manifest.lines().take_while(|line| line.starts_with('#'));
    let mut words = Vec::new();
    let mut is_inside = false;
    for line in header {
        if let Some(first) = line.strip_prefix(start) {
            is_inside = true;
            words.extend(first.split_whitespace());
        } else if let Some(more) = line.strip_prefix("#  ").filter(|_| is_inside) {
            words.extend(more.split_whitespace());
        } else {
            is_inside = false;
        }
    }
    words.join(" ")
}

impl AdmissionPolicy {
    /// The policy in a manifest.
    ///
    /// # Errors
    /// An expression of its `matchConditions` is no CEL.
    pub fn new(manifest: &Value) -> Result<Self, String> {
        let spec = manifest.get("spec").unwrap_or(&Value::Null);
        let mut conditions = Vec::new();
        for condition in list(spec, "/matchConditions") {
            let expression = text(condition, "/expression");
            let program = ENV.compile(expression);
            conditions.push(program.map_err(|error| format!("{expression}: {error}"))?);
        }
        Ok(Self {
            name: text(manifest, "/metadata/name").to_owned(),
            spec: spec.clone(),
            // No request meets this condition, and the audit scanner reads no conditions.
            is_audit: list(spec, "/matchConditions")
                .iter()
                .any(|condition| text(condition, "/expression") == "false"),
            conditions,
        })
    }

    /// Its settings.
    pub fn settings(&self) -> &Value {
        self.spec.get("settings").unwrap_or(&Value::Null)
    }

    /// Whether it can change objects.
    pub fn is_mutating(&self) -> bool {
        self.spec.get("mutating") == Some(&Value::Bool(true))
    }

    /// The keys of the labels whose values the policy compares, and the names of the volumes that its
    /// check template mounts.
    pub(crate) fn compared(&self) -> impl Iterator<Item = &str> {
        let keys = members(&self.spec, "/objectSelector/matchLabels").map(|(key, _)| &**key);
        let expressions = list(&self.spec, "/objectSelector/matchExpressions").iter();
        let expressions = expressions.filter(|it| !list(it, "/values").is_empty());
        let mounts = list(self.settings(), "/imageChecks/template/volumeMounts").iter();
        keys.chain(expressions.map(|it| text(it, "/key")))
            .chain(mounts.map(|mount| text(mount, "/name")))
    }

    /// Whether the API server sends the request to this policy; if it only audits, whether the audit
    /// scanner does.
    pub fn selects(&self, request: &AdmissionRequest<'_>) -> bool {
        let labels = request.request.pointer("/object/metadata/labels");
        let selector = |key| self.spec.get(key).unwrap_or(&Value::Null);
        self.has_rule_for(request.request)
            && is_selected(selector("namespaceSelector"), request.namespace)
            && is_selected(selector("objectSelector"), labels.unwrap_or(&Value::Null))
            && (self.is_audit
                || self
                    .conditions
                    .iter()
                    .all(|condition| request.meets(condition)))
    }

    fn has_rule_for(&self, request: &Value) -> bool {
        let resource = match (
            text(request, "/resource/resource"),
            text(request, "/subResource"),
        ) {
            (resource, "") => resource.to_owned(),
            (resource, part) => format!("{resource}/{part}"),
        };
        let names = [
            ("/apiGroups", text(request, "/resource/group")),
            ("/apiVersions", text(request, "/resource/version")),
            ("/resources", &resource),
            ("/operations", text(request, "/operation")),
        ];
        list(&self.spec, "/rules").iter().any(|rule| {
            names.iter().all(|(key, name)| {
                let mut listed = list(rule, key).iter();
                listed.any(|listed| listed == name || listed == "*")
            })
        })
    }
}

/// The functions of CEL.
static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// A request, and what the conditions of policies need of it.
pub struct AdmissionRequest<'r> {
    request: &'r Value,
    /// The labels of its namespace.
    namespace: &'r Value,
    context: Context<'static, 'static>,
}

impl<'r> AdmissionRequest<'r> {
    /// A request about an object in a namespace with these labels.
    pub fn new(request: &'r Value, namespace: &'r Value) -> Self {
        let mut context = Context::with_env(Arc::clone(&ENV));
        for (name, path) in [
            ("request", ""),
            ("object", "/object"),
            ("oldObject", "/oldObject"),
        ] {
            let value = request.pointer(path).unwrap_or(&Value::Null);
            // Each value of JSON is one of CEL.
            let value = cel::to_value(value).unwrap_or(cel::Value::Null);
            context.add_variable_from_value(name, value);
        }
        Self {
            request,
            namespace,
            context,
        }
    }

    /// Whether the request meets a condition. If its expression fails, it doesn't: the policies of
    /// the presets have no such expression.
    fn meets(&self, condition: &Program) -> bool {
        matches!(condition.execute(&self.context), Ok(cel::Value::Bool(true)))
    }
}

/// Whether a label selector matches these labels.
pub fn is_selected(selector: &Value, labels: &Value) -> bool {
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    members(selector, "/matchLabels").all(|(key, value)| label(key) == value.as_str())
        && list(selector, "/matchExpressions")
            .iter()
            .all(|expression| {
                let label = label(text(expression, "/key"));
                let mut values = list(expression, "/values").iter();
                let mut is_listed =
                    || label.is_some() && values.any(|value| value.as_str() == label);
                match text(expression, "/operator") {
                    "Exists" => label.is_some(),
                    "DoesNotExist" => label.is_none(),
                    "In" => is_listed(),
                    "NotIn" => !is_listed(),
                    _ => false,
                }
            })
}

/// The labels of the namespaces: those of the Namespaces that are there, and the one with the name,
/// which the API server gives to each.
#[derive(Debug, Default)]
pub(crate) struct Namespaces(BTreeMap<String, Value>);

impl Namespaces {
    pub(crate) fn add(&mut self, namespace: &Value) {
        let name = text(namespace, "/metadata/name").to_owned();
        let mut labels = self.labels(&name);
        let others =
            members(namespace, "/metadata/labels").map(|(key, value)| (key.clone(), value.clone()));
        if let Some(labels) = labels.as_object_mut() {
            labels.extend(others);
        }
        self.0.insert(name, labels);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn labels(&self, name: &str) -> Value {
        let known = self.0.get(name).cloned();
        known.unwrap_or_else(|| json!({"kubernetes.io/metadata.name": name}))
    }
}
