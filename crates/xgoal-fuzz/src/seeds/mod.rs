//! Small valid files for every target, for mutations to start from: made here, or the library's own test files.

mod arrays;
mod graphs;
mod tables;

pub(crate) use graphs::planted;

use std::path::Path;

/// A seed and its name.
pub type Seed = (String, Vec<u8>);

/// The seeds of a target.
pub fn of(target: &str) -> Vec<Seed> {
    match target {
        "mat" => arrays::mat(),
        "pickle" => arrays::pickle(),
        "npz" => arrays::npz(),
        "npy" => arrays::npy(),
        "torch" => arrays::torch(),
        "model" => graphs::model(),
        "run" => graphs::run(),
        "manifest" => graphs::manifest(),
        "delimited" => tables::delimited(),
        "parquet" => tables::parquet(),
        "settings" => graphs::settings(),
        "embeddings" => graphs::embeddings(),
        other => panic!("no target is called `{other}`"),
    }
}

fn seed(name: &str, bytes: impl Into<Vec<u8>>) -> Seed {
    (name.to_owned(), bytes.into())
}

/// A file that something has just written.
fn written(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file just written")
}

/// A test file of the library.
macro_rules! fixture {
    ($name:literal) => {
        (
            $name.replace('/', "-"),
            include_bytes!(concat!("../../../xgoal/tests/fixtures/", $name)).to_vec(),
        )
    };
}
use fixture;
