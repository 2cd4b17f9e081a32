//! Files: sources in, models and embeddings out.

pub mod arrays;
pub mod build;
pub mod mat;
pub mod npy;
pub mod npz;
mod source;
