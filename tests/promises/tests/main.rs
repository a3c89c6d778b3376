//! Tries the promises with this policy's crate: for the corpus, for random cases, and for input of
//! any shape.

mod corpus;
mod patterns;
mod random;
mod references;
