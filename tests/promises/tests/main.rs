//! Tries the promises with this policy's crate: for random cases, and for input of any shape.

mod patterns;
mod random;
mod references;
