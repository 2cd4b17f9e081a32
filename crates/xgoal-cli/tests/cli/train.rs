use crate::common::{
    QUICK, Sandbox, assert_keys, assert_says, overlapping, planted, small_graph, with_layers,
};
use crate::npz::Npz;
use std::time::{Duration, Instant};
use xgoal::graph::planted::Planted;

#[test]
fn a_run_folder_holds_what_is_documented() {
    let sandbox = Sandbox::with_graph();
    let report = sandbox.train("graph.npz", "run", &["--json"]).json();
    assert_keys(&report, &["run", "stages", "seconds", "peak_rss_bytes"]);
    assert_eq!(report["run"], "run");
    let seconds = report["seconds"].as_f64().unwrap();
    let parts = ["reading", "planning", "training", "writing"].map(|part| {
        let part = report["parts"][part].as_f64().unwrap();
        assert!(part > 0.0);
        part
    });
    assert!(parts.iter().sum::<f64>() <= seconds, "{parts:?} of {seconds}");
    if cfg!(target_os = "linux") {
        assert!(report["peak_rss_bytes"].as_u64().unwrap() > 1_000_000);
    }
    let files = [
        "config.toml",
        "embeddings.npy",
        "ids.txt",
        "metrics.jsonl",
        "model.safetensors",
        "warmup.safetensors",
    ];
    assert_eq!(sandbox.list("run"), files);

    let metrics = sandbox.metrics("run");
    let stages = report["stages"].as_array().unwrap();
    assert_eq!(stages.iter().map(|s| &s["name"]).collect::<Vec<_>>(), ["warmup", "joint"]);
    for stage in stages {
        assert_keys(stage, &["name", "epochs", "seconds", "final_loss", "steps", "passes"]);
        assert_eq!(stage["steps"], stage["epochs"]);
        assert_eq!(stage["passes"].as_f64(), stage["epochs"].as_f64());
        let lines: Vec<_> = metrics.iter().filter(|m| m["stage"] == stage["name"]).collect();
        assert_eq!(stage["epochs"], lines.len());
        assert_eq!(stage["final_loss"], lines.last().unwrap()["loss"]);
        for (epoch, line) in lines.iter().enumerate() {
            assert_keys(line, &["stage", "epoch", "loss", "l_n", "l_c", "r_n", "r_c", "seconds"]);
            assert_eq!(line["epoch"], epoch);
        }
    }
    let epochs: u64 = stages.iter().map(|s| s["epochs"].as_u64().unwrap()).sum();
    assert_eq!(metrics.len() as u64, epochs);
}

#[test]
fn a_pass_is_a_visit_to_every_node() {
    let sandbox = Sandbox::with_graph();
    let report = sandbox.train("graph.npz", "run", &["--set", "batch=15", "--json"]).json();
    for stage in report["stages"].as_array().unwrap() {
        let steps = stage["steps"].as_f64().unwrap();
        assert_eq!(stage["passes"].as_f64(), Some(steps / 4.0), "{stage}");
    }
}

#[test]
fn what_was_trained_is_looked_at_beside_what_takes_no_training() {
    let sandbox = Sandbox::with_graph();
    let scores = sandbox.train("graph.npz", "run", &["--json"]).json()["scores"].clone();
    let baselines = ["attributes", "averaged", "structure"];
    assert_keys(&scores["baselines"], &baselines);
    for scores in baselines.iter().map(|name| &scores["baselines"][name]).chain([&scores]) {
        let mean = scores["macro_f1"]["mean"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&mean), "{scores}");
        assert!(scores["sim"]["5"].is_number(), "{scores}");
    }
    let test = small_graph().splits().unwrap().test.len();
    assert_eq!(scores["test_nodes"], test);

    let said = sandbox.train("graph.npz", "said", &[]).stdout;
    let line = |start: &str| said.lines().position(|line| line.starts_with(start)).unwrap();
    assert!(line("A quick look; `xgoal eval`") < line("embeddings "), "{said}");
    assert!(line("embeddings ") < line("structure alone "), "{said}");
    let silent = sandbox.train("graph.npz", "silent", &["--no-baselines"]).stdout;
    assert!(!silent.contains("quick look"), "{silent}");
    assert_eq!(sandbox.list("said"), sandbox.list("silent"));
    let silent = sandbox.train("graph.npz", "json", &["--no-baselines", "--json"]).json();
    assert!(silent["scores"].is_null());
}

#[test]
fn labels_that_cannot_be_scored_do_not_end_a_run() {
    let sandbox = Sandbox::empty();
    let mut npz = Npz::of(&small_graph());
    npz.remove("label");
    sandbox.write("bare.npz", npz.bytes());
    let bare = sandbox.train("bare.npz", "bare", &["--json"]);
    assert!(bare.json()["scores"].is_null() && !bare.stderr.contains("no scores"));
    sandbox.write("both.npz", overlapping().bytes());
    let both = sandbox.train("both.npz", "both", &["--json"]);
    assert!(both.json()["scores"].is_null());
    assert_says(&both.stderr, &["no scores: ", "the train and the test split share"]);
}

#[test]
fn ids_come_back_as_they_went_in() {
    let sandbox = Sandbox::with_run();
    let ids = sandbox.text("run/ids.txt");
    let expected: Vec<String> = (0..60).rev().map(|n| format!("Nº {n}, \"p\"")).collect();
    assert_eq!(ids.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn the_written_configuration_repeats_the_run() {
    let sandbox = Sandbox::with_graph();
    let changes = ["--seed", "7", "--set", "tau=0.5,1", "--method", "goal", "--layers"];
    let more = ["layer1,layer0", "--set", "lambda_c=0.2"];
    let structure = ["--set", "structure=4", "--set", "structure_weight=0.5"];
    let changes = [&changes[..], &more, &structure].concat();
    sandbox.train("graph.npz", "first", &changes);
    let again = ["train", "graph.npz", "--out", "again", "--config", "first/config.toml"];
    sandbox.xgoal(&again).done();
    for file in ["embeddings.npy", "config.toml", "model.safetensors"] {
        assert!(sandbox.read(&format!("first/{file}")) == sandbox.read(&format!("again/{file}")));
    }
    let config = sandbox.text("again/config.toml");
    assert_says(&config, &["seed = 7", "tau = [0.5, 1.0]", "method = \"goal\"", "dim = 8"]);
    assert_says(&config, &["layers = [\"layer1\", \"layer0\"]"]);
}

#[test]
fn what_auto_chose_stands_in_the_configuration_and_repeats_the_run() {
    let sandbox = Sandbox::with_graph();
    let found = sandbox.train("graph.npz", "found", &["--set", "clusters=auto,3"]);
    let reason = found.stderr.lines().find(|line| line.starts_with("clusters: ")).unwrap();
    assert_says(reason, &[", 3, two for each of the ", " directions in which nodes differ"]);
    let config = sandbox.text("found/config.toml");
    assert!(config.contains(&format!("\n# {reason}\n")), "{config}");
    let number: usize = reason["clusters: ".len()..].split(',').next().unwrap().parse().unwrap();
    assert!((2..=8).contains(&number), "{reason}");
    assert_says(&config, &[&format!("clusters = [{number}, 3]")]);
    let given = ["train", "graph.npz", "--out", "given", "--config", "found/config.toml"];
    let given = sandbox.xgoal(&given).done();
    assert!(!given.stderr.contains("directions"), "{}", given.stderr);
    let [found, given] =
        ["found", "given"].map(|run| sandbox.read(&format!("{run}/embeddings.npy")));
    assert!(found == given);
}

#[test]
fn flags_win_over_single_settings_and_these_over_the_file() {
    let sandbox = Sandbox::with_graph();
    sandbox.write("my.toml", "dim = 5\nseed = 1\nlr = 0.5\n");
    let changes = ["--config", "my.toml", "--set", "seed=2", "--set", "lr=0.25", "--seed", "3"];
    sandbox.train("graph.npz", "run", &changes);
    let config = sandbox.text("run/config.toml");
    assert_says(&config, &["dim = 8", "lr = 0.25", "seed = 3"]);
}

#[test]
fn a_seed_decides_and_threads_do_not() {
    let sandbox = Sandbox::empty();
    // Larger than a block of rows, so that threads really share the work.
    let graph = planted(&Planted { nodes: 700, attributes: 100, ..Planted::default() });
    sandbox.write("graph.npz", Npz::of(&graph).bytes());
    for threads in ["1", "2", "4"] {
        sandbox.train("graph.npz", threads, &["--threads", threads]);
    }
    sandbox.train("graph.npz", "other", &["--seed", "1"]);
    let [one, two, four, other] =
        ["1", "2", "4", "other"].map(|run| sandbox.read(&format!("{run}/embeddings.npy")));
    assert!(one == two && two == four);
    assert!(one != other);
}

#[test]
fn goal_aligns_nothing() {
    let sandbox = Sandbox::with_graph();
    sandbox.train("graph.npz", "goal", &["--method", "goal"]);
    sandbox.train("graph.npz", "xgoal", &["--method", "xgoal"]);
    assert!(sandbox.metrics("goal").iter().all(|m| m["r_n"].is_null() && m["r_c"].is_null()));
    assert!(sandbox.metrics("xgoal").iter().all(|m| m["r_n"].is_number()));
    assert!(sandbox.read("goal/embeddings.npy") != sandbox.read("xgoal/embeddings.npy"));
}

#[test]
fn a_stage_can_be_left_out_and_a_layer_stand_alone() {
    let sandbox = Sandbox::with_graph();
    let more = ["--layers", "layer1", "--set", "warmup=off", "--json"];
    let report = sandbox.train("graph.npz", "run", &more).json();
    assert_eq!(report["stages"].as_array().unwrap().len(), 1);
    assert_eq!(report["stages"][0]["name"], "joint");
    assert_says(&sandbox.text("run/config.toml"), &["layers = [\"layer1\"]"]);
}

#[test]
fn a_preset_takes_a_layer_by_its_other_name_and_says_so() {
    let sandbox = Sandbox::empty();
    sandbox.write("graph.npz", with_layers(&small_graph(), &["PAP", "PSP"]).bytes());
    let said = "layers: PLP is called PSP here\n";
    let trained = sandbox.train("graph.npz", "run", &["--preset", "acm"]);
    assert_says(&trained.stderr, &[said, "layers PSP, PAP\n"]);
    let config = sandbox.text("run/config.toml");
    assert_says(&config, &[said, "layers = [\"PSP\", \"PAP\"]", "tau = [0.02, 1.0]"]);
    // What is read for the run later has the names it was trained by.
    let embedded = sandbox.xgoal(&["embed", "run", "graph.npz", "--out", "z.npy"]).done();
    assert!(!embedded.stderr.contains("is called"), "{}", embedded.stderr);
    assert!(sandbox.read("z.npy") == sandbox.read("run/embeddings.npy"));
    sandbox.xgoal(&["eval", "run", "graph.npz"]).done();
    let info = sandbox.xgoal(&["info", "graph.npz", "--preset", "acm"]).done();
    assert_says(&info.stderr, &[said]);
}

#[test]
fn an_existing_run_is_refused_and_kept() {
    let sandbox = Sandbox::with_run();
    let before = sandbox.read("run/metrics.jsonl");
    let again = [&["train", "graph.npz", "--out", "run", "--quiet"], &QUICK[..]].concat();
    let message = sandbox.xgoal(&again).refused(3);
    assert_says(&message, &["run: there is already a run here", "--resume"]);
    // Nor is what somebody else keeps under the names of a run's files.
    for name in ["embeddings.npy", "ids.txt", "metrics.jsonl"] {
        std::fs::create_dir_all(sandbox.path("mine")).unwrap();
        sandbox.write(&format!("mine/{name}"), "mine");
        let refused = sandbox.xgoal(&["train", "graph.npz", "--out", "mine", "-q"]).refused(3);
        assert_says(&refused, &[&format!("mine/{name}: a file of no run")]);
        assert_eq!(sandbox.text(&format!("mine/{name}")), "mine");
        std::fs::remove_file(sandbox.path(format!("mine/{name}"))).unwrap();
    }
    assert!(sandbox.read("run/metrics.jsonl") == before);
}

#[test]
fn words_go_to_standard_error_and_quiet_keeps_them() {
    let sandbox = Sandbox::with_graph();
    let loud = sandbox.train("graph.npz", "loud", &["--json"]);
    assert_says(&loud.stderr, &["graph.npz: 60 nodes, 24 attributes", "warmup: ", "joint: "]);
    let quiet = sandbox.train("graph.npz", "quiet", &["--quiet"]);
    assert_eq!(quiet.stderr, "");
    assert_says(&quiet.stdout, &["quiet: ", "xgoal eval quiet graph.npz"]);
    for args in [
        &["info", "graph.npz", "--quiet"][..],
        &["embed", "quiet", "graph.npz", "--out", "z.npy", "--quiet"],
        &["eval", "quiet", "graph.npz", "--quiet"],
    ] {
        assert_eq!(sandbox.xgoal(args).done().stderr, "");
    }
}

#[test]
fn work_goes_on_when_nobody_reads_any_more() {
    let sandbox = Sandbox::with_graph();
    let train = [&["train", "graph.npz", "--out", "run"], &QUICK[..]].concat();
    for (args, code) in [(&train[..], 0), (&["info", "missing.npz"], 3)] {
        let mut child = sandbox.start_unread(args);
        let started = Instant::now();
        let ended = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if started.elapsed() > Duration::from_secs(60) => {
                    child.kill().unwrap();
                    panic!("still running: {args:?}");
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        assert_eq!(ended.code(), Some(code), "{args:?}");
    }
    sandbox.xgoal(&["eval", "run", "graph.npz"]).done();
}
