#!/usr/bin/env python3
"""Trains and scores `xgoal` beside pycleora's embedding of the same layers, taking turns, and prints the ratio of their seconds.

    cargo build --release
    python3 -m venv .venv && .venv/bin/pip install pycleora==3.2.1 scipy
    .venv/bin/python scripts/peer_cleora.py SOURCE [--xgoal PATH] [--rounds 3] [--threads 2]

SOURCE is any source with labels and splits. pycleora gets all layers' edges as one graph, once each (128 columns, 40 iterations,
whitened); it knows no attributes. Both are timed from their file to embeddings on disk, xgoal without its quick look at scores, and
scored by `xgoal eval`; seconds are medians over rounds, scores of the first.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
EMBED = """
import sys
import numpy as np
import pycleora
import scipy.sparse as sp
graph, out = sys.argv[1:]
with np.load(graph, allow_pickle=False) as file:
    names = [key[: -len(".indptr")] for key in file.files if key.endswith(".indptr") and not key.startswith("feature.")]
    part = lambda name, key: file[f"{name}.{key}"]
    layers = [sp.csr_matrix((part(n, "data"), part(n, "indices"), part(n, "indptr"))) for n in names]
nodes = max(max(layer.shape) for layer in layers)
lines = []
for layer in layers:
    layer = layer.tocoo()
    half = layer.row < layer.col
    lines += [f"{a} {b}" for a, b in zip(layer.row[half], layer.col[half])]
found = pycleora.SparseMatrix.from_iterator(iter(lines), "complex::reflexive::node")
rows = pycleora.embed(found, feature_dim=128, num_iterations=40, whiten=True)
table = np.zeros((nodes, rows.shape[1]), "f4")
table[np.array(found.entity_ids, dtype=int)] = rows
np.save(out, table)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--xgoal", default=str(HERE.parent / "target" / "release" / "xgoal"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    environment = dict(os.environ, RAYON_NUM_THREADS=str(args.threads))

    def call(*command):
        started = time.perf_counter()
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
        if done.returncode:
            sys.exit(f"{command[0]} {command[1]}: {done.stderr}")
        return time.perf_counter() - started, done.stdout

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        graph, threads = folder / "graph.npz", ("--threads", args.threads)
        call(args.xgoal, "convert", args.source, graph)
        (folder / "embed.py").write_text(EMBED)
        seconds = {"xgoal": [], "pycleora": []}
        for turn in range(args.rounds):
            run = folder / f"run{turn}"
            trained = (args.xgoal, "train", args.source, "--out", run, "--no-baselines", "--quiet", *threads)
            seconds["xgoal"].append(call(*trained)[0])
            rows = folder / f"cleora{turn}.npy"
            seconds["pycleora"].append(call(sys.executable, folder / "embed.py", graph, rows)[0])
        medians = {name: statistics.median(all) for name, all in seconds.items()}
        print("| | Macro-F1 | Micro-F1 | NMI | Sim@5 | seconds, median | each |")
        print("|---|---|---|---|---|---|---|")
        for name, rows in (("xgoal", folder / "run0"), ("pycleora", folder / "cleora0.npy")):
            scores = json.loads(call(args.xgoal, "eval", rows, args.source, "--no-baselines", "--json", "--quiet")[1])
            means = [scores[key]["mean"] for key in ("macro_f1", "micro_f1", "nmi")] + [scores["sim"]["5"]]
            each = ", ".join(f"{value:.1f}" for value in seconds[name])
            print(f"| {name} | {' | '.join(f'{v:.3f}' for v in means)} | {medians[name]:.1f} | {each} |")
        print(f"\nxgoal takes {medians['xgoal'] / medians['pycleora']:.1f} times the seconds of pycleora.")


if __name__ == "__main__":
    main()
