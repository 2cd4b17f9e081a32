//! The real executable, driven as a user or a script would.

mod bad_input;
mod bad_usage;
mod bench;
mod common;
mod demo;
mod embed;
mod eval;
mod generate;
mod info;
#[cfg(unix)]
mod interrupt;
#[cfg(unix)]
mod kill;
#[cfg(target_os = "linux")]
mod memory;
mod npz;
mod real_data;
mod train;
#[cfg(target_os = "linux")]
mod unwritable;
