//! Ctrl-C: the first asks training to stop after the epoch, the second ends the process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
static INSTALLED: OnceLock<()> = OnceLock::new();

/// From here on, Ctrl-C (or a polite kill) is noted instead of ending the process.
pub fn listen() {
    INSTALLED.get_or_init(|| {
        // Without a handler the default stays: the process ends, which is right too.
        let _ = ctrlc::set_handler(|| {
            if ASKED.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
    });
}

/// Whether the user asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
