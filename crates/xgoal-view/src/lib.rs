//! Embeddings to look at.
//!
//! A [`scene::Scene`] is computed once from a run: nodes laid out on a plane by [`project`], their nearest
//! ones, clusters, each layer for itself. [`report`] makes one page of it, [`plot`] pictures.

pub mod clusters;
pub mod column;
pub mod plot;
pub mod project;
pub mod quality;
pub mod report;
pub mod scene;
pub mod training;
