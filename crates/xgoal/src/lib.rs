//! Node embeddings for attributed multiplex heterogeneous graphs, without labels.

pub mod error;
pub mod io;
pub mod matrix;
pub mod random;

pub use error::{Error, ParseError, Result};
