//! The real executable, driven as a user or a script would.

mod auto;
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
#[cfg(unix)]
mod guards;
mod info;
#[cfg(unix)]
mod interrupt;
#[cfg(unix)]
mod kill;
#[cfg(target_os = "linux")]
mod memory;
mod npz;
mod plot;
mod real_data;
mod report;
mod similar;
mod sweep;
mod tables;
mod train;
mod tune;
#[cfg(target_os = "linux")]
mod unwritable;
