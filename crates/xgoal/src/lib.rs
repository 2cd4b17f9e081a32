//! Node embeddings for attributed multiplex heterogeneous graphs, without labels.

pub mod engine;
pub mod error;
pub mod eval;
pub mod graph;
pub mod io;
pub mod kmeans;
pub mod matrix;
pub mod model;
pub mod random;
pub mod real;
pub mod settings;

pub use error::{Error, ParseError, Result};
