//! The authors' checkpoints on ACM, where they lie beside the project in `../shared`.

use crate::common::Sandbox;
use std::io::Write;
use std::path::PathBuf;

fn shared() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if folder.join("data").is_dir() && folder.join("checkpoints").is_dir() {
        return Some(folder);
    }
    // Written past the harness, which would keep a passing test's words to itself.
    std::io::stderr().write_all(b"skipped: ../shared is not there\n").unwrap();
    None
}

#[test]
fn published_checkpoints_score_as_published() {
    let Some(shared) = shared() else { return };
    let sandbox = Sandbox::empty();
    let acm = shared.join("data/acm.mat");
    let acm = acm.to_str().unwrap();
    for (name, expected) in [
        ("acm_xgoal.pkl", [0.920, 0.918, 0.776, 0.924]),
        ("warmup_acm_xgoal.pkl", [0.880, 0.881, 0.681, 0.902]),
    ] {
        let checkpoint = shared.join("checkpoints").join(name);
        let checkpoint = checkpoint.to_str().unwrap();
        sandbox.xgoal(&["embed", checkpoint, acm, "--preset", "acm", "--out", "z.npy"]).done();
        let scores = sandbox.xgoal(&["eval", "z.npy", acm, "--json"]).done().json();
        let found = [
            &scores["macro_f1"]["mean"],
            &scores["micro_f1"]["mean"],
            &scores["nmi"]["mean"],
            &scores["sim"]["5"],
        ]
        .map(|v| v.as_f64().unwrap());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 0.006, "{name}: {found}, expected {expected}");
        }
    }
}
