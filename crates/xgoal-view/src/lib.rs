//! Embeddings to look at.
//!
//! [`project`] lays them out on a plane.

pub mod project;
