//! The targets: each hands its input to one way into the library.

use crate::limits::{FREE, FREE_WITH_RUNS};
use crate::{parts, seeds};
use std::cell::LazyCell;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use xgoal::Result;
use xgoal::io::embeddings::{self, Format};
use xgoal::io::manifest::ReadOptions;
use xgoal::io::{answers, columns, model, npy, source, state, torch};
use xgoal::model::Model;
use xgoal::run::Unfinished;
use xgoal::session::{Limits, Plan, RunFolder, Session};
use xgoal::settings::{Count, Settings};
use xgoal_view::training::Training;

/// One way into the library.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, as `scripts/fuzz.sh` and the documentation list it.
    pub name: &'static str,
    /// Bytes that it may hold whatever its input is.
    pub free: usize,
    read: fn(&Path, &[u8]),
}

impl Target {
    const fn new(name: &'static str, read: fn(&Path, &[u8])) -> Self {
        Self { name, free: FREE, read }
    }

    const fn with_runs(name: &'static str, read: fn(&Path, &[u8])) -> Self {
        Self { name, free: FREE_WITH_RUNS, read }
    }
}

/// All targets.
pub const TARGETS: [Target; 12] = [
    Target::new("mat", mat),
    Target::new("pickle", pickle),
    Target::new("npz", npz),
    Target::new("npy", numpy),
    Target::new("torch", checkpoint),
    Target::new("model", safetensors),
    Target::new("run", run),
    Target::with_runs("manifest", manifest),
    Target::new("delimited", delimited),
    Target::with_runs("parquet", parquet),
    Target::new("settings", settings),
    Target::with_runs("embeddings", embedded),
];

thread_local! {
    static FOLDER: LazyCell<TempDir> = const { LazyCell::new(folder) };
}

/// Where inputs become files: in memory where there is a file system there, as a disk would take most of the time.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let own = std::env::var_os("TMPDIR").is_some();
    let folder =
        if memory.is_dir() && !own { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a folder for inputs")
}

impl Target {
    /// The target of a name.
    pub fn find(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|target| target.name == name)
    }

    /// Reads an input; what the library says of it does not matter.
    pub fn read(&self, input: &[u8]) {
        FOLDER.with(|folder| (self.read)(folder.path(), input));
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a file for the input");
    path
}

/// Leaves files of earlier inputs out.
fn remove(folder: &Path, name: &str) {
    let _ = std::fs::remove_file(folder.join(name));
}

/// Layers may take little, so that a small input is soon too large.
const OPTIONS: ReadOptions<'static> =
    ReadOptions { layers: None, features: None, memory: Some(32 << 20), inspect: false };

fn load(path: &Path) {
    let _ = source::load(path, &OPTIONS);
}

fn mat(folder: &Path, input: &[u8]) {
    load(&write(folder, "input.mat", input));
}

fn pickle(folder: &Path, input: &[u8]) {
    load(&write(folder, "input.pkl", input));
}

fn npz(folder: &Path, input: &[u8]) {
    load(&write(folder, "input.npz", &parts::archive(input)));
}

fn numpy(folder: &Path, input: &[u8]) {
    let path = write(folder, "input.npy", input);
    let _ = npy::read(&path);
    let _ = npy::read_f32_matrix(&path);
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

fn checkpoint(folder: &Path, input: &[u8]) {
    let path = write(folder, "input.pt", &parts::archive(input));
    let _ = torch::is_checkpoint(&path);
    if let Ok(model) = model::read_checkpoint(&path, Settings::default(), &names(&["a", "b"])) {
        embed(folder, &model);
    }
}

fn safetensors(folder: &Path, input: &[u8]) {
    if let Ok(model) = mended(&write(folder, "input.safetensors", input), model::read) {
        embed(folder, &model);
    }
}

/// A graph for models: the model says which attributes it gets.
const GRAPH: [(&str, &str); 3] = [
    (
        "graph.toml",
        "[nodes]\nfile = \"nodes.csv\"\nid = \"id\"\n\n\
         [[features]]\ntext = \"text\"\nmin_df = 1\nmax_df = 1.0\n\n\
         [[features]]\nnumeric = \"year\"\n\n\
         [[features]]\ncategorical = \"kind\"\n\n\
         [[layers]]\nname = \"a\"\nedges = \"edges.csv\"\nsource = \"from\"\ntarget = \"to\"\n\n\
         [[layers]]\nname = \"b\"\nedges = \"edges.csv\"\nsource = \"to\"\ntarget = \"from\"\n",
    ),
    ("nodes.csv", "id,text,year,kind\n1,one two,2001,x\n2,two three,2002,y\n3,,2003,x\n"),
    ("edges.csv", "from,to\n1,2\n2,3\n"),
];

fn embed(folder: &Path, model: &Model) {
    let graph = folder.join("graph");
    if std::fs::create_dir(&graph).is_ok() {
        GRAPH.iter().for_each(|(name, text)| drop(write(&graph, name, text.as_bytes())));
    }
    let options = ReadOptions { features: model.space(), ..OPTIONS };
    if let Ok((graph, _)) = source::load(&graph, &options) {
        let _ = model.embed(&graph);
    }
}

/// The files of a run folder that are read again.
pub(crate) const RUN: [&str; 3] = ["config.toml", "metrics.jsonl", "state.safetensors"];

fn run(folder: &Path, input: &[u8]) {
    let folder = folder.join("run");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("a run folder");
    let files = parts::split(input);
    let [config, metrics, saved] =
        [0, 1, 2].map(|i| write(&folder, RUN[i], files.get(i).copied().unwrap_or_default()));
    let _ = Settings::default().read_file(&config);
    let _ = Training::read(&metrics);
    if mended(&saved, state::read).is_ok() {
        let _ = go_on(&folder);
    }
}

/// Goes on with a run for an epoch, where its settings do not make that a long one.
fn go_on(folder: &Path) -> Result<()> {
    let graph = seeds::planted();
    let unfinished = Unfinished::open(folder)?;
    let config = unfinished.settings().clone().validate(&graph.layer_names())?;
    let small = config.settings().dim <= 16
        && config.settings().kmeans_restarts <= 4
        && config.layers().iter().all(|layer| match layer.clusters {
            Count::Auto => true,
            Count::Fixed(clusters) => clusters <= 16,
        });
    if !small {
        return unfinished.go_on(graph.fingerprint()).map(drop);
    }
    let plan = Plan::of(&graph, config, Limits::default());
    let mut session = Session::start(&plan, RunFolder::resume(unfinished, &plan))?;
    let epochs = session.progress().epochs();
    while session.next()?.is_some() && session.progress().epochs() == epochs {}
    Ok(())
}

/// Reads a file again with the checksum it should have, as a change of any other byte would lead no further.
fn mended<T>(path: &Path, read: impl Fn(&Path) -> Result<T>) -> Result<T> {
    let first = read(path);
    let Err(error) = &first else { return first };
    let message = error.to_string();
    let sums = message.split_once("checksum ").and_then(|(_, sums)| sums.split_once(", expected "));
    let Some((found, expected)) = sums.filter(|(found, expected)| found.len() == expected.len())
    else {
        return first;
    };
    let mut bytes = std::fs::read(path).expect("the input's file");
    let place = bytes.windows(expected.len()).position(|w| w == expected.as_bytes());
    let Some(place) = place else { return first };
    bytes[place..place + found.len()].copy_from_slice(found.as_bytes());
    std::fs::write(path, &bytes).expect("a file for the input");
    read(path)
}

/// The files beside a manifest, as seeds name them.
pub(crate) const MANIFEST: [&str; 7] = [
    "graph.toml",
    "nodes.csv",
    "edges.csv",
    "things.tsv",
    "matrix.npy",
    "layer.npz",
    "vectors.parquet",
];

fn manifest(folder: &Path, input: &[u8]) {
    let files = parts::split(input);
    for (i, name) in MANIFEST.iter().enumerate() {
        match files.get(i) {
            Some(bytes) => drop(write(folder, name, bytes)),
            None => remove(folder, name),
        }
    }
    let path = folder.join(MANIFEST[0]);
    let _ = xgoal::io::manifest::node_table(&path);
    load(&path);
    let _ = source::load(&path, &ReadOptions { inspect: true, ..OPTIONS });
}

fn table(path: &Path) {
    let _ = columns::read(path, None, &names(&["a", "1", ""]));
    let _ = answers::read_queries(path);
}

/// Gzip by its first bytes, tabs by the first line.
fn delimited(folder: &Path, input: &[u8]) {
    let first = input.split(|b| *b == b'\n').next().unwrap_or_default();
    let name = match (input.starts_with(b"\x1f\x8b"), first.contains(&b'\t')) {
        (true, _) => "input.csv.gz",
        (_, true) => "input.tsv",
        _ => "input.csv",
    };
    table(&write(folder, name, input));
}

fn parquet(folder: &Path, input: &[u8]) {
    let path = write(folder, "input.parquet", input);
    table(&path);
    let _ = embeddings::read(&path, None);
}

fn settings(folder: &Path, input: &[u8]) {
    let mut settings = Settings::default();
    let path = write(folder, "settings.toml", input);
    if settings.read_file(&path).is_ok()
        && let Ok(config) = settings.validate(&names(&["a", "b"]))
    {
        // What is valid is written so that it is read as the same again.
        let mut again = Settings::default();
        again.read_toml(&config.to_toml()).expect("what was written");
        assert_eq!(again.validate(&names(&["a", "b"])).expect("still valid"), config);
    }
}

/// The first byte chooses the format, the parts are its files.
fn embedded(folder: &Path, input: &[u8]) {
    let Some((first, rest)) = input.split_first() else { return };
    let files = parts::split(rest);
    let file = |at: usize| files.get(at).copied();
    let main = file(0).unwrap_or_default();
    let (format, name) = match first % 7 {
        0 => (Format::Npy, "input.npy"),
        1 => (Format::Parquet, "input.parquet"),
        2 => (Format::Csv, "input.csv"),
        3 => (Format::Tsv, "input.tsv"),
        4 => (Format::Safetensors, "input.safetensors"),
        5 => (Format::Word2vec, "input.vec"),
        _ => (Format::Projector, "input.vectors.tsv"),
    };
    let path = write(folder, name, main);
    let beside: &[&str] = match format {
        Format::Npy => &["input.ids.txt", "input.ids.json"],
        Format::Projector => &["input.metadata.tsv"],
        _ => &[],
    };
    for (i, name) in beside.iter().enumerate() {
        match file(i + 1) {
            Some(bytes) => drop(write(folder, name, bytes)),
            None => remove(folder, name),
        }
    }
    if let Ok(embeddings) = mended(&path, |path| embeddings::read(path, Some(format))) {
        let ids: Vec<String> =
            (0..embeddings.matrix.rows()).map(|row| embeddings.id(row)).collect();
        let _ = embeddings.rows_of(ids.iter().map(String::as_str));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What seeds cannot do, nothing made of them will.
    #[test]
    fn seeds_reach_what_lies_behind_checks() {
        let folder = folder();
        let (_, seed) = seeds::of("run").remove(0);
        run(folder.path(), &seed);
        go_on(&folder.path().join("run")).expect("the run goes on");
        for (name, seed) in seeds::of("model") {
            let mut damaged = seed.clone();
            *damaged.last_mut().expect("weights") ^= 1;
            let path = write(folder.path(), "input.safetensors", &damaged);
            assert!(model::read(&path).is_err(), "{name}: a wrong checksum");
            mended(&path, model::read).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        for (target, extension) in [("mat", "mat"), ("npz", "npz")] {
            let (_, seed) = seeds::of(target)
                .into_iter()
                .find(|(name, _)| name.starts_with("graph."))
                .expect("a graph");
            let path = write(folder.path(), &format!("input.{extension}"), &seed);
            source::load(&path, &OPTIONS).unwrap_or_else(|e| panic!("{target}: {e}"));
        }
        for (name, seed) in seeds::of("manifest").into_iter().take(3) {
            manifest(folder.path(), &seed);
            source::load(&folder.path().join(MANIFEST[0]), &OPTIONS)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        for (name, seed) in seeds::of("parquet").into_iter().take(5) {
            let path = write(folder.path(), "input.parquet", &seed);
            columns::read(&path, None, &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}
