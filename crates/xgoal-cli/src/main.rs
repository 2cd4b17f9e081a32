//! The `xgoal` command: arguments in, library calls, words out.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod interrupt;
mod output;
mod panics;
mod progress;

use args::{Cli, Command};
use clap::Parser;
use output::{Failure, Output};
use std::process::ExitCode;

/// How a command that did not fail ended.
pub enum Ending {
    /// All done.
    Done,
    /// Stopped by the user, with what there was saved.
    Interrupted,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    interrupt::listen();
    let output = Output { json: cli.json, quiet: cli.quiet };
    let json_errors = cli.json_errors;
    match panics::held(json_errors, || run(cli, &output)) {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::Interrupted) => ExitCode::from(130),
        Err(error) => {
            let code = exit_code(&error);
            // The library's messages hold their causes; the chain would say them twice.
            Failure { code, message: error.to_string() }.tell(json_errors);
            ExitCode::from(code)
        }
    }
}

fn run(cli: Cli, output: &Output) -> anyhow::Result<Ending> {
    let threads = cli.threads.map_or(0, usize::from);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    match cli.command {
        Command::Demo(args) => commands::demo::run(&args, output),
        Command::Info(args) => commands::info::run(&args, output),
        Command::Train(args) => commands::train::run(&args, output),
        Command::Embed(args) => commands::embed::run(&args, output),
        Command::Eval(args) => commands::eval::run(&args, output),
        Command::Sweep(args) => commands::sweep::run(&args, output),
        Command::Tune(args) => commands::tune::run(&args, output),
        Command::Report(args) => commands::report::run(&args, output),
        Command::Plot(args) => commands::plot::run(&args, output),
        Command::Cluster(args) => commands::cluster::run(&args, output),
        Command::Similar(args) => commands::similar::run(&args, output),
        Command::Convert(args) => commands::convert::run(&args, output),
        Command::Bench(args) => commands::bench::run(&args, output),
        Command::Generate(args) => commands::generate::run(&args, output),
    }
}

/// 2 for what was asked, 4 for memory, 3 for everything found in files and data.
fn exit_code(error: &anyhow::Error) -> u8 {
    use xgoal::Error;
    match error.downcast_ref::<Error>() {
        Some(
            Error::UnknownSetting { .. }
            | Error::Setting { .. }
            | Error::UnknownLayer { .. }
            | Error::UnknownBackend { .. },
        ) => 2,
        Some(error) if error.is_memory() => 4,
        Some(_) => 3,
        None => match error.downcast_ref::<output::Usage>() {
            Some(_) => 2,
            None => 3,
        },
    }
}
