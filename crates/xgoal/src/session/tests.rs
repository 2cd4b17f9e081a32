use super::*;
use crate::graph::planted::Planted;
use crate::graph::{Fingerprint, Layer, MultiplexGraph};
use crate::io::embeddings::Rows;
use crate::io::state::SavedState;
use crate::run::{self, Cadence, Run, Unfinished};
use crate::settings::{Preset, Settings};
use std::path::Path;

fn graph() -> MultiplexGraph {
    let planted = Planted { nodes: 80, communities: 4, attributes: 30, ..Planted::default() };
    planted.generate().unwrap()
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    for (key, value) in [("dim", "8"), ("max_epochs", "6"), ("cluster_every", "3")] {
        settings.set(key, value).unwrap();
    }
    settings
}

fn planned(graph: &MultiplexGraph) -> Plan<'_> {
    plan(graph, settings(), Limits::default()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Writes down in which order it is told what.
#[derive(Default)]
struct Told(Vec<String>);

impl Told {
    fn tell(&mut self, what: impl Into<String>) -> Result<()> {
        self.0.push(what.into());
        Ok(())
    }
}

impl Sink for Told {
    fn begin(&mut self, _: &Config, _: &Fingerprint) -> Result<Option<SavedState>> {
        self.tell("begin").map(|()| None)
    }
    fn warmup_ended(&mut self, model: &dyn Fn() -> Result<Model>) -> Result<()> {
        assert_eq!(model()?.weights().len(), 2);
        self.tell("warmup")
    }
    fn decided(&mut self, trainer: &Trainer) -> Result<()> {
        assert_ne!(trainer.resolved(), *trainer.config());
        self.tell("decided")
    }
    fn epoch(&mut self, record: &EpochRecord, trainer: &Trainer) -> Result<()> {
        // A state that is saved here knows of what this epoch ended.
        self.tell(format!("{}{}", record.stage, trainer.progress().epoch))
    }
    fn interrupted(&mut self, _: &Trainer) -> Result<()> {
        self.tell("interrupted")
    }
    fn finish(&mut self, outcome: &mut Outcome) -> Result<()> {
        self.tell(if outcome.interrupted { "so far" } else { "finish" })
    }
}

#[test]
fn events_and_what_is_written_come_in_one_order() {
    let graph = graph();
    let plan = planned(&graph);
    let mut told = Told::default();
    let mut session = Session::start(&plan, &mut told).unwrap();
    let mut events = Vec::new();
    while let Some(event) = session.next().unwrap() {
        events.push(match event {
            Event::FindingClusters { first } => format!("finding{}", u8::from(first)),
            Event::Epoch(record) => format!("{}{}", record.stage, record.epoch),
            Event::FoundClusters { .. } => "found".into(),
            Event::StageEnded(stage) => format!("{} ended", stage.name),
            Event::Decided(decision) => decision.key,
        });
    }
    let decided = "clusters lambda_c";
    assert_eq!(
        events.join(" "),
        format!(
            "warmup0 warmup1 warmup2 warmup3 warmup4 warmup5 warmup ended finding1 joint0 found {decided} \
             joint1 joint2 finding0 joint3 found joint4 joint5 joint ended"
        )
    );
    let outcome = session.finish().unwrap();
    assert_eq!(
        told.0.join(" "),
        "begin warmup1 warmup2 warmup3 warmup4 warmup5 warmup warmup0 decided joint1 joint2 joint3 \
         joint4 joint5 joint6 finish"
    );
    let made: Vec<&str> = outcome.model.config().decisions().iter().map(|d| &d.key[..]).collect();
    assert!(made.join(" ").ends_with(decided), "{made:?}");
    assert!(!outcome.interrupted && outcome.stages.len() == 2);
}

#[test]
fn what_is_stopped_is_told_to_its_end_and_goes_on_to_the_same_bits() {
    let graph = graph();
    for batch in ["all", "32"] {
        let mut settings = settings();
        settings.set("batch", batch).unwrap();
        stop_and_go_on(&plan(&graph, settings, Limits::default()).unwrap());
    }
}

/// Stops a training of six epochs of each stage at several places, and goes on with it.
fn stop_and_go_on(plan: &Plan<'_>) {
    let folder = tempfile::tempdir().unwrap();
    let mut whole = Session::start(plan, Vec::new()).unwrap();
    while whole.next().unwrap().is_some() {}
    let history = std::mem::take(&mut whole.sink);
    let mut whole = whole.finish().unwrap();
    assert_eq!(history.len(), 12);

    // Before the first epoch, in the warm-up, at its end, before clusters are found, and at the very end.
    for epochs in [0, 2, 6, 7, 12] {
        let path = folder.path().join(epochs.to_string());
        let run = RunFolder::create(&path, plan).with_cadence(Cadence::Epochs(100));
        let mut session = Session::start(plan, run).unwrap();
        assert!(!session.sink().goes_on());
        while session.progress().epochs() < epochs {
            session.next().unwrap().unwrap();
        }
        session.stop();
        let mut left = Vec::new();
        while let Some(event) = session.next().unwrap() {
            left.push(event);
        }
        assert_eq!(session.progress().epochs(), epochs);
        assert_eq!(
            left.iter().any(|e| matches!(e, Event::StageEnded(_))),
            epochs % 6 == 0 && epochs > 0
        );
        let mut outcome = session.finish().unwrap();
        assert_eq!(outcome.interrupted, epochs < 12);
        assert_eq!(outcome.embeddings().unwrap().rows(), 80);
        assert!(path.join("embeddings.npy").exists());
        if epochs == 12 {
            assert!(Run::is_finished(&path));
            continue;
        }

        let unfinished = Unfinished::open(&path).unwrap();
        let settings = unfinished.settings().clone();
        let again = super::plan(plan.graph(), settings, Limits::default()).unwrap();
        let run = RunFolder::resume(unfinished, &again);
        let mut session = Session::start(&again, run).unwrap();
        assert!(session.sink().goes_on());
        assert_eq!(session.progress().epochs(), epochs);
        while session.next().unwrap().is_some() {}
        let mut outcome = session.finish().unwrap();
        assert_eq!(outcome.embeddings().unwrap(), whole.embeddings().unwrap(), "{epochs}");
        assert_eq!(outcome.layers().unwrap(), whole.layers().unwrap());
        let prototypes = outcome.prototypes().unwrap();
        assert_eq!(prototypes, whole.prototypes().unwrap());
        assert!(prototypes.unwrap().iter().all(|p| p.assignments.len() == 80));
        assert_eq!(outcome.model.config().settings(), whole.model.config().settings());
        let metrics = std::fs::read_to_string(run::metrics_path(&path)).unwrap();
        let losses: Vec<f64> = metrics
            .lines()
            .map(|line| serde_json::from_str::<run::Epoch>(line).unwrap().loss)
            .collect();
        assert!(losses.iter().eq(history.iter().map(|record| &record.loss)));
        let files =
            "config.toml embeddings.npy ids.txt metrics.jsonl model.safetensors warmup.safetensors";
        assert_eq!(names(&path).join(" "), files);
    }
}

#[test]
fn a_training_without_a_folder_is_written_as_a_run_that_lacks_nothing() {
    let graph = graph();
    let plan = planned(&graph);
    let mut session = Session::start(&plan, ()).unwrap();
    while session.next().unwrap().is_some() {}
    let mut outcome = session.finish().unwrap();
    let (mean, model) = (&outcome.embeddings().unwrap(), &outcome.model);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let ids: Vec<String> = (0..80).map(|n| format!("n{n}")).collect();
    let rows = Rows::new(80, Some(&ids)).unwrap();
    Run::write(&path, model, mean, rows, "{\"epoch\":0}\n").unwrap();
    assert!(Run::is_finished(&path) && !Run::is_resumable(&path));
    let files = "config.toml embeddings.npy ids.txt metrics.jsonl model.safetensors";
    assert_eq!(names(&path).join(" "), files);
    assert_eq!(std::fs::read_to_string(path.join("metrics.jsonl")).unwrap(), "{\"epoch\":0}\n");
    assert!(std::fs::read_to_string(path.join("ids.txt")).unwrap().starts_with("n0\nn1\n"));
    let config = std::fs::read_to_string(path.join("config.toml")).unwrap();
    assert!(config.contains("\n# clusters: ") && config.contains("\n# lambda_c: "), "{config}");
    let message = Run::write(&path, model, mean, rows, "").unwrap_err().to_string();
    assert!(message.contains("already a run here"), "{message}");

    let message = Rows::new(80, Some(&ids[1..])).unwrap_err().to_string();
    assert_eq!(message, "79 ids for 80 nodes");
    let twice = [ids[0].clone(), ids[0].clone()];
    let message = Rows::new(2, Some(&twice)).unwrap_err().to_string();
    assert_eq!(message, "the id `n0` stands for two nodes");
}

#[test]
fn what_does_not_fit_is_not_planned() {
    let graph = graph();
    let limits = |bytes| Limits { memory: Some(bytes), ..Limits::default() };
    let refused = |bytes| plan(&graph, settings(), limits(bytes)).unwrap_err();
    assert!(refused(1000).to_string().starts_with("looking at the graph"));
    // Finding structure would take more than this training.
    let without = Settings { structure: Some(0), ..settings() };
    let planned = plan(&graph, without, Limits::default()).unwrap();
    let bytes = planned.memory().bytes;
    let given = planned.config().settings().clone();
    let tight = Plan::look(&graph, given.clone(), limits(bytes - 1)).unwrap();
    assert!(tight.check().unwrap_err().to_string().starts_with("training needs"));
    Plan::look(&graph, given, limits(bytes)).unwrap().check().unwrap();
}

#[test]
fn plans_alike_share_the_layers_and_differ_in_settings() {
    let graph = graph();
    let without = || Settings { structure: Some(0), ..settings() };
    let plan = plan(&graph, without(), Limits::default()).unwrap();
    let other = plan.alike(Settings { dim: 16, ..without() }).unwrap();
    assert_eq!(other.config().layer_names(), plan.config().layer_names());
    assert_eq!(other.config().settings().dim, 16);
    assert!(other.memory().bytes > plan.memory().bytes);
    assert_eq!(plan.with(other.config().clone()).memory(), other.memory());
}

#[test]
fn a_preset_selects_its_layers_by_either_name() {
    let graph = |names: [&str; 3]| {
        let graph = Planted { nodes: 80, layers: 3, ..Planted::default() }.generate().unwrap();
        let parts = graph.into_parts();
        let layers = parts.layers.into_iter().zip(names);
        let layers =
            layers.map(|(layer, name)| Layer { name: name.into(), adjacency: layer.adjacency });
        MultiplexGraph::new(layers.collect(), parts.attributes).unwrap()
    };
    let of = |names, preset: Preset| plan(graph(names), preset.settings(), Limits::default());
    let own = of(["PAP", "PTP", "PLP"], Preset::Acm).unwrap();
    assert_eq!(own.graph().layer_names(), ["PLP", "PAP"]);
    assert!(own.decisions().is_empty(), "{:?}", own.decisions());
    let other = of(["PAP", "PTP", "PSP"], Preset::Acm).unwrap();
    assert_eq!(other.config().layer_names(), ["PSP", "PAP"]);
    assert_eq!(other.config().settings().clusters, own.config().settings().clusters);
    assert_eq!(other.decisions()[0].to_string(), "layers: PLP is called PSP here");
    assert_eq!(other.graph().layers()[0].adjacency, own.graph().layers()[0].adjacency);
    let dblp = of(["PPP", "PAP", "PATAP"], Preset::Dblp).unwrap();
    assert_eq!(dblp.graph().layer_names(), ["PAP", "PPP", "PATAP"]);
    let missing = of(["PAP", "PTP", "PMP"], Preset::Acm).unwrap_err().to_string();
    assert_eq!(missing, "no layer is called `PLP`; the graph has PAP, PTP, PMP");
}
