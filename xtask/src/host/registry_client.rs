//! Asks registries, with the client crate that Kubewarden uses. So a policy gets a registry's answer in the same words
//! as on a cluster.
//!
//! Four things differ from a real host on purpose:
//!
//! - The connection and each read have a time limit. In a real host, a registry that never answers blocks the policy
//!   for minutes, and also every other policy that waits for a host call.
//! - No answer is cached, because a run evaluates only one request.
//! - The error text doesn't depend on `RUST_BACKTRACE`.
//! - A registry on a loopback address is asked with HTTP. Docker has the same exception. A real host needs a list of
//!   such registries.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Result, anyhow};
use docker_credential::DockerCredential;
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference};
use serde_json::json;
use tokio::runtime::Runtime;

use super::registry::{Question, Registry};

/// A client of registries.
pub struct Registries {
    time_limit: Duration,
}

impl Registries {
    /// The time limit applies to a connection and to each read.
    pub fn new(time_limit: Duration) -> Self {
        Self { time_limit }
    }

    /// A client for one registry.
    ///
    /// # Errors
    /// If the system has no CA certificates.
    pub fn client(&self, registry: &str) -> Result<Client, OciDistributionError> {
        // It is no error if an earlier client has installed the same cryptography.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // `Client::new` would panic if the system has no CA certificates.
        Client::try_from(ClientConfig {
            protocol: if is_on_loopback(registry) {
                ClientProtocol::Http
            } else {
                ClientProtocol::Https
            },
            connect_timeout: Some(self.time_limit),
            read_timeout: Some(self.time_limit),
            ..ClientConfig::default()
        })
    }

    /// Asks a registry. The errors have the texts of the real host.
    async fn ask(&self, question: &Question) -> Result<String> {
        let (Question::OciManifestDigest { image } | Question::OciManifest { image }) = question;
        let reference: Reference = image.parse()?;
        let credentials = credentials(reference.registry());
        let ask = async {
            let client = self.client(reference.registry())?;
            Ok(match question {
                Question::OciManifestDigest { .. } => {
                    let digest = client.fetch_manifest_digest(&reference, &credentials);
                    json!({ "digest": digest.await? })
                }
                Question::OciManifest { .. } => {
                    json!(client.pull_manifest(&reference, &credentials).await?.0)
                }
            })
        };
        let answer: Result<_, OciDistributionError> = ask.await;
        let answer = answer.map_err(|error| {
            let text = format!("Fail to interact with OCI registry: {error}");
            anyhow!(error).context(text)
        });
        Ok(answer?.to_string())
    }
}

impl Registry for Registries {
    fn answer(&self, question: &Question) -> Result<String, String> {
        let answer = match runtime() {
            Ok(runtime) => runtime.block_on(self.ask(question)),
            Err(error) => Err(error.into()),
        };
        // The real host gives the policy the error as `{:?}`. With RUST_BACKTRACE this text includes the
        // host's stack, which is removed here.
        answer.map_err(|error| {
            let text = format!("{error:?}");
            let without_stack = text.split("\n\nStack backtrace:").next();
            without_stack.unwrap_or_default().to_owned()
        })
    }
}

/// The credentials for a registry in `$DOCKER_CONFIG`, else in `~/.docker`. Anonymous if none are usable.
pub fn credentials(registry: &str) -> RegistryAuth {
    match docker_credential::get_credential(registry) {
        Ok(DockerCredential::UsernamePassword(user, password)) => {
            RegistryAuth::Basic(user, password)
        }
        _ => RegistryAuth::Anonymous,
    }
}

/// The runtime on which a client sends its requests.
///
/// # Errors
/// If the system gives no resources for it.
pub fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Whether a registry's `host[:port]` is `localhost` or a loopback address.
fn is_on_loopback(registry: &str) -> bool {
    let host = match registry.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => registry,
    };
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_on_the_loopback() {
        for (registry, expected) in [
            ("localhost", true),
            ("localhost:5000", true),
            ("127.8.8.8:5000", true),
            ("[::1]:5000", true),
            ("localhost.example.com:5000", false),
            ("ghcr.io", false),
            ("192.0.2.1:5000", false),
        ] {
            assert_eq!(is_on_loopback(registry), expected, "{registry}");
        }
    }
}
