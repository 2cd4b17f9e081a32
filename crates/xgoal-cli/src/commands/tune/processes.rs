//! Runs as processes of their own, several at a time.

use crate::interrupt;
use crate::output::{Failure, Output};
use std::collections::{BTreeMap, VecDeque};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use xgoal::run::Run;

/// How long processes that heard an interruption themselves have to save where they stand.
const GRACE: Duration = Duration::from_secs(3);
/// How often processes are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// A run to be made.
#[derive(Debug)]
pub struct Job {
    /// Its trial, from 1.
    pub trial: usize,
    /// Its seed.
    pub seed: u64,
    /// Its folder.
    pub folder: PathBuf,
    /// A file with the trial's settings.
    pub settings: PathBuf,
    /// Whether there is a run to go on with.
    pub resume: bool,
}

/// What the runs came to.
#[derive(Debug, Default)]
pub struct Ended {
    /// The trials that failed, and why.
    pub failed: BTreeMap<usize, String>,
    /// Runs that went to their end.
    pub done: usize,
    /// Whether the user stopped them.
    pub interrupted: bool,
}

/// A process, which ends with this value.
struct Running {
    job: Job,
    child: Child,
    started: Instant,
}

impl Running {
    fn start(job: Job, source: &Path, threads: usize) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["train", "--no-baselines"])
            .arg("--out")
            .arg(&job.folder)
            .arg("--config")
            .arg(&job.settings);
        command.arg("--seed").arg(job.seed.to_string());
        command.arg("--threads").arg(threads.to_string()).arg("--quiet").arg("--json-errors");
        if job.resume {
            command.arg("--resume");
        } else {
            Run::clear(&job.folder)?;
        }
        command.arg("--").arg(source);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Ok(Self { child: command.spawn()?, job, started: Instant::now() })
    }

    /// What it said about why it failed.
    fn message(&mut self, status: ExitStatus) -> String {
        let mut said = Vec::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            // What cannot be read is not said; the status is.
            let _ = stderr.read_to_end(&mut said);
        }
        let failure = Failure::heard(&said).map(|failure| failure.message);
        failure.unwrap_or_else(|| format!("training ended with {status}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A run survives this at any instant; where the process has ended, nothing happens.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes the runs, as many at a time as there are numbers of threads. After a run that fails, others of its trial are
/// left out.
pub fn run(
    jobs: Vec<Job>,
    source: &Path,
    threads: &[usize],
    output: &Output,
) -> anyhow::Result<Ended> {
    let words = *output;
    let interruption = interrupt::hold(move || {
        words.say("stopping, with the runs saved where they stand; once more to stop at once");
    });
    let total = jobs.len();
    let mut waiting = VecDeque::from(jobs);
    let mut slots: Vec<Option<Running>> = threads.iter().map(|_| None).collect();
    let mut ended = Ended::default();
    loop {
        for (slot, threads) in slots.iter_mut().zip(threads) {
            if let Some(running) = slot
                && let Some(status) = running.child.try_wait()?
            {
                end(running, status, total, &mut ended, output);
                *slot = None;
            }
            while slot.is_none()
                && let Some(job) = waiting.pop_front()
            {
                if !ended.failed.contains_key(&job.trial) {
                    *slot = Some(Running::start(job, source, *threads)?);
                }
            }
        }
        ended.interrupted |= interruption.asked();
        if ended.interrupted {
            wait_for(&mut slots);
            return Ok(ended);
        }
        if slots.iter().all(Option::is_none) {
            return Ok(ended);
        }
        std::thread::sleep(LOOK);
    }
}

/// Takes down how a process ended.
fn end(
    running: &mut Running,
    status: ExitStatus,
    total: usize,
    ended: &mut Ended,
    output: &Output,
) {
    let Job { trial, seed, .. } = running.job;
    match status.code() {
        Some(0) => {
            ended.done += 1;
            let seconds = running.started.elapsed().as_secs_f64();
            let done = ended.done;
            output
                .say(format!("{done} of {total} runs: trial {trial}, seed {seed}: {seconds:.1} s"));
        }
        Some(130) => ended.interrupted = true,
        _ => {
            let message = running.message(status);
            let folder = running.job.folder.display();
            output.say(format!("trial {trial}, seed {seed} failed ({folder}): {message}"));
            ended.failed.entry(trial).or_insert(message);
        }
    }
}

/// Waits for processes that end by themselves; the others are ended with their values.
fn wait_for(slots: &mut [Option<Running>]) {
    let started = Instant::now();
    let mut is_running = |slot: &mut Option<Running>| {
        slot.as_mut().is_some_and(|running| matches!(running.child.try_wait(), Ok(None)))
    };
    while started.elapsed() < GRACE && slots.iter_mut().any(&mut is_running) {
        std::thread::sleep(LOOK);
    }
}
