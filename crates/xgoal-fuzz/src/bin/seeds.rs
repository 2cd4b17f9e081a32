//! Writes the seeds of every target into folders of their names.

use std::path::PathBuf;
use xgoal_fuzz::{TARGETS, seeds};

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: seeds FOLDER");
        std::process::exit(2);
    };
    for target in TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (name, bytes) in seeds::of(target.name) {
            std::fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}
