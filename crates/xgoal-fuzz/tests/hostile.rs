//! Every target on its seeds, on each beginning of them and on seeded changes: a short deterministic fuzzing run.

use std::sync::Once;
use std::time::Instant;
use xgoal_fuzz::mutate::{Draw, mutated};
use xgoal_fuzz::{TARGETS, Target, note_panic, seeds, try_input};

/// Changed inputs of each target.
const CHANGES: usize = 2500;
/// Beginnings of a seed that are tried, evenly spread over longer ones.
const BEGINNINGS: usize = 300;

fn quiet() {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            note_panic(&info.to_string());
            // What a reader catches in a thread of its own is no news.
            if std::thread::current()
                .name()
                .is_some_and(|name| name == "main" || name.contains("hostile"))
            {
                usual(info);
            }
        }));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
        pool.build_global().expect("the first pool");
    });
}

fn must_pass(target: Target, what: &str, input: &[u8]) {
    if let Err(finding) = try_input(target, input) {
        let path = std::env::temp_dir().join(format!("xgoal-fuzz-{}", target.name));
        std::fs::write(&path, input).expect("room for the input");
        panic!("{}, {what}: {finding}; the input is in {}", target.name, path.display());
    }
}

#[test]
fn no_input_is_too_hostile() {
    quiet();
    for target in TARGETS {
        let start = Instant::now();
        let seeds = seeds::of(target.name);
        for (name, bytes) in &seeds {
            let step = bytes.len().div_ceil(BEGINNINGS).max(1);
            for end in (0..=bytes.len()).rev().step_by(step) {
                must_pass(target, &format!("{name} cut at {end}"), &bytes[..end]);
            }
        }
        let mut draw = Draw::new(1);
        for change in 0..CHANGES {
            let (name, bytes) = &seeds[change % seeds.len()];
            must_pass(target, &format!("{name}, change {change}"), &mutated(bytes, &mut draw));
        }
        println!("{}: {} seeds in {:?}", target.name, seeds.len(), start.elapsed());
    }
}
