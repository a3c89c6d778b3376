//! What registries know, on the client crate that Kubewarden uses, so that a
//! policy hears of a registry's answer in the same words as on a cluster.
//!
//! Three things differ from the real host on purpose: requests have a time limit (there a registry
//! that never answers holds the policy, and each policy after it, for minutes), nothing is cached
//! (a run is one request), and the error text is the same whether or not `RUST_BACKTRACE` is set.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use docker_credential::{CredentialRetrievalError, DockerCredential};
use oci_client::client::{Certificate, ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference};
use serde_json::json;
use tokio::runtime::Runtime;

use super::functions::{Failure, Question, Registries};
use super::sources::Sources;

/// Answers from the registries themselves.
pub(crate) struct RealRegistries {
    sources: Sources,
    docker_config: Option<PathBuf>,
    time_limit: Option<Duration>,
    verbose: bool,
}

/// One way to speak to a registry.
pub(crate) enum Attempt {
    /// With the system's certificate authorities and these.
    Https(Vec<Certificate>),
    /// With any certificate.
    HttpsUnverified,
    /// Without TLS.
    Http,
}

impl RealRegistries {
    /// `docker_config` is a directory with Docker's `config.json`, or such a file; without it
    /// `$DOCKER_CONFIG` and `~/.docker` count. `time_limit` is for connecting and for each read.
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

    /// A client that speaks so.
    pub(crate) fn client(&self, attempt: &Attempt) -> Result<Client, OciDistributionError> {
        let proxies = self.sources.proxies();
        let mut config = ClientConfig {
            http_proxy: proxies.http,
            https_proxy: proxies.https,
            no_proxy: proxies.exceptions,
            connect_timeout: self.time_limit,
            read_timeout: self.time_limit,
            ..ClientConfig::default()
        };
        match attempt {
            Attempt::Https(certificates) => {
                config.extra_root_certificates.clone_from(certificates);
            }
            Attempt::HttpsUnverified => config.accept_invalid_certificates = true,
            Attempt::Http => config.protocol = ClientProtocol::Http,
        }
        // `Client::new` would panic where the system has no CA certificates.
        Client::try_from(config)
    }

    /// What Docker's configuration has for a registry.
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

    /// The ways to speak to a registry, best first. The worse ones only where the sources file calls
    /// it insecure, or somebody else `trusts` it.
    pub(crate) fn attempts(&self, registry: &str, trusted: bool) -> Result<Vec<Attempt>> {
        let mut attempts = vec![Attempt::Https(self.sources.certificates(registry)?)];
        if trusted || self.sources.insecure.contains(registry) {
            attempts.extend([Attempt::HttpsUnverified, Attempt::Http]);
        }
        Ok(attempts)
    }

    async fn fetch(
        &self,
        reference: &Reference,
        question: &Question,
    ) -> Result<String, RegistryError> {
        // What the real host parses to find host and port: a port that is none fails here.
        url::Url::parse(&format!("registry://{reference}")).map_err(RegistryError::Url)?;
        let registry = reference.registry();
        let credentials = self.credentials(registry);
        let attempts = self
            .attempts(registry, false)
            .map_err(|error| RegistryError::Certificate(format!("{error:#}")))?;
        let mut last = None;
        for attempt in &attempts {
            let answer = match self.client(attempt) {
                Ok(client) => match question {
                    Question::OciManifestDigest { .. } => client
                        .fetch_manifest_digest(reference, &credentials)
                        .await
                        .map(|digest| json!({ "digest": digest })),
                    Question::OciManifest { .. } => client
                        .pull_manifest(reference, &credentials)
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
                    last = Some(error);
                }
            }
        }
        Err(last.map_or(RegistryError::NoAttempt, RegistryError::Oci))
    }
}

impl Registries for RealRegistries {
    fn ask(&self, question: &Question) -> Result<String, Failure> {
        let (Question::OciManifestDigest { image } | Question::OciManifest { image }) = question;
        let reference: Reference = image.parse().map_err(describe)?;
        let runtime = runtime().map_err(describe)?;
        runtime
            .block_on(self.fetch(&reference, question))
            .map_err(describe)
    }
}

/// What drives a client's requests.
pub(crate) fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Gives the client's errors the words that the real host puts before them.
#[derive(Debug)]
enum RegistryError {
    Url(url::ParseError),
    Certificate(String),
    Oci(OciDistributionError),
    NoAttempt,
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(error) => error.fmt(f),
            Self::Certificate(error) => f.write_str(error),
            Self::Oci(error) => write!(f, "Fail to interact with OCI registry: {error}"),
            Self::NoAttempt => f.write_str("the registry was not asked"),
        }
    }
}

impl Error for RegistryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Oci(error) => Some(error),
            _ => None,
        }
    }
}

/// An error in one line, and with its causes as `anyhow` lays them out in `{:?}`, which is what the
/// real host hands to the policy; there `RUST_BACKTRACE` would add the host's stack.
fn describe(error: impl Error + Send + Sync + 'static) -> Failure {
    let summary = error.to_string();
    let debug = format!("{:?}", anyhow::Error::new(error));
    let details = debug.split("\n\nStack backtrace:").next();
    Failure {
        details: details.unwrap_or_default().to_owned(),
        summary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(image: &str) -> Failure {
        let registries = RealRegistries::new(
            Sources::default(),
            None,
            Some(Duration::from_secs(5)),
            false,
        );
        let image = image.to_owned();
        let digest = Question::OciManifestDigest { image };
        registries.ask(&digest).expect_err("no registry there")
    }

    #[test]
    fn a_reference_that_is_none_is_refused_before_any_registry_is_asked() {
        for (image, expected) in [
            ("nginx:", "invalid reference format"),
            ("", "repository name must have at least one component"),
            ("localhost:99999/x", "invalid port number"),
        ] {
            assert_eq!(ask(image).details, expected, "{image}");
        }
    }

    #[test]
    fn a_refused_connection_is_told_with_its_causes() {
        // Port 1 of the loopback: nothing listens there, and no name has to be resolved.
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
