//! Node embeddings for attributed multiplex heterogeneous graphs, without labels: X-GOAL (CIKM 2022).
//!
//! Data flows one way: [`io`] reads a source into a [`graph`], [`settings`] are validated against it, a [`session`] plans
//! and runs a training, for which [`train`] drives an [`engine`] by the paper's schedule, [`eval`] scores what comes out,
//! [`similar`] finds a node's nearest ones in it and [`cluster`] groups them; [`criteria`] compare settings without labels.
//!
//! ```
//! use xgoal::graph::planted::Planted;
//! use xgoal::session::{Event, Limits, Session, plan};
//! use xgoal::settings::Settings;
//!
//! # fn main() -> xgoal::Result<()> {
//! let graph = Planted { nodes: 120, attributes: 60, ..Planted::default() }.generate()?;
//! let mut settings = Settings::default(); // all that can be is `auto`
//! settings.set("max_epochs", "10")?;
//! let plan = plan(&graph, settings, Limits::default())?; // looks at the graph; refuses what would not fit into memory
//! let mut session = Session::start(&plan, ())?; // a `RunFolder` in the place of `()` keeps a run that can be resumed
//! while let Some(event) = session.next()? {
//!     if let Event::Epoch(epoch) = event {
//!         println!("{} {}: {}", epoch.stage, epoch.epoch, epoch.loss);
//!     }
//! }
//! let embeddings = session.finish()?.embeddings()?;
//! assert_eq!((embeddings.rows(), embeddings.cols()), (120, 128));
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
pub mod session;
pub mod settings;
pub mod signals;
pub mod similar;
pub mod train;
mod words;

pub use error::{Error, ParseError, Result};
