//! What one call of a target may take: memory in proportion to its input, and time.
//!
//! The allocator counts what is held. A call that goes beyond its share is a finding even where the machine has the
//! memory, so that what a header merely claims shows.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Bytes that a call may hold whatever its input is.
pub const FREE: usize = 64 << 20;
/// The same where Parquet is read, in which a few bits name a value any number of times: the reader's own limit.
pub const FREE_WITH_RUNS: usize = 5 << 28;
/// Bytes that a call may hold for each byte of its input: deflate unpacks at most 1032 times, and a byte becomes a
/// number of 8.
pub const PER_BYTE: usize = 1 << 14;
/// Bytes beyond which an allocation fails, which ends the process.
const MOST: usize = 4 << 30;
/// Time that a call may take; generous, as machines are busy.
pub const TIME: Duration = Duration::from_secs(10);

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Runs a call that may hold so many bytes, and more for the length of its input; says what it took too much of.
pub fn within(free: usize, length: usize, call: impl FnOnce()) -> Result<(), String> {
    // One at a time, as there is one count.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let (before, start) = (HELD.load(Ordering::Relaxed), Instant::now());
    PEAK.store(before, Ordering::Relaxed);
    call();
    let held = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    let most = free + PER_BYTE * length;
    if held > most {
        return Err(format!("{held} bytes held for an input of {length}; expected up to {most}"));
    }
    match start.elapsed() {
        time if time > TIME => Err(format!("{time:?} for an input of {length} bytes")),
        _ => Ok(()),
    }
}

/// The system's allocator, counted.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Notes that so many bytes more are held; whether there may be as many.
fn take(bytes: usize) -> bool {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
    PEAK.fetch_max(held, Ordering::Relaxed);
    if held > MOST {
        HELD.fetch_sub(bytes, Ordering::Relaxed);
    }
    held <= MOST
}

// SAFETY: every call is handed to the system's allocator as it came, or refused with a null pointer.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Old and new are both there while one is copied to the other.
        if !take(size) {
            return std::ptr::null_mut();
        }
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
