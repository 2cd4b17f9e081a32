//! What does not fit into memory is refused before it starts, with code 4, and never killed.

use crate::common::{Sandbox, assert_says};

const TRAIN: &str =
    "train planted --threads 2 --quiet --set max_epochs=1 --set clusters=4 --set kmeans_restarts=1";

/// A graph that takes little itself, but half a gigabyte in 2048 dimensions.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.xgoal(&["generate", "--nodes", "4000", "--out", "planted"]).done();
    sandbox
}

#[test]
fn a_limit_is_kept_and_the_sum_is_said() {
    let sandbox = sandbox();
    let train = |limit: &str| {
        sandbox
            .shell(&format!("exec \"$0\" {TRAIN} --set dim=2048 --out run --memory-limit {limit}"))
    };
    let message = train("200M").refused(4);
    assert_says(&message, &["training needs about ", "(program 10 MB, graph ", "weights "]);
    assert_says(&message, &["200 MB are allowed by the memory limit", "dim = 512 would fit"]);
    assert!(!sandbox.exists("run"));
    assert_says(&train("much").refused(2), &["--memory-limit", "800M, 2G or 1.5GiB"]);
    let bench = ["bench", "planted", "--set", "dim=2048", "--memory-limit", "200MB"];
    assert_says(&sandbox.xgoal(&bench).refused(4), &["allowed by the memory limit"]);
    train("2GiB").done();
}

#[test]
fn under_a_limit_of_the_shell_it_is_refused_and_not_killed() {
    let sandbox = sandbox();
    let mut codes = Vec::new();
    for megabytes in [250, 350, 450, 550, 650, 750, 850, 1000, 1200] {
        let kilobytes = megabytes * 1000;
        let limited =
            format!("ulimit -v {kilobytes}; exec \"$0\" {TRAIN} --set dim=2048 --out run");
        let outcome = sandbox.shell(&limited);
        codes.push(outcome.code);
        if outcome.code == Some(0) {
            std::fs::remove_dir_all(sandbox.path("run")).unwrap();
            continue;
        }
        let message = outcome.refused(4);
        // Finding structure comes before training.
        assert_says(&message, &[" needs about ", "address space (`ulimit -v`)"]);
        assert!(!sandbox.exists("run"));
    }
    assert!(codes.contains(&Some(0)) && codes.contains(&Some(4)), "{codes:?}");
}

#[test]
fn tables_that_grow_beyond_memory_are_refused_while_they_are_read() {
    let sandbox = Sandbox::empty();
    let text = "x".repeat(400);
    let nodes: String = (0..250_000).map(|n| format!("n{n},{text}{n}\n")).collect();
    std::fs::create_dir(sandbox.path("t")).unwrap();
    sandbox.write("t/nodes.csv", format!("id,kind\n{nodes}"));
    sandbox.write("t/edges.csv", "from,to\nn0,n1\n");
    sandbox.write(
        "t/graph.toml",
        "[nodes]\nfile = \"nodes.csv\"\nid = \"id\"\n[[features]]\ncategorical = \"kind\"\n\
         [[layers]]\nname = \"e\"\nedges = \"edges.csv\"\nsource = \"from\"\ntarget = \"to\"\n",
    );
    // A hundred megabytes of text.
    let convert = |megabytes: u32| {
        let limit = format!("ulimit -v {}", megabytes * 1000);
        sandbox.shell(&format!("{limit}; exec \"$0\" convert t t.npz --threads 1 --quiet"))
    };
    for megabytes in [120, 180] {
        let message = convert(megabytes).refused(4);
        assert_says(&message, &["t/nodes.csv: its rows take more than ", "use less data"]);
    }
    convert(3000).done();
}

#[test]
fn pickles_larger_than_memory_are_read_or_refused() {
    let sandbox = Sandbox::empty();
    // What NumPy pickles: a dict of one array, whose numbers are a hole in the file.
    let columns = 50_000_000u32;
    let bytes = u64::from(columns) * 8;
    let mut pickle =
        b"\x80\x04}\x8c\x07feature\x8c\x15numpy.core.multiarray\x8c\x0c_reconstruct\x93".to_vec();
    pickle.extend(b"\x8c\x05numpy\x8c\x07ndarray\x93K\x00\x85C\x01b\x87R(K\x01K\x01J");
    pickle.extend(columns.to_le_bytes());
    pickle.extend(b"\x86\x8c\x05numpy\x8c\x05dtype\x93\x8c\x02f8\x89\x88\x87R(K\x03\x8c\x01<NNNJ");
    pickle.extend(b"\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89\x8e");
    pickle.extend(bytes.to_le_bytes());
    let begin = pickle.len() as u64;
    sandbox.write("hole.pkl", pickle);
    use std::io::{Seek, Write};
    let mut file = std::fs::OpenOptions::new().write(true).open(sandbox.path("hole.pkl")).unwrap();
    file.set_len(begin + bytes).unwrap();
    file.seek(std::io::SeekFrom::End(0)).unwrap();
    file.write_all(b"tbs.").unwrap();
    for (limit, says) in [
        // The file cannot even be mapped, or not what is in it kept.
        ("ulimit -v 300000", &["hole.pkl: reading it needs about "][..]),
        ("ulimit -v 700000", &["the arrays need more than", "half of what there is"]),
    ] {
        let outcome = sandbox.shell(&format!("{limit}; exec \"$0\" info hole.pkl --threads 1"));
        assert_says(&outcome.refused(4), says);
    }
    // A model that claims as much.
    sandbox.write("model.safetensors", 8u64.to_le_bytes());
    let model = sandbox.path("model.safetensors");
    std::fs::OpenOptions::new().write(true).open(model).unwrap().set_len(bytes).unwrap();
    let embed = "exec \"$0\" embed model.safetensors hole.pkl --out z.npy";
    let outcome = sandbox.shell(&format!("ulimit -v 300000; {embed}"));
    assert_says(&outcome.refused(4), &["model.safetensors: reading it needs about "]);
}
