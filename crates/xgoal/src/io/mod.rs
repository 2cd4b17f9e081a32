//! Files: sources in, models and embeddings out.
//!
//! Each format has its reader ([`mat`], [`pickle`], [`npz`], [`npy`], [`torch`]); all give named
//! arrays ([`arrays`], built under a memory budget by [`build`]), of which [`source`] makes a graph.
//! [`manifest`] reads a folder of the user's own files, [`convert`] and [`generate`] write one.
//! [`embeddings`] come in the formats of what reads them, [`answers`] as tables; [`columns`] reads
//! what a table says about nodes.
//! [`tensorboard`] follows a training.
//! Everything written goes through [`atomic`]; whether it can be is asked of [`target`], and
//! what is not whole when the process is ended is known to [`unfinished`].

pub mod answers;
mod archive;
pub mod arrays;
pub mod atomic;
pub mod build;
pub mod columns;
pub mod convert;
pub(crate) mod decode;
mod dtype;
pub mod embeddings;
pub mod generate;
pub mod identity;
pub mod manifest;
pub mod mat;
pub mod model;
pub mod npy;
pub mod npz;
mod open;
pub mod pickle;
pub mod source;
pub mod state;
mod table;
pub mod target;
pub mod tensorboard;
mod tensors;
pub mod torch;
pub mod unfinished;
