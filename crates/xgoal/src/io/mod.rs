//! Files: sources in, models and embeddings out.

pub mod arrays;
