//! Inputs that once broke a reader or took more than they may: files of `findings`, named after their target, and
//! those that are shorter to say than to keep.

use std::path::PathBuf;
use xgoal_fuzz::{Target, parts, seeds, try_input};

#[track_caller]
fn passes(target: &str, input: &[u8]) {
    try_input(Target::find(target).expect("a target"), input).unwrap();
}

#[test]
fn kept_inputs() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/findings");
    // Git keeps no empty folder: without files there is none.
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name");
        let (target, _) = name.split_once('-').expect("TARGET-what");
        let input = std::fs::read(&path).expect("a finding");
        let target = Target::find(target).unwrap_or_else(|| panic!("{name}: no such target"));
        try_input(target, &input).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// Room was set aside for a row per line in every column, and empty lines are no rows.
#[test]
fn many_columns_and_many_empty_lines() {
    let (columns, lines) = (",".repeat(30_000), "\n".repeat(30_000));
    passes("delimited", format!("id{columns}{lines}").as_bytes());
}

/// A list that the memo names again became a new dict each time.
#[test]
fn dicts_of_one_list() {
    let pairs = b"K\x01K\x02\x86".repeat(5000);
    let dicts = b"ccollections\nOrderedDict\nh\0\x85R".repeat(3000);
    passes("pickle", &[b"\x80\x02](", &pairs[..], b"eq\0(", &dicts, b"l."].concat());
}

/// A matrix without values claimed the length of its bias.
#[test]
fn a_checkpoint_of_no_values() {
    let tensor = b"X\x0d\0\0\0gcn.fc.weightctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n\
        X\x01\0\0\x000X\x03\0\0\0cpuK\0tQK\0\x8a\x06\0\0\0\0\0\x01K\0\x86K\0K\0\x86\x89}tR";
    let program = [b"m/data.pkl\n\x80\x02}(", &tensor[..], b"u."].concat();
    passes("torch", &parts::join(&[&program[..], b"m/data/0\n"]));
}

/// The seed of a run, with a text in its state's header replaced; the target mends the checksum.
fn run_with(from: &str, to: &str) -> Vec<u8> {
    let (_, seed) = seeds::of("run").remove(0);
    let parts = parts::split(&seed);
    let state = parts::join(&parts[2..]);
    let (length, rest) = state.split_first_chunk::<8>().expect("a length");
    let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let header = std::str::from_utf8(header).expect("JSON");
    assert!(header.contains(from), "{header}");
    let header = header.replace(from, to);
    let state = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat();
    parts::join(&[parts[0], parts[1], &state])
}

/// Weights of the right number in the wrong shape were taken over, and the next epoch multiplied them.
#[test]
fn a_state_of_transposed_weights() {
    passes("run", &run_with("\"shape\":[8,3]", "\"shape\":[3,8]"));
}

/// Counts of updates and epochs at their ends overflowed with the next epoch.
#[test]
fn a_state_of_too_many_updates() {
    passes("run", &run_with("\"updates\":\"1\"", &format!("\"updates\":\"{}\"", u64::MAX)));
}
