//! The fields that an added check copies from an image check.

use serde::de::MapAccess;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Mount;
use crate::json::{self, Member, Members};

/// The fields that an added check copies from an image check. Ports, probes, resource claims and
/// devices are not copied. The environment is copied only if the command, the arguments or a mount
/// may use a variable.
#[derive(Clone, Debug, Default)]
pub struct CopiedCheckFields<'a> {
    command: Option<&'a str>,
    args: Option<&'a str>,
    working_dir: Option<&'a str>,
    env: Option<&'a str>,
    env_from: Option<&'a str>,
    requests: Option<&'a str>,
    limits: Option<&'a str>,
    volume_mounts: Option<&'a str>,
    security_context: Option<&'a str>,
    termination_message_path: Option<&'a str>,
    termination_message_policy: Option<&'a str>,
}

impl CopiedCheckFields<'_> {
    /// Whether the check's program comes from a mount of the check: the first word of `command` is an
    /// absolute path at or below a mount path. Any other program comes from the check's own image, and
    /// the image of an added check may not have this program.
    #[must_use]
    pub fn runs_program_of_a_mount(&self) -> bool {
        let command = read(self.command);
        let Some(program) = command.get(0).and_then(Value::as_str) else {
            return false;
        };
        let path = "volumeMounts";
        let mounts = json::read_object_list(self.volume_mounts.unwrap_or("null"), path, |_| {
            Mount::default()
        });
        let is_below = |mount: &Mount<'_>| {
            let mut parts = path_parts(program);
            let mut of_mount = path_parts(&mount.path).peekable();
            of_mount.peek().is_some() && of_mount.all(|part| parts.next() == Some(part))
        };
        program.starts_with('/')
            && !program.contains("..")
            && !program.contains('$')
            && mounts.is_ok_and(|mounts| mounts.iter().any(is_below))
    }

    /// The fields that are copied, each with its value as JSON text. Of `resources`, only the requests and
    /// the limits are copied, and only if `with_resources` is true.
    #[must_use]
    pub fn copied_fields(&self, with_resources: bool) -> Vec<(&'static str, String)> {
        let resources: Vec<String> = [("requests", self.requests), ("limits", self.limits)]
            .into_iter()
            .filter(|_| with_resources)
            .filter_map(|(key, value)| Some(format!("\"{key}\":{}", value?)))
            .collect();
        let resources = (!resources.is_empty()).then(|| format!("{{{}}}", resources.join(",")));
        let uses_environment = self.uses_environment();
        let field = |key, value: Option<&str>| Some((key, value?.to_owned()));
        [
            field("command", self.command),
            field("args", self.args),
            field("workingDir", self.working_dir),
            field("env", self.env.filter(|_| uses_environment)),
            field("envFrom", self.env_from.filter(|_| uses_environment)),
            resources.map(|resources| ("resources", resources)),
            field("volumeMounts", self.volume_mounts),
            field("securityContext", self.security_context),
            field("terminationMessagePath", self.termination_message_path),
            field("terminationMessagePolicy", self.termination_message_policy),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Whether a variable of the environment may be in the command, in the arguments or in the
    /// `subPathExpr` of a mount.
    fn uses_environment(&self) -> bool {
        let has_variable = |value: &Value| value.as_str().is_some_and(|text| text.contains('$'));
        let mounts = read(self.volume_mounts);
        let mut sub_paths = list(&mounts).filter_map(|mount| mount.get("subPathExpr"));
        sub_paths.any(has_variable)
            || [read(self.command), read(self.args)]
                .iter()
                .any(|words| list(words).any(has_variable))
    }
}

/// The value of a text, or `null` if there is no text.
fn read(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// The parts of a path, without empty parts and `.`.
fn path_parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !matches!(*part, "" | "."))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

impl<'a> Members<'a> for CopiedCheckFields<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        let field = match member.name() {
            "command" => &mut self.command,
            "args" => &mut self.args,
            "workingDir" => &mut self.working_dir,
            "env" => &mut self.env,
            "envFrom" => &mut self.env_from,
            "volumeMounts" => &mut self.volume_mounts,
            "securityContext" => &mut self.security_context,
            "terminationMessagePath" => &mut self.termination_message_path,
            "terminationMessagePolicy" => &mut self.termination_message_policy,
            "resources" => {
                let mut resources = ResourcesReader::default();
                if let Some(text) = member.read::<Option<&RawValue>>()? {
                    // If the value is not an object, there are no requests and no limits to copy.
                    let _ = json::read(text.get(), "resources", &mut resources);
                }
                (self.requests, self.limits) = (resources.requests, resources.limits);
                return Ok(());
            }
            _ => return member.skip(),
        };
        *field = member.read::<Option<&RawValue>>()?.map(RawValue::get);
        Ok(())
    }
}

/// `resources` of a container.
#[derive(Default)]
struct ResourcesReader<'a> {
    requests: Option<&'a str>,
    limits: Option<&'a str>,
}

impl<'a> Members<'a> for ResourcesReader<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        let field = match member.name() {
            "requests" => &mut self.requests,
            "limits" => &mut self.limits,
            _ => return member.skip(),
        };
        *field = member.read::<Option<&RawValue>>()?.map(RawValue::get);
        Ok(())
    }
}
