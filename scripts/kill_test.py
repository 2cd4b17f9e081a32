#!/usr/bin/env python3
"""Kills training with SIGKILL at random instants, resumes it to the end, and compares every ending bit for
bit with a run that was left alone.

    cargo build --release
    python3 scripts/kill_test.py ../shared/data/acm.mat --preset acm --runs 100
    python3 scripts/kill_test.py --runs 20            # on a graph that `xgoal generate` makes

Every run is killed once, anywhere between its start and its end, and goes on; one in three times it is killed
again. The instants come from --seed, but what they hit depends on the machine, so
a failure keeps its run folder and says where. Needs nothing but Python.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", nargs="?", help="default: a planted graph of 1000 nodes")
    parser.add_argument("--xgoal", default="target/release/xgoal")
    parser.add_argument("--runs", type=int, default=100, help="that are killed at least once")
    parser.add_argument("--epochs", type=int, default=40, help="of each of the two stages")
    parser.add_argument("--save-every", default="3", help="as of xgoal train")
    parser.add_argument("--preset", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    args = arguments()
    folder = Path(tempfile.mkdtemp(prefix="xgoal-kills-"))
    xgoal = str(Path(args.xgoal).resolve())
    source = args.source
    if source is None:
        source = str(folder / "planted")
        run([xgoal, "generate", "--out", source, "--nodes", "1000", "--quiet"])
    train = [xgoal, "train", source, "--preset", args.preset, "--set", f"max_epochs={args.epochs}"]
    train += ["--save-every", args.save_every, "--quiet", "--json", "--out"]

    started = time.monotonic()
    whole = json.loads(run([*train, str(folder / "whole")]))
    lasts = time.monotonic() - started
    print(f"uninterrupted: {lasts:.2f} s, {whole['saves']['count']} states")
    expected = ending(folder / "whole")

    rng = random.Random(args.seed)
    kills, ended, where = 0, 0, {}
    while ended < args.runs:
        out = folder / f"run{ended}"
        process = Killed(train, out)
        before = kills
        while kills == before or rng.random() < 1 / 3:
            if not process.runs_until(rng.uniform(0, lasts)):
                break
            kills += 1
            place = stands(out)
            where[place] = where.get(place, 0) + 1
        process.runs_until(None)
        found = ending(out)
        if found != expected:
            names = sorted(n for n in {*expected, *found} if found.get(n) != expected.get(n))
            sys.exit(f"{out}: differs from {folder / 'whole'} in {', '.join(names)}")
        ended += kills > before
        shutil.rmtree(out)
    print(f"{kills} kills of {ended} runs, each ended bit for bit as the uninterrupted one")
    for place, count in sorted(where.items()):
        print(f"  {count:4} x {place}")
    shutil.rmtree(folder)


class Killed:
    """A run that is begun, gone on with, or found ended, whatever a kill has left."""

    def __init__(self, train, out):
        self.train, self.out = train, out

    def runs_until(self, seconds):
        """Lets it run so long, or to its end; true if it had to be killed."""
        ended = (self.out / "model.safetensors").exists()
        begun = any(self.out.glob("state*"))
        if ended and not begun:
            return False
        command = [*self.train, str(self.out), *(["--resume"] if begun else [])]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            _, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
        if process.returncode not in (0, -signal.SIGKILL):
            sys.exit(f"{self.out}: code {process.returncode}: {errors}")
        return process.returncode != 0


def run(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def stands(out):
    """What a kill left, in words."""
    if not out.exists():
        return "before the folder"
    names = sorted(path.name for path in out.iterdir())
    for name in names:
        if name.startswith(".xgoal-"):
            return "while writing " + name.removeprefix(".xgoal-").rsplit("-", 1)[0]
    if not any(name.startswith("state") for name in names):
        return "after the end" if "model.safetensors" in names else "before the first state"
    if "model.safetensors" in names:
        return "with the model written"
    return "in training" if "state.previous.safetensors" in names else "before the second state"


def ending(out):
    """The bytes of every file; of the metrics, everything but their times.

    A kill between a run's last two steps leaves its lock, which nothing holds.
    """
    files = {path.name: path.read_bytes() for path in out.iterdir() if path.name != ".lock"}
    lines = [json.loads(line) for line in files["metrics.jsonl"].splitlines()]
    for line in lines:
        del line["seconds"]
    return {**files, "metrics.jsonl": lines}


if __name__ == "__main__":
    main()
