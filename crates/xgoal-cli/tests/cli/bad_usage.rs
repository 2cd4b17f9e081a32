//! What cannot be meant: exit code 2, before anything is written.

use crate::common::{Sandbox, assert_says, small_graph};
use crate::npz::Npz;

/// Trains with the given arguments, which must be refused; gives the message.
fn train(sandbox: &Sandbox, more: &[&str]) -> String {
    let args = [&["train", "graph.npz", "--out", "run", "--quiet"], more].concat();
    let message = sandbox.xgoal(&args).refused(2);
    assert!(!sandbox.exists("run"), "{message}");
    message
}

#[test]
fn settings_are_checked_by_name_type_and_range() {
    let sandbox = Sandbox::with_graph();
    let refused = |more: &[&str], parts: &[&str]| assert_says(&train(&sandbox, more), parts);
    refused(&["--set", "dimension=3"], &["unknown setting `dimension`", "dim, "]);
    refused(&["--set", "dim"], &["--set dim", "KEY=VALUE"]);
    refused(&["--set", "dim=0"], &["`dim`", "found 0", "from 1 to 65536"]);
    refused(&["--set", "dim=many"], &["`dim`", "many", "a whole number"]);
    refused(&["--set", "p_drop=1"], &["`p_drop`", "found 1", "less than 1"]);
    refused(&["--set", "lr=nan"], &["`lr`", "NaN", "a finite number above 0"]);
    refused(&["--set", "tau=1,1,1"], &["`tau`", "3 values", "the 2 layers"]);
    refused(&["--set", "activation=gelu"], &["`activation`", "gelu", "tanh"]);
    refused(&["--method", "gaol"], &["`method`", "gaol", "xgoal"]);
    refused(&["--seed", "9223372036854775808"], &["seed", "9223372036854775808"]);
    refused(&["--preset", "acme"], &["`acme`", "auto, acm, imdb, dblp, amazon"]);
}

#[test]
fn settings_in_a_file_are_checked_alike() {
    let sandbox = Sandbox::with_graph();
    sandbox.write("my.toml", "dimension = 3\n");
    let message = train(&sandbox, &["--config", "my.toml"]);
    assert_says(&message, &["unknown setting `dimension` in my.toml"]);
    sandbox.write("my.toml", "dim = \"three\"\n");
    let message = train(&sandbox, &["--config", "my.toml"]);
    assert_says(&message, &["`dim`", "\"three\"", "my.toml"]);
    sandbox.write("my.toml", "dim = \n");
    for (file, part) in [("my.toml", "dim = "), ("none.toml", "No such file")] {
        let args = ["train", "graph.npz", "--out", "run", "--config", file];
        assert_says(&sandbox.xgoal(&args).refused(3), &[file, part]);
    }
    assert!(!sandbox.exists("run"));
}

#[test]
fn mistakes_in_a_file_name_its_line_and_what_was_meant() {
    let sandbox = Sandbox::with_graph();
    let refused = |text: &str, parts: &[&str]| {
        sandbox.write("my.toml", text);
        assert_says(&train(&sandbox, &["--config", "my.toml"]), parts);
    };
    refused("\n\np_drop = 7\n", &["`p_drop`", "found 7 in my.toml (line 3)", "less than 1"]);
    refused("dim = 8\ndim_ = 9\n", &["`dim_` in my.toml (line 2); did you mean `dim`?", "tau, "]);
    refused("dim = \"x\"\n", &["my.toml (line 1), expected a whole number from 1 to 65536"]);
    let large = "dim = 8\nseed = 9223372036854775808\n";
    refused(large, &["`seed`: found 9223372036854775808 in my.toml (line 2)", "2^63 - 1"]);
    refused("lr = 1e999\n", &["`lr`: found 1e999 in my.toml (line 1)", "a finite number above 0"]);
    refused("layers = []\n", &["`layers`: found [] in my.toml (line 1)", "one layer name or more"]);
    let empty = train(&sandbox, &["--set", "layers=[]"]);
    assert_says(&empty, &["`layers`: found []", "one layer name or more"]);
    let slip = train(&sandbox, &["--set", "p_dorp=0.5"]);
    assert_says(&slip, &["unknown setting `p_dorp`; did you mean `p_drop`?"]);
}

#[test]
fn layers_must_be_the_graph_s_and_named_once() {
    let sandbox = Sandbox::with_graph();
    let missing = train(&sandbox, &["--layers", "PAP,layer0"]);
    assert_says(&missing, &["`PAP`", "layer0, layer1"]);
    assert_says(&train(&sandbox, &["--layers", "layer0,layer0"]), &["`layer0`", "twice"]);
    assert_says(&train(&sandbox, &["--preset", "acm"]), &["`PLP`", "layer0, layer1"]);
    let info = sandbox.xgoal(&["info", "graph.npz", "--layers", "layer9"]).refused(2);
    assert_says(&info, &["`layer9`", "layer0, layer1"]);
}

#[test]
fn arguments_are_explained() {
    let sandbox = Sandbox::with_graph();
    for args in [
        &["train", "graph.npz"][..],
        &["fit", "graph.npz"],
        &["info"],
        &["info", "graph.npz", "--threads", "0"],
        &["eval", "graph.npz"],
    ] {
        assert_says(&sandbox.xgoal(args).refused(2), &["--help"]);
    }
    let help = sandbox.xgoal(&["--help"]).done().stdout;
    assert_says(&help, &["Exit codes: 0 done, 2 wrong usage, 3 bad data", "demo", "embed"]);
}

#[test]
fn numbers_out_of_range_are_told_their_range() {
    let sandbox = Sandbox::with_graph();
    for (args, parts) in [
        (&["info", "graph.npz", "--threads", "1025"][..], ["1025", "1..=1024"]),
        (&["info", "graph.npz", "--threads", "-1"], ["-1", "1..=1024"]),
        (&["train", "graph.npz", "--out", "r", "--seed", "-1"], ["-1", "from 0 to 2^63 - 1"]),
        (&["demo", "--seed", "-1"], ["-1", "from 0 to 2^63 - 1"]),
        (&["eval", "r", "graph.npz", "--seed", "-1"], ["-1", "from 0 to 2^63 - 1"]),
        (&["cluster", "r", "--seed", "x"], ["x", "from 0 to 2^63 - 1"]),
        (&["report", "r", "--seed", "-1"], ["-1", "from 0 to 2^63 - 1"]),
        (&["generate", "--out", "g", "--seed", "-1"], ["-1", "from 0 to 2^63 - 1"]),
    ] {
        let message = sandbox.xgoal(args).refused(2);
        assert_says(&message, &parts);
        assert!(!message.contains("use '-- -1'"), "{message}");
    }
}

#[test]
fn help_says_what_the_command_does() {
    let sandbox = Sandbox::empty();
    let help = |command| {
        let text = sandbox.xgoal(&[command, "--help"]).done().stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let swept = "--set <KEY=A,B,...> A setting and its values, KEY=A,B,..; a value per layer stands in \
                 brackets; may be repeated";
    assert_says(&help("sweep"), &[swept]);
    assert_says(&help("train"), &["One setting, on top of preset and file"]);
    assert_says(&help("embed"), &["Layers and settings of an authors' checkpoint"]);
    assert_says(&help("info"), &["Start from a preset"]);
    assert_says(&help("cluster"), &["-k, --k <K>"]);
    assert!(!help("demo").contains("explain"));
}

#[test]
fn a_job_too_large_for_the_machine_is_refused_before_it_starts() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let sandbox = Sandbox::empty();
    let mut npz = Npz::of(&small_graph());
    let wide = xgoal::matrix::Csr::from_triplets(60, 4_000_000, vec![(0, 3_999_999, 1.0)]);
    npz.sparse("feature", &wide.unwrap());
    sandbox.write("graph.npz", npz.bytes());
    let args = ["train", "graph.npz", "--out", "run", "--set", "dim=65536"];
    assert_says(&sandbox.xgoal(&args).refused(4), &["needs about", "GB", "dim = "]);
    assert!(!sandbox.exists("run"));
}
