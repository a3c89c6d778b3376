//! Stands in for cosign where the tests run the release's steps: it takes the flags that those use,
//! and signs and verifies for real, on Sigstore's own crate, but with a key on disk. The release
//! itself is signed without a key, by GitHub's identity, which only GitHub can do.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::{ArgAction, Parser, Subcommand};
use serde_json::{Value, json};
use sigstore::cosign::constraint::PrivateKeySigner;
use sigstore::cosign::verification_constraint::{PublicKeyVerifier, VerificationConstraintVec};
use sigstore::cosign::{Client, ClientBuilder, CosignCapabilities, SignatureLayer};
use sigstore::cosign::{Constraint, verify_constraints};
use sigstore::crypto::SigningScheme;
use sigstore::crypto::signing_key::{SigStoreKeyPair, SigStoreSigner};
use sigstore::registry::{Auth, ClientConfig, ClientProtocol, OciReference};

/// Signs and verifies with a key, as cosign does
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// The private key's
    #[arg(
        long,
        env = "COSIGN_PASSWORD",
        default_value = "",
        hide = true,
        global = true
    )]
    password: String,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Makes PREFIX.key and PREFIX.pub
    GenerateKeyPair {
        #[arg(long)]
        output_key_prefix: String,
    },
    /// Signs what a registry on this machine holds
    Sign {
        #[arg(long)]
        key: PathBuf,
        #[arg(long)]
        yes: bool,
        #[arg(long, action = ArgAction::Set)]
        new_bundle_format: bool,
        #[arg(long, action = ArgAction::Set)]
        use_signing_config: bool,
        image: OciReference,
    },
    /// Signs a file
    SignBlob {
        #[arg(long)]
        key: PathBuf,
        #[arg(long)]
        yes: bool,
        #[arg(long)]
        bundle: PathBuf,
        file: PathBuf,
    },
    /// Fails unless what a registry on this machine holds was signed
    Verify {
        #[arg(long)]
        key: PathBuf,
        image: OciReference,
    },
    /// Fails unless the file was signed
    VerifyBlob {
        #[arg(long)]
        key: PathBuf,
        #[arg(long)]
        bundle: PathBuf,
        file: PathBuf,
    },
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(cli))
}

async fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::GenerateKeyPair { output_key_prefix } => {
            let signer = SigningScheme::ECDSA_P256_SHA256_ASN1.create_signer()?;
            let pair = signer.to_sigstore_keypair()?;
            let key = pair.private_key_to_encrypted_pem(cli.password.as_bytes())?;
            fs::write(format!("{output_key_prefix}.key"), key.as_bytes())?;
            fs::write(
                format!("{output_key_prefix}.pub"),
                pair.public_key_to_pem()?,
            )?;
        }
        Command::Sign {
            new_bundle_format: true,
            image,
            ..
        } => eprintln!("{image}: the new bundle format is cosign's own, and left out here"),
        Command::Sign { key, image, .. } => {
            let mut client = client()?;
            let (signatures, digest) = client.triangulate(&image, &Auth::Anonymous).await?;
            let mut layer = SignatureLayer::new_unsigned(&image, &digest)?;
            PrivateKeySigner::new_with_signer(signer(&key, &cli.password)?)
                .add_constraint(&mut layer)?;
            client
                .push_signature(None, &Auth::Anonymous, &signatures, vec![layer])
                .await?;
        }
        Command::SignBlob {
            key, bundle, file, ..
        } => {
            let signature = signer(&key, &cli.password)?.sign(&read(&file)?)?;
            let signature = json!({ "base64Signature": BASE64_STANDARD.encode(signature) });
            fs::write(bundle, signature.to_string())?;
        }
        Command::Verify { key, image } => {
            let layers = client()?
                .trusted_signature_layers(&Auth::Anonymous, &image)
                .await?;
            let constraints: VerificationConstraintVec =
                vec![Box::new(PublicKeyVerifier::try_from(&read(&key)?)?)];
            if verify_constraints(&layers, constraints.iter()).is_err() {
                bail!("no signature of {image} fits the key");
            }
        }
        Command::VerifyBlob { key, bundle, file } => {
            let bundle: Value = serde_json::from_slice(&read(&bundle)?)?;
            let Some(signature) = bundle["base64Signature"].as_str() else {
                bail!("no signature in the bundle");
            };
            let key = String::from_utf8(read(&key)?)?;
            Client::verify_blob_with_public_key(&key, signature, &read(&file)?)
                .with_context(|| format!("the signature doesn't fit {}", file.display()))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn signer(key: &Path, password: &str) -> Result<SigStoreSigner> {
    Ok(
        SigStoreKeyPair::from_encrypted_pem(&read(key)?, password.as_bytes())?
            .to_sigstore_signer(&SigningScheme::ECDSA_P256_SHA256_ASN1)?,
    )
}

/// The registries of the tests speak HTTP.
fn client() -> Result<Client> {
    let config = ClientConfig {
        protocol: ClientProtocol::Http,
        ..ClientConfig::default()
    };
    Ok(ClientBuilder::default()
        .with_oci_client_config(config)
        .build()?)
}
