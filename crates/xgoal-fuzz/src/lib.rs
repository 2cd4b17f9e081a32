//! Hostile files: every parser of `xgoal` as a fuzz target.
//!
//! A [`Target`] takes any bytes for a file (or for several, [`parts`]) and reads them with the library. Whatever the
//! bytes are, it must come back: with a result or an error, without a panic, and within [`limits`]. The same targets
//! run under libFuzzer (`scripts/fuzz.sh`) and, on seeds and seeded mutations of them, among the ordinary tests.

pub mod limits;
pub mod mutate;
pub mod parts;
pub mod seeds;
mod targets;

pub use targets::{TARGETS, Target};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

static PANIC: Mutex<String> = Mutex::new(String::new());

/// Keeps what a panic said, for a panic hook: panics that readers catch are not worth a line each.
pub fn note_panic(message: &str) {
    message.clone_into(&mut PANIC.lock().unwrap_or_else(|e| e.into_inner()));
}

/// Reads an input; says what is wrong with how that went.
pub fn try_input(target: Target, input: &[u8]) -> Result<(), String> {
    let read = AssertUnwindSafe(|| limits::within(target.free, input.len(), || target.read(input)));
    catch_unwind(read).unwrap_or_else(|_| {
        Err(format!("a panic: {}", PANIC.lock().unwrap_or_else(|e| e.into_inner())))
    })
}
