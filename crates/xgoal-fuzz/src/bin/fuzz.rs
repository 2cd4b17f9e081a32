//! The target that `XGOAL_FUZZ_TARGET` names, under libFuzzer; or with `XGOAL_FUZZ_SEEDS`, the seeds of all targets,
//! written into that folder.
//!
//! One program for all targets: linking the library with coverage takes longer than reading a variable.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::OnceLock;
use xgoal_fuzz::{TARGETS, Target, seeds};

static TARGET: OnceLock<Target> = OnceLock::new();

fn prepare() {
    if let Some(folder) = std::env::var_os("XGOAL_FUZZ_SEEDS") {
        write_seeds(folder.as_ref()).expect("seeds are written");
        std::process::exit(0);
    }
    let name = std::env::var("XGOAL_FUZZ_TARGET").unwrap_or_default();
    let Some(target) = Target::find(&name) else {
        let names = TARGETS.map(|t| t.name).join(", ");
        eprintln!("XGOAL_FUZZ_TARGET is `{name}`; expected one of {names}");
        std::process::exit(2);
    };
    TARGET.get_or_init(|| target);
    let _ = rayon::ThreadPoolBuilder::new().num_threads(2).build_global();
    // What a reader catches is an error like any other; what leaves a target ends the process below.
    let _ = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| xgoal_fuzz::note_panic(&info.to_string())));
}

fn write_seeds(folder: &Path) -> std::io::Result<()> {
    for target in TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (name, bytes) in seeds::of(target.name) {
            std::fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}

fuzz_target!(init: prepare(), |input: &[u8]| {
    let target = TARGET.get().expect("chosen at the start");
    if let Err(finding) = xgoal_fuzz::try_input(*target, input) {
        eprintln!("{}: {finding}", target.name);
        std::process::abort();
    }
});
