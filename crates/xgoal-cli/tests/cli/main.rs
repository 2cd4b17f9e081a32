//! The real executable, driven as a user or a script would.

mod bad_input;
mod bad_usage;
mod bench;
mod common;
mod debian;
mod demo;
mod embed;
mod eval;
mod generate;
mod info;
#[cfg(unix)]
mod interrupt;
mod npz;
mod real_data;
mod tables;
mod train;
