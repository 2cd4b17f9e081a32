//! The extension module behind the Python package `xgoal`: it converts, and calls the library.
//!
//! Everything a user sees is in `python/xgoal`; what is here is private to it and takes input that
//! the package has brought into a plain form. Nothing is trusted to be in range all the same.

mod analysis;
mod compressed;
mod errors;
mod graph;
mod matrix;
mod model;
mod pool;
mod settings;
mod train;

#[pyo3::pymodule]
mod _xgoal {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::analysis::{evaluate, kmeans, similar};
    #[pymodule_export]
    use super::graph::{Graph, planted, read};
    #[pymodule_export]
    use super::model::{Model, read_embeddings};
    #[pymodule_export]
    use super::settings::Settings;
    #[pymodule_export]
    use super::train::Session;

    /// Memory a new job can have, where that is known.
    #[pyfunction]
    fn available_bytes() -> Option<u64> {
        xgoal::machine::available_bytes()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("SETTINGS", xgoal::settings::KEYS.to_vec())?;
        module.add("PRESETS", xgoal::settings::Preset::CHOICES.to_vec())
    }
}
