//! Random requests.
