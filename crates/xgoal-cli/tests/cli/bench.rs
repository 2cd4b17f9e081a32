use crate::common::{Sandbox, assert_keys, assert_says};

fn planted(nodes: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.xgoal(&["generate", "--nodes", nodes, "--out", "planted"]).done();
    sandbox
}

/// What a short one says, in steps over so many nodes.
fn bench(sandbox: &Sandbox, batch: &str) -> serde_json::Value {
    let batch = format!("batch={batch}");
    let bench = ["bench", "planted", "--epochs", "2", "--threads", "2", "--json"];
    let set = ["--set", "kmeans_restarts=1", "--set", &batch];
    sandbox.xgoal(&[&bench[..], &set].concat()).done().json()
}

#[test]
fn phases_add_up_and_memory_is_what_was_estimated() {
    // Large enough that what a process takes by itself, some 7 MB, is little beside it.
    let sandbox = planted("12000");
    let report = bench(&sandbox, "all");
    assert_keys(&report, &["phases", "threads", "peak_rss_bytes"]);
    assert_eq!((&report["threads"], &report["nodes_per_step"]), (&2.into(), &12000.into()));
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    for stage in ["warmup", "joint"] {
        let seconds = &report[format!("{stage}_epoch_seconds")];
        assert_eq!(seconds, &report[format!("{stage}_step_seconds")]);
        assert!(number(&seconds["min"]) <= number(&seconds["median"]));
        let phases = report["phases"][stage].as_object().unwrap();
        let sum: f64 = phases.values().map(number).sum();
        let mean = number(&seconds["mean"]);
        assert!((sum - mean).abs() <= 0.01 * mean, "{stage}: {sum} of {mean} s in phases");
        assert!((number(&phases["cluster"]) > 1e-5) == (stage == "joint"), "{phases:?}");
    }
    if let Some(peak) = report["peak_rss_bytes"].as_f64() {
        let estimate = number(&report["memory_estimate_bytes"]);
        assert!((estimate / peak - 1.0).abs() < 0.2, "{estimate} bytes estimated, {peak} taken");
    }
}

/// What a batch reads is not known before, so that more may be estimated than is taken, but never much less.
#[test]
fn memory_of_batches_is_no_more_than_what_was_estimated() {
    let sandbox = planted("30000");
    for batch in ["256", "2048"] {
        let report = bench(&sandbox, batch);
        assert_eq!(report["nodes_per_step"].to_string(), batch);
        assert!(report["joint_step_seconds"]["median"].as_f64().unwrap() > 0.0);
        assert!(report.get("joint_epoch_seconds").is_none(), "a step over a batch is no epoch");
        if let Some(peak) = report["peak_rss_bytes"].as_f64() {
            let estimate = report["memory_estimate_bytes"].as_f64().unwrap();
            println!("batch {batch}: {estimate} bytes estimated, {peak} taken");
            let times = estimate / peak;
            assert!(
                (0.8..2.0).contains(&times),
                "{batch}: {estimate} bytes estimated, {peak} taken"
            );
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_before_it_starts() {
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok()
    });
    if available.is_none_or(|kilobytes| kilobytes > 70_000_000) {
        println!("skipped: this machine does not say what it has, or has more than 70 GB");
        return;
    }
    let sandbox = planted("30000");
    for command in [&["bench", "planted"][..], &["train", "planted", "--out", "run"]] {
        let refused = sandbox.xgoal(&[command, &["--set", "dim=65536"]].concat()).refused(4);
        assert_says(&refused, &["training needs about", "GB are free"]);
    }
    assert!(!sandbox.exists("run"));
}
