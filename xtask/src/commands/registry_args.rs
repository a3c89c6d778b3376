//! The arguments that `run`, `pull` and `push` share: the connection to registries.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use crate::host::registry_client::RegistryClient;
use crate::host::sources::Sources;

/// The connection to registries, with kwctl's flags.
#[derive(Debug, clap::Args)]
pub(crate) struct RegistryArgs {
    /// File that lists insecure registries, and registries with their own certificate authority
    #[arg(long, value_name = "PATH")]
    sources_path: Option<PathBuf>,
    /// Directory with Docker's config.json, for the registries' credentials
    #[arg(long, value_name = "PATH")]
    docker_config_json_path: Option<PathBuf>,
    /// The longest wait for a connection to a registry, or for its answer; 0 for no limit
    /// [default: 10 for `run`, 30 for `pull` and `push`]
    #[arg(long, value_name = "SECONDS")]
    oci_timeout_seconds: Option<u64>,
    /// Prints the policy's debug log and the requests to registries
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

impl RegistryArgs {
    /// A client with these arguments. `default_seconds` is the time limit if the arguments set none.
    pub(crate) fn client(&self, default_seconds: u64) -> Result<RegistryClient> {
        let sources = self.sources_path.as_deref().map(Sources::read);
        Ok(RegistryClient::new(
            sources.transpose()?.unwrap_or_default(),
            self.docker_config_json_path.as_deref(),
            time_limit(self.oci_timeout_seconds.unwrap_or(default_seconds)),
            self.verbose,
        ))
    }
}

/// A time limit in seconds. 0 is no limit.
pub(crate) fn time_limit(seconds: u64) -> Option<Duration> {
    (seconds > 0).then_some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_limit() {
        assert_eq!(time_limit(0), None);
        assert_eq!(time_limit(2), Some(Duration::from_secs(2)));
    }
}
