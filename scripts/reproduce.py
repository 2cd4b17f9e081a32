#!/usr/bin/env python3
"""Trains and scores everything docs/results.md shows, and prints its tables.

    cargo build --release
    python3 scripts/reproduce.py DATA [--out runs/reproduce] [--only acm,imdb] [--jobs 1]

DATA is a folder with acm.mat and imdb.pkl as published. Each run goes into its own folder below
--out; a run that is already there is scored again but not trained again. Needs nothing but Python 3.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
program = ROOT / "target" / "release" / "xgoal"
METRICS = ("Macro-F1", "Micro-F1", "NMI", "Sim@5")

# name, paper's row, settings on top of the preset
GOAL = [
    ("GOAL", (0.908, 0.908, 0.735, 0.917), []),
    ("w/o warm-up", (0.863, 0.865, 0.721, 0.903), ["warmup=off"]),
    ("w/o L_C", (0.865, 0.867, 0.693, 0.899), ["lambda_c=0"]),
    ("w/o L_N", (0.878, 0.880, 0.678, 0.881), ["lambda_n=0"]),
    ("1st-order GCN (relu)", (0.865, 0.866, 0.559, 0.859), ["activation=relu"]),
    ("GCN (tanh)", (0.881, 0.881, 0.486, 0.886), ["encoder=gcn"]),
    ("GCN (relu)", (0.831, 0.831, 0.410, 0.837), ["encoder=gcn", "activation=relu"]),
    ("dropout -> masking", (0.888, 0.890, 0.716, 0.903), ["augmentation=mask"]),
    ("w/o attribute drop", (0.843, 0.845, 0.568, 0.869), ["drop_attributes=false"]),
    ("w/o adj. matrix drop", (0.888, 0.888, 0.715, 0.903), ["drop_edges=false"]),
]
ACM, IMDB = (0.922, 0.921, 0.773, 0.924), (0.661, 0.663, 0.221, 0.613)

SECTIONS = {
    "acm": [("ACM, preset", ACM, [])],
    "acm-auto": [("ACM, no setting", ACM, [])],
    "imdb": [("IMDB, preset", IMDB, [])],
    "imdb-auto": [("IMDB, no setting", IMDB, [])],
    "goal": GOAL,
    "multiplex": [
        ("w/o R_C", (0.919, 0.917, 0.770, 0.922), ["mu_c=0"]),
        ("w/o R_N, R_C", (0.893, 0.893, 0.724, 0.912), ["method=goal"]),
    ],
}

# What a section's runs have on the command line; the preset `acm` where nothing stands here.
BASE = {
    "acm-auto": ["--layers", "PLP,PAP"],
    "imdb": ["--preset", "imdb"],
    "imdb-auto": [],
    "goal": ["--preset", "acm", "--method", "goal", "--layers", "PAP"],
}


def call(*arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}\n{done.stderr}")
    return done.stdout


def one(section, name, settings, seed, arguments):
    data, out = arguments.data, arguments.out
    source = data / ("imdb.pkl" if section.startswith("imdb") else "acm.mat")
    base = BASE.get(section, ["--preset", "acm"])
    slug = "".join(c if c.isalnum() else "-" for c in f"{section}-{name}-{seed}".lower())
    run = out / slug
    if not (run / "train.json").exists():
        shutil.rmtree(run, ignore_errors=True)
        sets = [part for setting in settings for part in ("--set", setting)]
        threads = ["--threads", arguments.threads or max(1, (os.cpu_count() or 1) // arguments.jobs)]
        where = [source, "--out", run, "--seed", seed, "--json", "-q"]
        report = call("train", *where, *base, *sets, *threads)
        (run / "train.json").write_text(report)
    training = json.loads((run / "train.json").read_text())
    scores = json.loads(call("eval", run, source, "--no-baselines", "--json", "-q"))
    row = (
        scores["macro_f1"]["mean"],
        scores["micro_f1"]["mean"],
        scores["nmi"]["mean"],
        scores["sim"]["5"],
    )
    epochs = "+".join(str(stage["epochs"]) for stage in training["stages"])
    figures = " / ".join(f"{value:.3f}" for value in row)
    print(f"  {name}, seed {seed}: {figures}  ({epochs} epochs, {training['seconds']:.0f} s)", flush=True)
    return row, training["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "runs" / "reproduce")
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--seeds", type=int, default=3, help="seeds per row")
    parser.add_argument("--xgoal", type=pathlib.Path, default=program, help="the executable")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, sharing the cores")
    parser.add_argument("--threads", type=int, help="threads of a run; the result is the same for any number")
    arguments = parser.parse_args()
    globals()["program"] = arguments.xgoal
    arguments.out.mkdir(parents=True, exist_ok=True)
    seeds = range(arguments.seeds)
    rows = [(section, *row) for section in arguments.only.split(",") for row in SECTIONS[section]]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        started = [
            [pool.submit(one, section, name, settings, seed, arguments) for seed in seeds]
            for section, name, _, settings in rows
        ]
        finished = [[run.result() for run in runs] for runs in started]
    table = [
        "| | " + " / ".join(METRICS) + " | std over seeds | paper | seeds | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for (_, name, paper, _), runs in zip(rows, finished):
        columns = list(zip(*(row for row, _ in runs)))
        means = " / ".join(f"{statistics.mean(c):.3f}" for c in columns)
        spread = " / ".join(f"{statistics.pstdev(c):.3f}" for c in columns)
        seconds = statistics.median(s for _, s in runs)
        paper = " / ".join(f"{value:.3f}" for value in paper)
        table.append(f"| {name} | {means} | {spread} | {paper} | {len(seeds)} | {seconds:.0f} |")
    print("\n" + "\n".join(table))


if __name__ == "__main__":
    main()
