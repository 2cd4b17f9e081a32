//! Files: sources in, models and embeddings out.

pub mod arrays;
pub mod pickle;
pub mod torch;
