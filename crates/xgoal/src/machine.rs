//! What the machine has and what this process took; known on Linux, elsewhere not.

use crate::error::{Error, Result};

fn proc_field(file: &str, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix(field))?;
    let kilobytes: u64 =
        line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The most memory this process held so far.
pub fn peak_rss_bytes() -> Option<u64> {
    proc_field("/proc/self/status", "VmHWM")
}

/// Counts the peak anew from what is held now; where that is not possible, it stays.
pub fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Memory that a new job can have without pushing others out, or what its container still allows.
pub fn available_bytes() -> Option<u64> {
    let machine = proc_field("/proc/meminfo", "MemAvailable")?;
    Some(container_bytes().map_or(machine, |container| container.min(machine)))
}

/// What the control group of this process leaves, where it has a limit.
fn container_bytes() -> Option<u64> {
    let number = |path: String| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|l| l.strip_prefix("0::"))?;
    let limit = number(format!("/sys/fs/cgroup{group}/memory.max"))?;
    let used = number(format!("/sys/fs/cgroup{group}/memory.current"))?;
    Some(limit.saturating_sub(used))
}

/// Refuses a job that needs more memory than there is, before it starts.
pub fn check_memory(needed: u64) -> Result<()> {
    match available_bytes() {
        Some(available) if needed > available => Err(Error::Memory { needed, available }),
        _ => Ok(()),
    }
}
