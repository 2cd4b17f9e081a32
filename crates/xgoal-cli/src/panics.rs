//! Panics: said once, when nothing catches them.
//!
//! The library catches those of the Parquet crate over damaged files and makes errors of them, but what a panic says is
//! printed where it happens, before anyone can catch it. So nothing is printed there: what the last one said is kept, and
//! said here if it gets this far.

use crate::output::Failure;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind, set_hook};
use std::sync::{Mutex, PoisonError};

/// What the process ends with then.
const CODE: u8 = 101;

static LAST: Mutex<String> = Mutex::new(String::new());

/// Does the work; a panic that gets out of it is said, and goes on to end the process.
pub fn held<T>(json_errors: bool, work: impl FnOnce() -> T) -> T {
    set_hook(Box::new(keep));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said = LAST.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let message = format!("this is a mistake in xgoal, please report it: {said}");
        Failure { code: CODE, message }.tell(json_errors);
        resume_unwind(panic)
    })
}

fn keep(panic: &PanicHookInfo) {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
}
