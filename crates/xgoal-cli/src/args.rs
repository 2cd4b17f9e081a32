//! What can be said on the command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use xgoal::criteria::Criterion;
use xgoal::io::embeddings::Format;
use xgoal::run::Cadence;
use xgoal::session::Limits;

/// Node embeddings for attributed multiplex graphs, without labels (X-GOAL).
#[derive(Debug, Parser)]
#[command(name = "xgoal", version, about, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Print one JSON document on standard output, and nothing else there
    #[arg(long, global = true)]
    pub json: bool,
    /// Say nothing on standard error but errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Threads to use, at most 1024 [default: one per core]
    #[arg(long, global = true, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Say an error as a line of JSON, for the process that started this one
    #[arg(long, global = true, hide = true)]
    pub json_errors: bool,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 2 wrong usage, 3 bad data or file, 4 not enough memory, 130 interrupted.";

const SWEPT: &str = "\
A setting and its values, KEY=A,B,..; a value per layer stands in brackets; may be repeated";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Learn and evaluate on a graph the tool makes itself
    Demo(DemoArgs),
    /// Say what is in a source: nodes, features, layers, labels, memory
    Info(InfoArgs),
    /// Learn embeddings into a run folder
    Train(TrainArgs),
    /// Encode a graph with a trained model
    Embed(EmbedArgs),
    /// Score embeddings by the paper's protocol
    Eval(EvalArgs),
    /// Group nodes by their embeddings
    Cluster(ClusterArgs),
    /// Find the nearest nodes of some nodes
    Similar(SimilarArgs),
    /// Write a source in another form: tables with a graph.toml, or .npz
    Convert(ConvertArgs),
    /// Make one self-contained HTML page to look at a run
    Report(ReportArgs),
    /// Draw a run's map, layers and curves as SVG and PNG files
    Plot(PlotArgs),
    /// Train once for every combination of settings, and compare
    Sweep(SweepArgs),
    /// Search for good settings, without labels
    Tune(TuneArgs),
    /// Time epochs on this machine, by phase, and measure memory
    Bench(BenchArgs),
    /// Write a planted graph of any size, as a source
    Generate(GenerateArgs),
}

/// `xgoal demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Seed of the graph and the training
    #[arg(long, default_value_t = 0, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Keep the run in this folder [default: keep nothing]
    #[arg(long, value_name = "RUN")]
    pub out: Option<PathBuf>,
}

/// `xgoal info`
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// A graph.toml or a folder with one, or a .mat, .pkl or .npz file
    pub source: PathBuf,
    #[command(flatten)]
    pub choice: Choice,
}

/// Which settings and layers.
#[derive(Debug, Args)]
pub struct Choice {
    /// Start from a preset: auto, acm, imdb, dblp or amazon
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Use these layers, in this order; A+B is the sum of A and B [default: the preset's, else as suits]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub layers: Option<Vec<String>>,
}

/// Settings from everywhere they can be given.
#[derive(Debug, Args)]
pub struct Tuning {
    #[command(flatten)]
    pub choice: Choice,
    /// Settings from a TOML file, on top of the preset
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One setting, on top of preset and file; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of everything random
    #[arg(long, value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// goal (each layer for itself) or xgoal (layers aligned)
    #[arg(long)]
    pub method: Option<String>,
}

/// `xgoal train`
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// A graph.toml or a folder with one, or a .mat, .pkl or .npz file
    pub source: PathBuf,
    /// Folder to write the run into
    #[arg(long, value_name = "RUN")]
    pub out: PathBuf,
    #[command(flatten)]
    pub tuning: Tuning,
    /// How embeddings are written into RUN [default: npy; with --resume, as before]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub format: Option<Format>,
    /// Also write event files for TensorBoard, into RUN/tensorboard
    #[arg(long)]
    pub tensorboard: bool,
    /// Go on with an interrupted run in RUN, by its settings; others that are given must be the same
    #[arg(long)]
    pub resume: bool,
    /// Save the state every N epochs, or every Ns seconds [default: 10s, at most 1 % of the time]
    #[arg(long, value_name = "N", default_value = "auto", hide_default_value = true)]
    pub save_every: Cadence,
    /// Do not compare with what the graph gives without training, where it has labels and splits
    #[arg(long)]
    pub no_baselines: bool,
    #[command(flatten)]
    pub memory: Memory,
}

/// How much memory may be taken.
#[derive(Debug, Args)]
pub struct Memory {
    /// Refuse what needs more memory, such as 500M or 2G [default: what is free]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory_limit: Option<u64>,
}

impl Memory {
    /// What a training may take.
    pub fn limits(&self) -> Limits {
        Limits { memory: self.memory_limit, ..Limits::default() }
    }
}

/// `xgoal embed`
#[derive(Debug, Args)]
#[command(mut_arg("preset", |preset| preset.help("Layers and settings of an authors' checkpoint")))]
pub struct EmbedArgs {
    /// A run folder, a .safetensors model, or the authors' PyTorch checkpoint (.pkl, .pt)
    pub model: PathBuf,
    /// The graph to encode
    pub source: PathBuf,
    /// The file to write: .npy (ids go beside it), .parquet, .csv, .tsv, .safetensors, .vec (word2vec) or .vectors.tsv
    /// (TensorBoard's projector)
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// How it is written [default: as its name says]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub format: Option<Format>,
    /// Also write each layer's own embeddings, LAYER before the extension of FILE
    #[arg(long)]
    pub per_layer: bool,
    #[command(flatten)]
    pub choice: Choice,
}

/// `xgoal eval`
#[derive(Debug, Args)]
pub struct EvalArgs {
    #[command(flatten)]
    pub input: EmbeddingsArgs,
    /// The graph with labels and splits
    pub source: PathBuf,
    /// Layers of the source, where not every matrix in it is one [default: the run's, else all]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub layers: Option<Vec<String>>,
    /// Seed of the classifiers and of k-means
    #[arg(long, default_value_t = 0, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Leave out what the graph gives without training
    #[arg(long)]
    pub no_baselines: bool,
}

/// Embeddings to be read.
#[derive(Debug, Args)]
pub struct EmbeddingsArgs {
    /// A run folder, or a file of any format that `embed` writes
    pub embeddings: PathBuf,
    /// How the file is written [default: as its name says]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub format: Option<Format>,
}

/// `xgoal cluster`
#[derive(Debug, Args)]
pub struct ClusterArgs {
    #[command(flatten)]
    pub input: EmbeddingsArgs,
    /// Number of clusters [default: the one with the best silhouette]
    #[arg(long, short, value_name = "K", value_parser = positive)]
    pub k: Option<usize>,
    /// Most clusters to try where their number is not given
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = two_or_more, conflicts_with = "k")]
    pub most: usize,
    /// Write the cluster of each node to this .csv, .tsv or .parquet file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Seed of k-means
    #[arg(long, default_value_t = 0, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
}

/// `xgoal similar`
#[derive(Debug, Args)]
pub struct SimilarArgs {
    #[command(flatten)]
    pub input: EmbeddingsArgs,
    /// Nodes whose nearest ones are wanted
    #[arg(value_name = "ID", allow_negative_numbers = true)]
    pub ids: Vec<String>,
    /// More of them, from a file: a table with a column `id`, or one id per line
    #[arg(long, value_name = "FILE")]
    pub queries: Option<PathBuf>,
    /// Neighbors of each node
    #[arg(long, short, value_name = "K", default_value_t = 10, value_parser = positive)]
    pub k: usize,
    /// Compare with every node, however long it takes
    #[arg(long, conflicts_with = "approximate")]
    pub exact: bool,
    /// Compare with some nodes only, however short the exact search would be
    #[arg(long)]
    pub approximate: bool,
    /// Share of the exact neighbors that an approximate search is to find
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = share)]
    pub recall: f64,
    /// Write the neighbors to this .csv, .tsv or .parquet file instead
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `xgoal convert`
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// A graph.toml or a folder with one, or a .mat, .pkl or .npz file
    pub source: PathBuf,
    /// An .npz file, or a folder for a graph.toml and its tables
    pub dest: PathBuf,
    /// Use these layers, in this order [default: all]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub layers: Option<Vec<String>>,
    /// How tables are written: csv, tsv or parquet [default: csv]
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(["csv", "tsv", "parquet"]))]
    pub tables: Option<String>,
}

/// What is looked at, and how it is laid out.
#[derive(Debug, Args)]
pub struct LookArgs {
    /// A run folder
    pub run: PathBuf,
    /// The source it was trained on: shows layers, classes, attributes and scores too
    pub source: Option<PathBuf>,
    /// How nodes are laid out: tsne or pca
    #[arg(long, value_name = "HOW", default_value = "tsne", value_parser = ["tsne", "pca"])]
    pub projection: String,
    /// t-SNE's perplexity: how many neighbours count, about
    #[arg(long, value_name = "P", default_value_t = 30.0, value_parser = perplexity)]
    pub perplexity: f64,
    /// Number of clusters [default: chosen by the silhouette]
    #[arg(long, value_name = "K", value_parser = positive)]
    pub clusters: Option<usize>,
    /// A table of more columns to colour by and to show, with the ids in `id` or its first column
    /// [default: the node table of a graph.toml]
    #[arg(long, value_name = "TABLE")]
    pub columns: Option<PathBuf>,
    /// Seed of the layout, the clusters and the scores
    #[arg(long, default_value_t = 0, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
}

/// `xgoal report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub look: LookArgs,
    /// The file to write [default: report.html in the run folder]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The page's heading [default: the run's name]
    #[arg(long)]
    pub title: Option<String>,
    /// Nearest nodes listed for each node
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub neighbors: usize,
    /// Leave out what the graph gives without training
    #[arg(long)]
    pub no_baselines: bool,
}

/// `xgoal plot`
#[derive(Debug, Args)]
pub struct PlotArgs {
    #[command(flatten)]
    pub look: LookArgs,
    /// Folder to write the pictures into [default: plots in the run folder]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The column that gives colours [default: class where known, else cluster]
    #[arg(long, value_name = "COLUMN")]
    pub color: Option<String>,
}

/// `xgoal sweep`
#[derive(Debug, Args)]
#[command(mut_arg("set", |set| set.value_name("KEY=A,B,...").help(SWEPT)))]
pub struct SweepArgs {
    /// A graph.toml or a folder with one, or a .mat, .pkl or .npz file
    pub source: PathBuf,
    /// Folder for the runs, the table and the figure; runs that are there are not made again
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub tuning: Tuning,
}

/// `xgoal tune`
#[derive(Debug, Args)]
pub struct TuneArgs {
    /// A graph.toml or a folder with one, or a .mat, .pkl or .npz file
    pub source: PathBuf,
    /// Folder for the runs, the table and the best settings; runs that are there are not made again
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Most settings to try, the given ones first
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = positive)]
    pub trials: usize,
    /// Runs for each, with seeds that follow --seed
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = positive)]
    pub seeds: usize,
    /// Values of a setting to choose from; may be repeated. A value per layer stands in brackets
    /// [default: steps in clusters, lr, lambda_c, p_drop and mu_n around the given settings]
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub search: Vec<String>,
    /// What settings are compared by, without labels [default: layers, or views where there is one layer]
    #[arg(long, value_name = "CRITERION", value_parser = criteria())]
    pub by: Option<Criterion>,
    /// Compare by Macro-F1 instead: USES THE LABELS of the source, the test nodes' too
    #[arg(long, conflicts_with = "by")]
    pub labels: bool,
    #[command(flatten)]
    pub tuning: Tuning,
    #[command(flatten)]
    pub memory: Memory,
}

/// `xgoal bench`
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// A graph.toml or a folder with one, or a .mat, .pkl or .npz file
    pub source: PathBuf,
    #[command(flatten)]
    pub tuning: Tuning,
    #[command(flatten)]
    pub memory: Memory,
    /// Epochs to time in each stage; the joint stage runs whole clustering periods
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub epochs: u32,
}

/// `xgoal generate`
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// Folder to write graph.toml and its files into
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Number of nodes
    #[arg(long, value_name = "N", default_value_t = 1200)]
    pub nodes: usize,
    /// Number of layers
    #[arg(long, value_name = "L", default_value_t = 2, value_parser = positive)]
    pub layers: usize,
    /// Number of classes, even; every layer joins them in pairs
    #[arg(long, value_name = "K", default_value_t = 6)]
    pub classes: usize,
    /// Number of sparse attributes; 0 for none
    #[arg(long, value_name = "F", default_value_t = 600)]
    pub features: usize,
    /// Sparse attributes of a node; a repeated one counts twice
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub features_per_node: usize,
    /// Stored entries per node and layer, about: both directions of an edge count
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub degree: usize,
    /// Number of dense attributes, beside the sparse ones
    #[arg(long, value_name = "D", default_value_t = 0)]
    pub dense_features: usize,
    /// Share of edges and of sparse attributes that are drawn from anywhere
    #[arg(long, value_name = "P", default_value_t = 0.5, value_parser = share)]
    pub noise: f64,
    /// Seed of everything random
    #[arg(long, default_value_t = 0, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    let parse = |name: String| Format::parse(&name).expect("one of the choices");
    PossibleValuesParser::new(Format::CHOICES).map(parse)
}

fn criteria() -> impl TypedValueParser<Value = Criterion> {
    let parse = |name: String| Criterion::parse(&name).expect("one of the choices");
    PossibleValuesParser::new(Criterion::CHOICES).map(parse)
}

fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed: &u64| *seed < 1 << 63);
    seed.ok_or_else(|| "expected a whole number from 0 to 2^63 - 1".into())
}

fn two_or_more(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 1).ok_or_else(|| "expected a whole number above 1".into())
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "expected a whole number above 0".into())
}

fn perplexity(text: &str) -> Result<f64, String> {
    let perplexity = text.parse().ok().filter(|p| (1.0..=1000.0).contains(p));
    perplexity.ok_or_else(|| "expected a number from 1 to 1000".into())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    share.ok_or_else(|| "expected a number from 0 to 1".into())
}

/// A number of bytes: units are powers of 1000, or with an `i` of 1024; their `B` may be left out.
fn size(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[number.len()..].to_ascii_uppercase();
    let factor = match unit.trim_end_matches('B') {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "KI" => 1024.0,
        "MI" => 1024f64.powi(2),
        "GI" => 1024f64.powi(3),
        "TI" => 1024f64.powi(4),
        _ => f64::NAN,
    };
    let bytes = number.trim().parse::<f64>().map_or(f64::NAN, |n| n * factor);
    let good = bytes.is_finite() && bytes >= 1.0;
    good.then_some(bytes as u64).ok_or_else(|| "expected a size, such as 800M, 2G or 1.5GiB".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("1", 1),
            ("500M", 500_000_000),
            ("2g", 2_000_000_000),
            ("1.5GiB", 3 << 29),
            ("7 kB", 7000),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "-1G", "1X", "0", "nan", "inf", "1G5", "ü", "B"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
