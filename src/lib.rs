//! consistent-pull-policy: a Kubewarden policy that keeps `imagePullPolicy` consistent between
//! image checks and the containers that they guard.
//!
//! The data moves one way: [`request`] reads what came in, [`rules`] say what every field should
//! be, [`answer`] turns that into a message or into the changed object. This file is the door to
//! waPC, and nothing else.

pub mod answer;
pub mod container_schema;
pub mod evaluate;
pub mod image;
pub mod json;
pub mod pattern;
pub mod pod;
pub mod pull_policy;
pub mod request;
pub mod rules;
pub mod sentence;
pub mod settings;

#[cfg(target_arch = "wasm32")]
mod guest {
    use wapc_guest::{CallResult, host_call, register_function};

    use crate::evaluate;
    use crate::json::{Reader, write_string};
    use crate::rules::registry::ManifestDigests;

    /// waPC calls this once, when the module is instantiated.
    #[allow(unsafe_code)]
    #[unsafe(no_mangle)]
    extern "C" fn wapc_init() {
        register_function("validate", |payload| {
            Ok(evaluate::validate(payload, &mut Host))
        });
        register_function("validate_settings", |payload| {
            Ok(evaluate::validate_settings(payload))
        });
        register_function("protocol_version", protocol_version);
    }

    #[allow(clippy::unnecessary_wraps)]
    fn protocol_version(_: &[u8]) -> CallResult {
        Ok(br#""v1""#.to_vec())
    }

    /// The host's capability `oci/v1/manifest_digest`.
    struct Host;

    impl ManifestDigests for Host {
        fn manifest_digest(&mut self, image: &str) -> Result<String, String> {
            let mut request = Vec::new();
            write_string(&mut request, image);
            let response = host_call("kubewarden", "oci", "v1/manifest_digest", &request)
                .map_err(|error| error.to_string())?;
            let mut digest = None;
            Reader::new(&response)
                .object(|reader, key| {
                    if key == b"digest" {
                        digest = Some(reader.string()?.value.into_owned());
                    } else {
                        reader.skip()?;
                    }
                    Ok(())
                })
                .map_err(|error| error.sentence())?;
            digest.ok_or_else(|| "the host gave no digest".to_owned())
        }
    }
}
