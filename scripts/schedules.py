#!/usr/bin/env python3
"""Quality against training time on ACM, for `auto` and for the paper's settings and schedule.

    cargo build --release
    python3 scripts/schedules.py DATA/acm.mat [--seeds 3] [--jobs 1] [--marks 5,10,15,20,30,45,60]

A training is interrupted at every mark (seconds, each with one thread), scored as it stands, and resumed, which does
not change it. Prints a row per schedule and mark: the mean over seeds of the epochs done, Macro-F1, Micro-F1,
NMI and Sim@5; a training that has ended keeps its last scores. Needs nothing but Python 3.
"""

import argparse
import concurrent.futures
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target" / "release" / "xgoal"
SCHEDULES = {
    "auto": ["--layers", "PLP,PAP"],
    "the paper's": ["--preset", "acm"],
}


def curve(source, settings, seed, marks, folder):
    """Epochs, seconds and scores at each mark, and at the end."""
    run = folder / f"{settings[0].strip('-')}-{seed}"
    train = [PROGRAM, "train", source, "--out", run, "--threads", "1", "--quiet"]
    found, done, ended = [], 0.0, False
    for mark in [*marks, None]:
        if not ended:
            more = ["--resume"] if run.exists() else [*settings, "--seed", str(seed)]
            process = subprocess.Popen([*train, *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                process.wait(None if mark is None else max(mark - done, 0.5))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                process.wait()
            if process.returncode not in (0, 130):
                sys.exit(process.stderr.read())
            ended = process.returncode == 0
            lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
            done = sum(line["seconds"] for line in lines)
            scored = subprocess.run(
                [PROGRAM, "eval", run, source, "--no-baselines", "--threads", "1", "--json", "--quiet"],
                capture_output=True,
                text=True,
                check=True,
            )
            scores = json.loads(scored.stdout)
            values = [scores[key]["mean"] for key in ("macro_f1", "micro_f1", "nmi")] + [scores["sim"]["5"]]
        found.append((len(lines), done, *values))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--marks", default="5,10,15,20,30,45,60")
    arguments = parser.parse_args()
    marks = [float(mark) for mark in arguments.marks.split(",")]
    started = time.time()
    print("| schedule | seconds | epochs | Macro-F1 | Micro-F1 | NMI | Sim@5 |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        todo = {
            name: [
                pool.submit(curve, arguments.source, settings, seed, marks, pathlib.Path(folder))
                for seed in range(arguments.seeds)
            ]
            for name, settings in SCHEDULES.items()
        }
        for name, curves in todo.items():
            for at in zip(*(c.result() for c in curves)):
                count, seconds, *scores = (statistics.mean(values) for values in zip(*at))
                print(f"| {name} | {seconds:.0f} | {count:,.0f} |", " | ".join(f"{s:.3f}" for s in scores), "|", flush=True)
    print(f"\n{time.time() - started:.0f} s in all", file=sys.stderr)


if __name__ == "__main__":
    main()
