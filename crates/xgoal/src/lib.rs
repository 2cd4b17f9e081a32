//! Node embeddings for attributed multiplex heterogeneous graphs, without labels: X-GOAL (CIKM 2022).
//!
//! Data flows one way: [`io`] reads a source into a [`graph`], [`settings`] are validated against it,
//! [`train`] drives an [`engine`] by the paper's schedule, [`eval`] scores what comes out, [`similar`] finds a node's
//! nearest ones in it and [`cluster`] groups them; [`criteria`] compare settings without labels.
//!
//! ```
//! use xgoal::engine::{Engine, cpu::CpuEngine};
//! use xgoal::graph::planted::Planted;
//! use xgoal::model::{final_mean, initial_weights};
//! use xgoal::settings::Settings;
//! use xgoal::train::Trainer;
//!
//! # fn main() -> xgoal::Result<()> {
//! let graph = Planted { nodes: 120, attributes: 60, ..Planted::default() }.generate()?;
//!
//! let mut settings = Settings::default();
//! settings.set("dim", "16")?;
//! settings.set("clusters", "6")?;
//! settings.set("max_epochs", "10")?;
//! let config = settings.validate(&graph.layer_names())?;
//!
//! let graph = config.preprocessing().apply(&graph)?;
//! let engine = CpuEngine::<f32>::new(&config, &graph, initial_weights(&config, &graph))?;
//! let mut trainer = Trainer::new(engine, config.clone());
//! while let Some(epoch) = trainer.step()? {
//!     assert!(epoch.loss.is_finite());
//! }
//! let embeddings = final_mean(&config, &trainer.into_engine().embed());
//! assert_eq!((embeddings.rows(), embeddings.cols()), (120, 16));
//! # Ok(())
//! # }
//! ```

#![deny(unsafe_code)]

pub mod cluster;
pub mod criteria;
pub mod engine;
pub mod error;
pub mod eval;
pub mod graph;
pub mod io;
pub mod kmeans;
pub mod machine;
pub mod matrix;
pub mod model;
pub mod random;
pub mod real;
pub mod run;
pub mod settings;
pub mod signals;
pub mod similar;
pub mod train;
mod words;

pub use error::{Error, ParseError, Result};
