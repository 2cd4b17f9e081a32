//! Large pages for large buffers.
//!
//! A product with a large graph reads rows all over a table of hundreds of megabytes; with pages of 4 kB
//! nearly every row also misses the translation cache.

/// Bytes from which on it matters.
#[cfg(target_os = "linux")]
const LARGE: usize = 1 << 25;

/// Asks for large pages behind fresh values that were not written yet. Only a wish: where the system
/// has none, nothing changes.
#[cfg(target_os = "linux")]
pub fn prefer_large<T>(values: &mut [T]) {
    const PAGE: usize = 4096;
    let bytes = size_of_val(values);
    if bytes < LARGE {
        return;
    }
    let start = values.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE);
    // SAFETY: whole pages inside one live allocation; the advice changes what backs them, not what
    // they hold.
    #[expect(unsafe_code, reason = "a call of the operating system")]
    unsafe {
        let from = start.add(skipped).cast();
        libc::madvise(from, (bytes - skipped) / PAGE * PAGE, libc::MADV_HUGEPAGE);
    }
}

/// Elsewhere the system decides.
#[cfg(not(target_os = "linux"))]
pub fn prefer_large<T>(_: &mut [T]) {}
