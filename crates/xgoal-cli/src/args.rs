//! What can be said on the command line.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use xgoal::run::Cadence;

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
    /// Threads to use [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 2 wrong usage, 3 bad data or file, 4 not enough memory, 130 interrupted.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Learn, evaluate and explain on a graph the tool makes itself
    Demo(DemoArgs),
    /// Say what is in a source: nodes, features, layers, labels, memory
    Info(InfoArgs),
    /// Learn embeddings into a run folder
    Train(TrainArgs),
    /// Encode a graph with a trained model
    Embed(EmbedArgs),
    /// Score embeddings by the paper's protocol
    Eval(EvalArgs),
    /// Time epochs on this machine, by phase, and measure memory
    Bench(BenchArgs),
    /// Write a planted graph of any size, as a source
    Generate(GenerateArgs),
}

/// `xgoal demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Seed of the graph and the training
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..1 << 63))]
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
    /// Use these layers, in this order [default: the preset's, else all]
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
    #[arg(long)]
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
    /// Go on with an interrupted run in RUN, by its settings; others that are given must be the same
    #[arg(long)]
    pub resume: bool,
    /// Save the state every N epochs, or every Ns seconds [default: 10s, at most 1 % of the time]
    #[arg(long, value_name = "N", default_value = "auto", hide_default_value = true, value_parser = cadence)]
    pub save_every: Cadence,
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

/// `xgoal embed`
#[derive(Debug, Args)]
pub struct EmbedArgs {
    /// A run folder, a .safetensors model, or the authors' PyTorch checkpoint (.pkl, .pt)
    pub model: PathBuf,
    /// The graph to encode
    pub source: PathBuf,
    /// The .npy file to write; ids go beside it
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Also write each layer's own embeddings, to FILE.LAYER.npy
    #[arg(long)]
    pub per_layer: bool,
    #[command(flatten)]
    pub choice: Choice,
}

/// `xgoal eval`
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// A run folder or an .npy file
    pub embeddings: PathBuf,
    /// The graph with labels and splits
    pub source: PathBuf,
    /// Layers of the source, where not every matrix in it is one [default: the run's, else all]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub layers: Option<Vec<String>>,
    /// Seed of the classifiers and of k-means
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
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
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "expected a whole number above 0".into())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    share.ok_or_else(|| "expected a number from 0 to 1".into())
}

fn cadence(text: &str) -> Result<Cadence, String> {
    if text == "auto" {
        Ok(Cadence::Automatic)
    } else {
        text.parse().map_err(|e: xgoal::Error| e.to_string())
    }
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
