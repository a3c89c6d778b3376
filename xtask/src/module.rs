//! A policy's module as a file: its sections and its metadata.

pub(crate) mod metadata;
pub(crate) mod sections;
