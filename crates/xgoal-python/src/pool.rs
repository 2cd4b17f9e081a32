//! Threads to work on, without the interpreter's lock.

use crate::errors::{internal, raise};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// Pools by their number of threads, and the process they belong to.
type Pools = Option<(u32, HashMap<usize, Arc<ThreadPool>>)>;

static POOLS: Mutex<Pools> = Mutex::new(None);

/// One pool for each number of threads asked for; 0 is one thread per core.
fn pool(threads: usize) -> Result<Arc<ThreadPool>, rayon::ThreadPoolBuildError> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if pools.as_ref().is_some_and(|(owner, _)| *owner != process) {
        // A fork has none of its parent's threads; not even dropping their pool is safe.
        std::mem::forget(pools.take());
    }
    let (_, pools) = pools.get_or_insert_with(|| (process, HashMap::new()));
    if let Some(pool) = pools.get(&threads) {
        return Ok(pool.clone());
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build()?);
    pools.insert(threads, pool.clone());
    Ok(pool)
}

/// Does the work on so many threads while other Python threads go on.
pub fn run<T: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce() -> xgoal::Result<T> + Send,
) -> PyResult<T> {
    py.detach(|| {
        let pool = pool(threads).map_err(|e| internal(&format!("{threads} threads: {e}")))?;
        match pool.install(|| catch_unwind(AssertUnwindSafe(work))) {
            Ok(outcome) => outcome.map_err(raise),
            Err(panic) => {
                let message = panic.downcast_ref::<String>().map(String::as_str);
                let message = message.or(panic.downcast_ref::<&str>().copied());
                Err(internal(message.unwrap_or("no message")))
            }
        }
    })
}
