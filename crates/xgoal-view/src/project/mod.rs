//! Points of many dimensions on a plane.
//!
//! [`pca`] keeps the two directions of greatest variance; [`Tsne`] keeps neighbourhoods. Both work on
//! directions, as similarity search does: rows are taken at length 1, and a node's nearest ones are
//! those of greatest cosine. The same seed gives the same bits for any number of threads, which is why
//! t-SNE is written here: the crates there are add up forces in an order that the threads decide, and
//! this optimisation turns a last bit into another picture.

mod affinity;
mod pca;
mod repulsion;
mod tsne;

pub use pca::pca;
pub use tsne::Tsne;

/// A point of the plane.
pub type Point = [f32; 2];

/// How points are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Neighbourhoods kept.
    #[default]
    Tsne,
    /// The two directions of greatest variance.
    Pca,
}

impl Method {
    /// As it is called in flags and captions.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Tsne => "t-SNE",
            Method::Pca => "PCA",
        }
    }
}
