//! A policy's module as a file: its sections, and the metadata in it.

pub(crate) mod metadata;
pub(crate) mod sections;
