//! Node embeddings for attributed multiplex heterogeneous graphs, without labels.

pub mod error;
pub mod eval;
pub mod io;
pub mod kmeans;
pub mod matrix;
pub mod random;
pub mod real;

pub use error::{Error, ParseError, Result};
