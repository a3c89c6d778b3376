//! Policies in registries, in the format of `kwctl push`: an OCI image manifest with the module as its
//! only layer, and with annotations from the metadata.
//!
//! The media types are those that Kubewarden's hosts accept. These hosts refuse the newer format of the
//! Wasm working group. The manifest contains no time, so it always has the same digest for the same
//! module.
//!
//! A registry on a loopback address may use HTTP without an entry in the file of `--sources-path`. Docker
//! has the same exception.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use indicatif::{ProgressBar, ProgressFinish};
use oci_client::client::{Config, ImageLayer};
use oci_client::errors::{OciDistributionError, OciErrorCode};
use oci_client::manifest::{OciImageManifest, WASM_CONFIG_MEDIA_TYPE, WASM_LAYER_MEDIA_TYPE};
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference};
use tokio::signal;

use crate::host::registry_client::{RegistryClient, runtime};
use crate::module::metadata::Metadata;

/// The scheme that Kubewarden puts before a reference.
const SCHEME: &str = "registry://";

/// Kubewarden's annotation with the address of the source.
const SOURCE: &str = "io.kubewarden.policy.source";
/// OCI's annotation with the address of the source.
const OCI_SOURCE: &str = "org.opencontainers.image.source";

/// The first bytes of each WebAssembly module.
const MAGIC: &[u8] = b"\0asm";

/// Whether an argument names a policy in a registry.
pub(crate) fn is_in_registry(uri: &str) -> bool {
    uri.starts_with(SCHEME)
}

/// A reference without Kubewarden's scheme, as other tools write it.
pub(crate) fn without_scheme(uri: &str) -> &str {
    uri.strip_prefix(SCHEME).unwrap_or(uri)
}

/// Reads `[registry://][host/]repository[:tag][@digest]`. The default host is `docker.io`.
///
/// # Errors
/// When the text is no such reference.
pub(crate) fn reference(uri: &str) -> Result<Reference> {
    without_scheme(uri).parse().map_err(|error| {
        anyhow!(
            "'{uri}' names no place in a registry ({error}): write for instance \
             {SCHEME}ghcr.io/owner/policies/name:v1.0.0"
        )
    })
}

/// The annotations of the manifest: the metadata's annotations that have at most one line, and OCI's
/// annotation for the source. `None` if there is no metadata, or if it has no annotations.
fn annotations(metadata: Option<Metadata>) -> Option<BTreeMap<String, String>> {
    let mut annotations: BTreeMap<String, String> = metadata?
        .annotations?
        .into_iter()
        .filter(|(_, value)| value.lines().count() <= 1)
        .map(|(key, value)| (key, value.trim().to_owned()))
        .collect();
    if let Some(source) = annotations.get(SOURCE).cloned() {
        annotations.entry(OCI_SOURCE.to_owned()).or_insert(source);
    }
    Some(annotations)
}

/// Stores a module under a tag, and returns its immutable reference, `registry://…@sha256:…`.
///
/// The manifest is pushed last, so an interrupted push doesn't change the tag.
///
/// # Errors
/// When the reference is invalid or has a digest, when `module` is no module, when the module is not
/// annotated and `force` is not set, or when the push fails.
pub(crate) fn push(
    registries: &RegistryClient,
    uri: &str,
    module: Vec<u8>,
    force: bool,
) -> Result<String> {
    let target = reference(uri)?;
    if target.digest().is_some() {
        bail!("'{uri}' has a digest, which only the push determines: name a tag instead");
    }
    if !module.starts_with(MAGIC) {
        bail!("this is not a WebAssembly module");
    }
    let metadata = Metadata::of_module(&module)?;
    if metadata.is_none() && !force {
        bail!(
            "the module is not annotated, so that no host would know its rules: push \
             annotated-policy.wasm, or use --force"
        );
    }
    let _progress = progress(&format!("pushing {} bytes to {target}", module.len()));
    let media_type = WASM_LAYER_MEDIA_TYPE.to_owned();
    let layers = [ImageLayer::new(module, media_type, None)];
    let config = Config::new(&b"{}"[..], WASM_CONFIG_MEDIA_TYPE.to_owned(), None);
    let manifest = OciImageManifest::build(&layers, &config, annotations(metadata));
    let url = with_registry(registries, &target, &async |client, credentials| {
        let (config, manifest) = (config.clone(), Some(manifest.clone()));
        let pushed = client.push(&target, &layers, config, credentials, manifest);
        Ok(pushed.await?.manifest_url)
    })
    .with_context(|| format!("cannot push to {target}"))?;
    // The address of the stored manifest ends in its digest.
    let digest = url
        .rsplit_once('/')
        .map(|(_, digest)| digest)
        .filter(|digest| digest.starts_with("sha256:"))
        .with_context(|| format!("the registry gives no digest of the stored manifest: {url}"))?;
    Ok(format!(
        "{SCHEME}{}/{}@{digest}",
        target.registry(),
        target.repository()
    ))
}

/// Fetches a module and checks its digest.
///
/// # Errors
/// When the reference is invalid, the artifact doesn't exist or is no policy, or the registry fails.
pub(crate) fn pull(registries: &RegistryClient, uri: &str) -> Result<Vec<u8>> {
    let source = reference(uri)?;
    let _progress = progress(&format!("pulling {source}"));
    let layers = with_registry(registries, &source, &async |client, credentials| {
        let pulled = client.pull(&source, credentials, vec![WASM_LAYER_MEDIA_TYPE]);
        Ok(pulled.await?.layers)
    })
    .with_context(|| format!("cannot pull {source}"))?;
    // Kubewarden's hosts use the first layer too.
    let module = layers.first().map(|layer| layer.data.to_vec());
    module
        .filter(|bytes| bytes.starts_with(MAGIC))
        .with_context(|| format!("cannot pull {source}: its layer is not a WebAssembly module"))
}

/// Shows a line on the terminal until the returned value is dropped.
fn progress(text: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_finish(ProgressFinish::AndClear);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar.with_message(text.to_owned())
}

/// Runs an operation with each protocol that the registry may use, until the registry answers. An answer
/// can be an error. If no protocol gets an answer, the last protocol's error is returned.
fn with_registry<T>(
    registries: &RegistryClient,
    reference: &Reference,
    operation: &impl AsyncFn(&Client, &RegistryAuth) -> Result<T, OciDistributionError>,
) -> Result<T> {
    let registry = reference.registry();
    let credentials = registries.credentials(registry);
    let attempts = async {
        let mut last = None;
        for transport in registries.transports(registry, is_on_loopback(registry))? {
            let answer = match registries.client(&transport) {
                Ok(client) => operation(&client, &credentials).await,
                Err(error) => Err(error),
            };
            let unanswered = matches!(answer, Err(OciDistributionError::RequestError(_)));
            last = Some(answer);
            if !unanswered {
                break;
            }
        }
        last.context("the registry was not asked")?
            .map_err(|error| explain(error, reference, &credentials))
    };
    runtime()?.block_on(async {
        tokio::select! {
            answer = attempts => answer,
            _ = signal::ctrl_c() => bail!("interrupted"),
        }
    })
}

/// Whether a registry's `host[:port]` is `localhost` or a loopback address.
fn is_on_loopback(registry: &str) -> bool {
    let host = match registry.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => registry,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// An error with a hint for the user.
fn explain(
    error: OciDistributionError,
    reference: &Reference,
    credentials: &RegistryAuth,
) -> anyhow::Error {
    use OciDistributionError as Oci;
    let registry = reference.registry();
    let denied = match credentials {
        RegistryAuth::Basic(user, _) => format!(
            "{registry} refuses the credentials of {user}: check them with `docker login {registry}`"
        ),
        _ => format!(
            "{registry} wants credentials, and there are none for it: `docker login {registry}`, or \
             --docker-config-json-path"
        ),
    };
    let missing = format!(
        "there is no {} in {registry}/{}",
        reference.digest().map_or_else(
            || format!("tag {}", reference.tag().unwrap_or_default()),
            str::to_owned
        ),
        reference.repository()
    );
    let has_code = |codes: &[OciErrorCode]| match &error {
        Oci::RegistryError { envelope, .. } => envelope
            .errors
            .iter()
            .any(|error| codes.contains(&error.code)),
        _ => false,
    };
    let text = match &error {
        Oci::ImageManifestNotFoundError(_) | Oci::ServerError { code: 404, .. } => missing,
        Oci::UnauthorizedError { .. }
        | Oci::AuthenticationFailure(_)
        | Oci::ServerError {
            code: 401 | 403, ..
        } => denied,
        Oci::RequestError(request) if request.is_connect() => format!(
            "{registry} can't be reached: is it there? (A registry that speaks HTTP has to be one of \
             the insecure_sources in the file of --sources-path.)"
        ),
        Oci::RequestError(request) if request.is_timeout() => format!("{registry} gives no answer"),
        Oci::IncompatibleLayerMediaTypeError(found) => {
            format!("what is there is no policy: its layer is {found}, not {WASM_LAYER_MEDIA_TYPE}")
        }
        Oci::DigestError(_) => format!("{registry} sent other bytes than the manifest says"),
        Oci::PullNoLayersError => "the artifact has no layer".to_owned(),
        _ if has_code(&[OciErrorCode::Unauthorized, OciErrorCode::Denied]) => denied,
        _ if has_code(&[
            OciErrorCode::ManifestUnknown,
            OciErrorCode::NameUnknown,
            OciErrorCode::NotFound,
        ]) =>
        {
            missing
        }
        _ => format!("{registry} failed in the middle"),
    };
    // The error of the client or the registry, on one line.
    let cause = format!("{:#}", anyhow::Error::new(error));
    let cause: Vec<&str> = cause.split_whitespace().collect();
    anyhow!("{text}: {}", cause.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::sources::Sources;

    fn nowhere() -> RegistryClient {
        RegistryClient::new(
            Sources::default(),
            None,
            Some(Duration::from_secs(5)),
            false,
        )
    }

    #[test]
    fn annotations_are_those_of_kwctl() {
        let metadata = Metadata::parse(
            "rules: []\nmutating: true\nannotations:\n  \
             io.kubewarden.policy.source: https://example.com/source\n  \
             io.kubewarden.policy.title: \"  a title \"\n  \
             io.kubewarden.policy.usage: \"# One\\n\\nTwo\\n\"\n  \
             io.kubewarden.policy.description: \"one line\\n\"\n",
        )
        .expect("metadata");
        let expected = [
            ("io.kubewarden.policy.description", "one line"),
            ("io.kubewarden.policy.source", "https://example.com/source"),
            ("io.kubewarden.policy.title", "a title"),
            (
                "org.opencontainers.image.source",
                "https://example.com/source",
            ),
        ];
        assert_eq!(
            annotations(Some(metadata)).expect("annotations"),
            expected
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into()
        );
        assert_eq!(annotations(None), None);
    }

    #[test]
    fn only_addresses_of_this_machine_are_on_the_loopback() {
        for (registry, expected) in [
            ("localhost", true),
            ("localhost:5000", true),
            ("127.0.0.1:5000", true),
            ("127.8.8.8", true),
            ("[::1]:5000", true),
            ("localhost.example.com:5000", false),
            ("ghcr.io", false),
            ("192.0.2.1:5000", false),
        ] {
            assert_eq!(is_on_loopback(registry), expected, "{registry}");
        }
    }

    #[test]
    fn an_invalid_reference_is_refused() {
        for uri in ["", "registry://", "registry://ghcr.io/UPPER/x:v1", "a:b:c"] {
            let error = reference(uri).expect_err(uri).to_string();
            assert!(error.contains("names no place in a registry"), "{error}");
        }
        let error = push(
            &nowhere(),
            "localhost/x@sha256:0000000000000000000000000000000000000000000000000000000000000000",
            Vec::new(),
            false,
        )
        .expect_err("a digest")
        .to_string();
        assert!(error.contains("name a tag instead"), "{error}");
    }

    #[test]
    fn only_annotated_modules_are_pushed() {
        let refused = |module: &[u8], force| {
            push(&nowhere(), "127.0.0.1:1/x:v1", module.to_vec(), force)
                .map_err(|error| format!("{error:#}"))
                .expect_err("refused")
        };
        let empty = b"\0asm\x01\0\0\0";
        assert!(refused(empty, false).contains("--force"));
        assert!(refused(b"#!/bin/sh", true).contains("not a WebAssembly module"));
        // With `force`, the module is pushed, but nothing listens on port 1.
        assert!(refused(empty, true).contains("127.0.0.1:1 can't be reached"));
    }
}
