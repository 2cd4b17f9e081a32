//! Inputs that once broke a reader or took more than they may: files of `findings`, named after their target, and
//! those that are shorter to say than to keep.

use std::path::PathBuf;
use xgoal_fuzz::{Target, parts, try_input};

#[track_caller]
fn passes(target: &str, input: &[u8]) {
    try_input(Target::find(target).expect("a target"), input).unwrap();
}

#[test]
fn kept_inputs() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/findings");
    for entry in std::fs::read_dir(folder).expect("the folder of findings") {
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
