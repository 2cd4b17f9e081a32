//! What the machine has and what this process took; known on Linux, elsewhere not.

use crate::error::{Error, Result};
use std::path::Path;

/// Address space that the allocator sets aside for each thread, used or not.
const SET_ASIDE: u64 = 64 << 20;

/// Memory that can still be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Available {
    /// How many bytes.
    pub bytes: u64,
    /// What bounds them, in words that follow the number.
    pub bound: &'static str,
}

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

/// The memory this process holds now.
pub fn rss_bytes() -> Option<u64> {
    proc_field("/proc/self/status", "VmRSS")
}

/// Counts the peak anew from what is held now; where that is not possible, it stays.
pub fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Memory that a new job can have: without pushing others out, within its container and its own limits.
pub fn available() -> Option<Available> {
    let status = |field: &str| proc_field("/proc/self/status", field);
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left =
        |limit: &str, used: &str| Some(limit_in(&limits, limit)?.saturating_sub(status(used)?));
    // What is set aside already shows as address space that holds nothing.
    let empty = status("VmSize").unwrap_or(0).saturating_sub(status("VmRSS").unwrap_or(0));
    let set_aside = (SET_ASIDE * rayon::current_num_threads() as u64).saturating_sub(empty);
    let bounds = [
        (proc_field("/proc/meminfo", "MemAvailable"), "are free on this machine"),
        (group_bytes(Path::new("/sys/fs/cgroup"), &groups), "are free in this container"),
        (
            left("Max address space", "VmSize").map(|b| b.saturating_sub(set_aside)),
            "are left by the limit on address space (`ulimit -v`)",
        ),
        (left("Max data size", "VmData"), "are left by the limit on data (`ulimit -d`)"),
    ];
    let known =
        bounds.into_iter().filter_map(|(bytes, bound)| Some(Available { bytes: bytes?, bound }));
    known.min_by_key(|available| available.bytes)
}

/// How many bytes [`available`] are.
pub fn available_bytes() -> Option<u64> {
    available().map(|available| available.bytes)
}

/// Refuses what needs more memory than there is, before it starts.
pub fn check_memory(job: &'static str, needed: u64) -> Result<()> {
    check_memory_within(job, needed, None)
}

/// The same by a limit of what this process may hold, where one is given.
pub fn check_memory_within(job: &'static str, needed: u64, limit: Option<u64>) -> Result<()> {
    let left = |limit: u64| Available {
        bytes: limit.saturating_sub(rss_bytes().unwrap_or(0)),
        bound: "are left by the memory limit",
    };
    let free = limit.map(left).or_else(available);
    let Some(Available { bytes, bound }) = free.filter(|a| needed > a.bytes) else {
        return Ok(());
    };
    Err(Error::Memory {
        job,
        sum: String::new(),
        needed,
        available: bytes,
        bound,
        advice: "use less data or a larger machine".into(),
    })
}

/// The soft limit of a name in the format of `/proc/self/limits`; none where it is unlimited.
fn limit_in(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|l| l.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What the control groups of this process leave, in either version, with what they could give back at
/// once. A limit may stand at any level above; in a container the path may not be visible, but its top is.
fn group_bytes(root: &Path, groups: &str) -> Option<u64> {
    let kinds = [
        ("0::", "", ["memory.max", "memory.current", "inactive_file"]),
        (
            ":memory:",
            "memory",
            ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
        ),
    ];
    let left = kinds.into_iter().filter_map(|(mark, folder, [limit, used, inactive])| {
        let path = groups.lines().find_map(|l| Some(l.split_once(mark)?.1))?;
        let levels = Path::new(path.trim_start_matches('/')).ancestors();
        let left = levels.filter_map(|level| {
            let level = root.join(folder).join(level);
            let read = |file: &str| std::fs::read_to_string(level.join(file)).ok();
            let number = |file: &str| read(file)?.trim().parse::<u64>().ok();
            let reclaimable = read("memory.stat").and_then(|stat| {
                let words = stat.lines().filter_map(|l| l.split_once(' '));
                words.into_iter().find(|w| w.0 == inactive)?.1.trim().parse::<u64>().ok()
            });
            let used = number(used)?.saturating_sub(reclaimable.unwrap_or(0));
            Some(number(limit)?.saturating_sub(used))
        });
        left.min()
    });
    left.min()
}

/// A number of bytes in the unit that suits it.
pub fn format_bytes(n: u64) -> String {
    match n {
        0..10_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        10_000_000..1_000_000_000 => format!("{:.0} MB", n as f64 / 1e6),
        _ => format!("{:.1} GB", n as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_the_kernel_writes_them() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max data size             unlimited            unlimited            bytes     \n\
                    Max address space         1073741824           unlimited            bytes     \n";
        assert_eq!(limit_in(text, "Max address space"), Some(1 << 30));
        assert_eq!(limit_in(text, "Max data size"), None);
        assert_eq!(limit_in(text, "Max stack size"), None);
    }

    #[test]
    fn the_tightest_control_group_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let left = |groups: &str| group_bytes(root.path(), groups);
        assert_eq!(left("0::/a/b\n"), None);
        write("a/memory.max", "1000\n");
        write("a/memory.current", "700\n");
        write("a/memory.stat", "anon 5\ninactive_file 200\n");
        write("a/b/memory.max", "max\n");
        write("a/b/memory.current", "600\n");
        assert_eq!(left("0::/a/b\n"), Some(500));
        assert_eq!(left("0::/elsewhere\n"), None);
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/memory.usage_in_bytes", "50\n");
        write("memory/x/memory.limit_in_bytes", "90\n");
        write("memory/x/memory.usage_in_bytes", "100\n");
        assert_eq!(left("4:memory:/x\n0::/\n"), Some(0));
        assert_eq!(left("4:memory:/not/visible\n"), Some(9223372036854771712 - 50));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_has_memory() {
        assert!(available().unwrap().bytes > 1 << 20);
        assert!(rss_bytes().unwrap() <= peak_rss_bytes().unwrap());
        let message = check_memory("all", u64::MAX).unwrap_err().to_string();
        assert!(message.starts_with("all needs about 18446744073.7 GB, and "), "{message}");
        check_memory("nothing", 0).unwrap();
    }
}
