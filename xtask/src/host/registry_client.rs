//! Asks registries, with the client crate that Kubewarden uses. So a policy gets a registry's answer in
//! the same words as on a cluster.
//!
//! Three things differ from a real host, such as policy-server, on purpose:
//!
//! - The connection and each read can have a time limit. In a real host, a registry that never answers
//!   blocks the policy for minutes, and also every other policy that waits for a host call.
//! - No answer is cached, because a run evaluates only one request.
//! - The error text doesn't depend on `RUST_BACKTRACE`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow};
use docker_credential::{CredentialRetrievalError, DockerCredential};
use oci_client::client::{Certificate, ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference};
use serde_json::json;
use tokio::runtime::Runtime;

use super::registry_calls::{Registries, RegistryCall, RegistryFailure};
use super::sources::Sources;

/// A client of registries.
pub(crate) struct RegistryClient {
    sources: Sources,
    docker_config: Option<PathBuf>,
    time_limit: Option<Duration>,
    verbose: bool,
}

/// A protocol for the connection to a registry.
pub(crate) enum Transport {
    /// HTTPS, with the system's certificate authorities and these additional ones.
    Https(Vec<Certificate>),
    /// HTTPS, with any certificate.
    HttpsUnverified,
    /// HTTP.
    Http,
}

impl RegistryClient {
    /// `docker_config` is a directory with Docker's `config.json`, or the path of such a file. The default is
    /// `$DOCKER_CONFIG`, else `~/.docker`. `time_limit` applies to a connection and to each read.
    pub(crate) fn new(
        sources: Sources,
        docker_config: Option<&Path>,
        time_limit: Option<Duration>,
        verbose: bool,
    ) -> Self {
        let docker_config = docker_config.map(|path| {
            if path.is_dir() {
                path.join("config.json")
            } else {
                path.to_owned()
            }
        });
        Self {
            sources,
            docker_config,
            time_limit,
            verbose,
        }
    }

    /// A client with this protocol.
    pub(crate) fn client(&self, transport: &Transport) -> Result<Client, OciDistributionError> {
        let proxies = self.sources.proxies();
        let mut config = ClientConfig {
            http_proxy: proxies.http,
            https_proxy: proxies.https,
            no_proxy: proxies.exceptions,
            connect_timeout: self.time_limit,
            read_timeout: self.time_limit,
            ..ClientConfig::default()
        };
        match transport {
            Transport::Https(certificates) => {
                config.extra_root_certificates.clone_from(certificates);
            }
            Transport::HttpsUnverified => config.accept_invalid_certificates = true,
            Transport::Http => config.protocol = ClientProtocol::Http,
        }
        // `Client::new` returns no error. If `config` is wrong, it uses the default configuration instead,
        // and panics if the system has no CA certificates.
        Client::try_from(config)
    }

    /// The credentials in Docker's configuration for a registry. Anonymous if none are usable.
    pub(crate) fn credentials(&self, registry: &str) -> RegistryAuth {
        let credential = match &self.docker_config {
            Some(path) => match File::open(path) {
                Ok(file) => docker_credential::get_credential_from_reader(file, registry),
                Err(error) => {
                    eprintln!(
                        "WARN no Docker configuration at {}: {error}",
                        path.display()
                    );
                    Err(CredentialRetrievalError::ConfigNotFound)
                }
            },
            None => docker_credential::get_credential(registry),
        };
        match credential {
            Ok(DockerCredential::UsernamePassword(user, password)) => {
                RegistryAuth::Basic(user, password)
            }
            Ok(DockerCredential::IdentityToken(_)) => {
                eprintln!(
                    "WARN identity tokens are not supported, {registry} is asked anonymously"
                );
                RegistryAuth::Anonymous
            }
            Err(error) => {
                if self.verbose {
                    eprintln!("DEBUG no credentials for {registry}: {error}");
                }
                RegistryAuth::Anonymous
            }
        }
    }

    /// The protocols to try with a registry, in order. HTTPS with a valid certificate comes first.
    /// Unverified HTTPS and HTTP follow only if the sources file lists the registry as insecure, or if the
    /// caller sets `trusted`.
    pub(crate) fn transports(&self, registry: &str, trusted: bool) -> Result<Vec<Transport>> {
        let mut transports = vec![Transport::Https(self.sources.certificates(registry)?)];
        if trusted || self.sources.insecure.contains(registry) {
            transports.extend([Transport::HttpsUnverified, Transport::Http]);
        }
        Ok(transports)
    }

    /// Asks the registry with each protocol until one succeeds. The errors have the texts of the real host.
    async fn fetch(&self, call: &RegistryCall) -> Result<String> {
        let (RegistryCall::OciManifestDigest { image } | RegistryCall::OciManifest { image }) =
            call;
        let reference: Reference = image.parse()?;
        // The real host parses this URL to find host and port, and fails if the port is invalid.
        url::Url::parse(&format!("registry://{reference}"))?;
        let registry = reference.registry();
        let credentials = self.credentials(registry);
        let transports = self
            .transports(registry, false)
            .map_err(|error| anyhow!("{error:#}"))?;
        let mut last = anyhow!("the registry was not asked");
        for transport in &transports {
            let answer = match self.client(transport) {
                Ok(client) => match call {
                    RegistryCall::OciManifestDigest { .. } => client
                        .fetch_manifest_digest(&reference, &credentials)
                        .await
                        .map(|digest| json!({ "digest": digest })),
                    RegistryCall::OciManifest { .. } => client
                        .pull_manifest(&reference, &credentials)
                        .await
                        .map(|(manifest, _)| json!(manifest)),
                },
                Err(error) => Err(error),
            };
            match answer {
                Ok(answer) => return Ok(answer.to_string()),
                Err(error) => {
                    if self.verbose {
                        eprintln!("DEBUG {registry}: {error}");
                    }
                    let text = format!("Fail to interact with OCI registry: {error}");
                    last = anyhow::Error::new(error).context(text);
                }
            }
        }
        Err(last)
    }
}

impl Registries for RegistryClient {
    fn answer(&self, call: &RegistryCall) -> Result<String, RegistryFailure> {
        let answer = match runtime() {
            Ok(runtime) => runtime.block_on(self.fetch(call)),
            Err(error) => Err(error.into()),
        };
        // The real host gives the policy the error as `{:?}`. With RUST_BACKTRACE this text includes the
        // host's stack, which is removed here.
        answer.map_err(|error| {
            let debug = format!("{error:?}");
            let details = debug.split("\n\nStack backtrace:").next();
            RegistryFailure {
                details: details.unwrap_or_default().to_owned(),
                summary: error.to_string(),
            }
        })
    }
}

/// The tokio runtime on which a client sends its requests.
pub(crate) fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(image: &str) -> RegistryFailure {
        let registries = RegistryClient::new(
            Sources::default(),
            None,
            Some(Duration::from_secs(5)),
            false,
        );
        let image = image.to_owned();
        let digest = RegistryCall::OciManifestDigest { image };
        registries.answer(&digest).expect_err("no registry there")
    }

    #[test]
    fn an_invalid_reference_is_refused_without_a_request() {
        for (image, expected) in [
            ("nginx:", "invalid reference format"),
            ("", "repository name must have at least one component"),
            ("localhost:99999/x", "invalid port number"),
        ] {
            assert_eq!(ask(image).details, expected, "{image}");
        }
    }

    #[test]
    fn a_refused_connection_is_reported_with_its_causes() {
        // No program listens on port 1 of the loopback, and an IP address needs no name resolution.
        let failure = ask("127.0.0.1:1/a/b:t");
        assert!(
            failure.summary.starts_with(
                "Fail to interact with OCI registry: error sending request for url (https://127.0.0.1:1/v2/"
            ),
            "{}",
            failure.summary
        );
        assert!(
            failure
                .details
                .contains("\n\nCaused by:\n    0: error sending request"),
            "{}",
            failure.details
        );
    }
}
