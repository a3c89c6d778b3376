//! Asks registries, in the words of Kubewarden's hosts.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Result, anyhow};
use docker_credential::DockerCredential;
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference};
use serde_json::json;

/// The longest wait for a connection to a registry, and for each part of its answer.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The digest of an image, as JSON.
pub(crate) async fn digest(image: &str) -> Result<String> {
    let image: Reference = image.parse()?;
    let client = client(image.registry()).map_err(as_a_host)?;
    let credentials = credentials(image.registry());
    let digest = client.fetch_manifest_digest(&image, &credentials).await;
    Ok(json!({ "digest": digest.map_err(as_a_host)? }).to_string())
}

/// The error with the text of Kubewarden's hosts.
fn as_a_host(error: OciDistributionError) -> anyhow::Error {
    let text = format!("Fail to interact with OCI registry: {error}");
    anyhow!(error).context(text)
}

/// A client for one registry. Unlike a host's, it has time limits, and a registry on a loopback
/// address is asked with HTTP, as Docker does.
pub(crate) fn client(registry: &str) -> Result<Client, OciDistributionError> {
    // It is no error if the cryptography is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // `Client::new` would panic if the system has no CA certificates.
    Client::try_from(ClientConfig {
        protocol: if is_on_loopback(registry) {
            ClientProtocol::Http
        } else {
            ClientProtocol::Https
        },
        connect_timeout: Some(TIME_LIMIT),
        read_timeout: Some(TIME_LIMIT),
        ..ClientConfig::default()
    })
}

/// The credentials for a registry in `$DOCKER_CONFIG`, else in `~/.docker`. Anonymous if none are
/// usable.
pub(crate) fn credentials(registry: &str) -> RegistryAuth {
    match docker_credential::get_credential(registry) {
        Ok(DockerCredential::UsernamePassword(user, password)) => {
            RegistryAuth::Basic(user, password)
        }
        _ => RegistryAuth::Anonymous,
    }
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
