//! The `sources.yaml` of Kubewarden's tools. It lists the insecure registries, the certificate authorities
//! of registries, and the proxies.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use oci_client::client::{Certificate, CertificateEncoding};
use serde::Deserialize;

/// The contents of a sources file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Sources {
    /// `host` or `host:port` of registries that may have an invalid certificate or no TLS.
    #[serde(rename = "insecure_sources")]
    pub(crate) insecure: BTreeSet<String>,
    #[serde(rename = "source_authorities")]
    authorities: BTreeMap<String, Vec<CertificateAuthority>>,
    proxies: Option<Proxies>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
enum CertificateAuthority {
    Data { data: String },
    Path { path: PathBuf },
}

/// Proxies. The keys have the meaning of the environment variables of the same names.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Proxies {
    /// The proxy for `http:`.
    #[serde(rename = "http_proxy")]
    pub(crate) http: Option<String>,
    /// The proxy for `https:`.
    #[serde(rename = "https_proxy")]
    pub(crate) https: Option<String>,
    /// Hosts for which no proxy is used.
    #[serde(rename = "no_proxy")]
    pub(crate) exceptions: Option<String>,
}

impl Sources {
    /// Reads a sources file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read sources file {}", path.display()))?;
        // An empty file is an empty configuration.
        let sources: Option<Self> = yaml_serde::from_str(&text)
            .with_context(|| format!("cannot parse sources file {}", path.display()))?;
        Ok(sources.unwrap_or_default())
    }

    /// The additional certificate authorities of a registry.
    pub(crate) fn certificates(&self, registry: &str) -> Result<Vec<Certificate>> {
        let authorities = self.authorities.get(registry).into_iter().flatten();
        authorities
            .map(|authority| {
                let data = match authority {
                    CertificateAuthority::Data { data } => data.clone().into_bytes(),
                    CertificateAuthority::Path { path } => fs::read(path)
                        .with_context(|| format!("cannot read certificate {}", path.display()))?,
                };
                Ok(certificate(data))
            })
            .collect()
    }

    /// The proxies of the file. If the file has no key `proxies`, the environment's proxies are used.
    pub(crate) fn proxies(&self) -> Proxies {
        let variable = |name: &str| {
            env::var(name)
                .or_else(|_| env::var(name.to_lowercase()))
                .ok()
        };
        self.proxies.clone().unwrap_or_else(|| Proxies {
            http: variable("HTTP_PROXY"),
            https: variable("HTTPS_PROXY"),
            exceptions: variable("NO_PROXY"),
        })
    }
}

fn certificate(data: Vec<u8>) -> Certificate {
    let pem = data
        .windows(b"-----BEGIN ".len())
        .any(|window| window == b"-----BEGIN ");
    let encoding = if pem {
        CertificateEncoding::Pem
    } else {
        CertificateEncoding::Der
    };
    Certificate { encoding, data }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Sources, yaml_serde::Error> {
        yaml_serde::from_str(text)
    }

    #[test]
    fn all_three_keys_are_read() {
        let sources = parse(
            "insecure_sources: [\"localhost:5000\"]\n\
             source_authorities:\n  \"r:1\":\n  - type: Data\n    data: \"-----BEGIN CERTIFICATE-----\"\n\
             proxies: {https_proxy: \"http://p:1\", no_proxy: \".local\"}\n",
        )
        .expect("sources");
        assert!(sources.insecure.contains("localhost:5000"));
        assert_eq!(sources.certificates("r:1").expect("certificates").len(), 1);
        assert!(
            sources
                .certificates("other")
                .expect("certificates")
                .is_empty()
        );
        let proxies = sources.proxies();
        assert_eq!(proxies.https.as_deref(), Some("http://p:1"));
        assert_eq!(proxies.http, None);
    }

    #[test]
    fn a_missing_certificate_is_an_error_that_names_it() {
        let sources =
            parse("source_authorities: {r: [{type: Path, path: /no/such.pem}]}").expect("sources");
        let error = format!(
            "{:#}",
            sources.certificates("r").map(drop).expect_err("an error")
        );
        assert!(error.contains("/no/such.pem"), "{error}");
    }

    #[test]
    fn errors_name_the_unknown_key() {
        for (text, expected) in [
            ("insecure_source: []", "insecure_source"),
            ("source_authorities: {r: [{type: Url, url: x}]}", "Url"),
            ("proxies: {ftp_proxy: x}", "ftp_proxy"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_encoding_of_a_certificate_follows_from_its_header() {
        assert!(matches!(
            certificate(b"x\n-----BEGIN CERTIFICATE-----".to_vec()).encoding,
            CertificateEncoding::Pem
        ));
        assert!(matches!(
            certificate(vec![0x30, 0x82]).encoding,
            CertificateEncoding::Der
        ));
    }
}
