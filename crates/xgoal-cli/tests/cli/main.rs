//! The real executable, driven as a user or a script would.

mod bad_input;
mod bad_usage;
mod bench;
mod cluster;
mod common;
mod convert;
mod debian;
mod demo;
mod embed;
mod eval;
mod formats;
mod generate;
mod info;
#[cfg(unix)]
mod interrupt;
mod npz;
mod real_data;
mod similar;
mod tables;
mod train;
