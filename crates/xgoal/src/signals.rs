//! Signals that a process was started to ignore.

/// Those that a handler of interruptions takes over.
#[cfg(unix)]
const INTERRUPTIONS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Installs a handler of interruptions, but leaves those ignored that are: `nohup` and shells that start a job in the
/// background ask for it in this way.
#[cfg(unix)]
pub fn keeping_ignored(install: impl FnOnce()) {
    let ignored = INTERRUPTIONS.map(is_ignored);
    install();
    for (signal, ignored) in INTERRUPTIONS.into_iter().zip(ignored) {
        if ignored {
            // SAFETY: to ignore a signal runs no code of ours in a handler.
            #[expect(unsafe_code, reason = "a call of the operating system")]
            unsafe {
                libc::signal(signal, libc::SIG_IGN)
            };
        }
    }
}

/// The same; nothing is ignored here from the start.
#[cfg(not(unix))]
pub fn keeping_ignored(install: impl FnOnce()) {
    install();
}

#[cfg(unix)]
fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action nothing changes, and the old one has a place that is as large as it; zeros are one.
    #[expect(unsafe_code, reason = "a call of the operating system")]
    let action = unsafe {
        let known = libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0;
        known.then(|| action.assume_init())
    };
    action.is_some_and(|action| action.sa_sigaction == libc::SIG_IGN)
}
