//! What this policy promises for every request, and random requests to try it with.
//!
//! | module | contents |
//! | --- | --- |
//! | [`promises`] | the promises, and the function that tries them |
//! | [`kubelet`] | a model of a kubelet |
//! | [`generate`] | random cases, made by changing others |
//! | [`small_pods`] | all small Pods |
//! | [`cluster_sample`] | some of them, for a real kubelet |
//! | [`corpus`] | Pods like those of well-known controllers |
//! | [`notation`] | the places of a Pod, as people read them |
//! | [`pattern`] | patterns in settings, as the documentation defines them |
//! | [`policy`] | runs this policy: its crate, or a module in a host |
//! | [`repository`] | the files of this repository, for the tests of all crates |
//!
//! The module `words` has the definitions of *image check* and *needs a check*, and [`kubelet`]
//! knows none of these words. They share no code with this policy, so that a mistake in one of them
//! is noticed.

pub mod answers;
pub mod cluster_sample;
pub mod corpus;
pub mod generate;
pub mod image;
pub mod json;
pub mod kubelet;
pub mod notation;
pub mod pattern;
pub mod policy;
pub mod promises;
pub mod repository;
mod settings;
pub mod small_pods;
mod words;
