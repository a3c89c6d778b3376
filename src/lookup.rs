//! Lookups: questions to registries, through the host, within the limits of one request.

mod client;
mod failure;

mod session;
mod words;

pub use self::client::Client;
pub(crate) use self::client::Host;
pub(crate) use self::failure::{Class, Failure};
pub(crate) use self::session::Session;
