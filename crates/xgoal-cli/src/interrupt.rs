//! Ctrl-C (or a polite kill): exit code 130, at once or, while training, after the epoch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use xgoal::io::unfinished;
use xgoal::signals;

/// Signals within this time are one interruption: `timeout` signals the process and its group, a shutdown in several ways.
const ONE: Duration = Duration::from_secs(1);

static HELD: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);
static FIRST: Mutex<Option<Instant>> = Mutex::new(None);
static ANSWER: Mutex<Option<Arc<dyn Fn() + Send + Sync>>> = Mutex::new(None);

/// From here on an interruption ends the process with the documented code. What the process was started to ignore, as
/// under `nohup`, it ignores.
pub fn listen() {
    // Without a handler the default stays: the process ends, which is right too.
    signals::keeping_ignored(|| drop(ctrlc::set_handler(hear)));
}

fn hear() {
    let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    if first.is_some_and(|first| first.elapsed() < ONE) {
        return;
    }
    if first.is_some() || !HELD.load(Ordering::SeqCst) {
        unfinished::abandon();
        std::process::exit(130);
    }
    *first = Some(Instant::now());
    ASKED.store(true, Ordering::SeqCst);
    let answer = ANSWER.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // Nobody may read what it says; the second interruption must be heard all the same.
    answer.map(|answer| std::thread::spawn(move || answer()));
}

/// While it lives, the first interruption is only noted and answered; the second still ends the process.
pub struct Hold(());

/// Holds interruptions back. The answer is given at once, on another thread, however long it is until somebody looks.
pub fn hold(answer: impl Fn() + Send + Sync + 'static) -> Hold {
    *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(answer));
    HELD.store(true, Ordering::SeqCst);
    Hold(())
}

impl Hold {
    /// Whether the user asked to stop.
    pub fn asked(&self) -> bool {
        ASKED.load(Ordering::SeqCst)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        HELD.store(false, Ordering::SeqCst);
        *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
