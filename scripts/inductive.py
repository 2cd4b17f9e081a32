#!/usr/bin/env python3
"""How close do embeddings of nodes never seen in training come to those of nodes that were?

    cargo build --release
    python3 scripts/inductive.py acm.mat [--seeds 3] [--share 0.2] [--threads 2]

For each seed a share of the nodes is hidden: taken out of every layer and of the attributes. One model is trained on
what is left, another on the whole graph; both then encode the whole graph. The paper's protocol scores both on the
hidden nodes: classifiers learn from the published training nodes that are not hidden, are chosen by the validation
nodes that are not hidden, and are tested on the hidden ones. Needs NumPy and SciPy.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import scipy.io
import scipy.sparse as sp

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS = ("PLP", "PAP")


def write(path, layers, feature, **arrays):
    """An .npz source."""
    for name, matrix in {**layers, "feature": feature}.items():
        m = sp.csr_matrix(matrix)
        parts = {"data": m.data, "indices": m.indices, "indptr": m.indptr, "shape": np.array(m.shape)}
        arrays.update({f"{name}.{part}": value for part, value in parts.items()})
    np.savez(path, **arrays)


def hidden_and_whole(folder, published, seed, share):
    """Writes the graph without the hidden nodes, and the whole graph split by them."""
    nodes = published["feature"].shape[0]
    ids = np.array([f"paper {n}" for n in range(nodes)])
    layers = {name: sp.csr_matrix(published[name]) for name in LAYERS}
    feature = sp.csr_matrix(published["feature"])
    classes = published["label"].argmax(axis=1)
    hidden = np.sort(np.random.default_rng(seed).permutation(nodes)[: round(share * nodes)])
    seen = np.setdiff1d(np.arange(nodes), hidden)
    train, val = (np.setdiff1d(published[f"{part}_idx"].ravel(), hidden) for part in ("train", "val"))
    within = {name: matrix[seen][:, seen] for name, matrix in layers.items()}
    write(folder / "seen.npz", within, feature[seen], ids=ids[seen])
    split = {"train_idx": train, "val_idx": val, "test_idx": hidden}
    write(folder / "whole.npz", layers, feature, ids=ids, label=classes, **split)
    return len(hidden), (len(train), len(val))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("acm", type=pathlib.Path, help="acm.mat as published")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--share", type=float, default=0.2, help="of the nodes that is hidden")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--xgoal", type=pathlib.Path, default=ROOT / "target" / "release" / "xgoal")
    arguments = parser.parse_args()
    published = scipy.io.loadmat(arguments.acm)

    def xgoal(*words):
        command = [arguments.xgoal, *words, "--threads", arguments.threads, "--json", "--quiet"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")
        return json.loads(done.stdout)

    scores = {"hidden": [], "seen": []}
    for seed in range(arguments.seeds):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            count, sizes = hidden_and_whole(folder, published, seed, arguments.share)
            whole = folder / "whole.npz"
            for how, source in (("hidden", folder / "seen.npz"), ("seen", whole)):
                run, out = folder / how, folder / f"{how}.npy"
                xgoal("train", source, "--out", run, "--preset", "acm", "--seed", seed)
                xgoal("embed", run, whole, "--out", out)
                found = xgoal("eval", out, whole, "--no-baselines")
                scores[how].append((found["macro_f1"]["mean"], found["micro_f1"]["mean"]))
        (macro, micro), (full_macro, full_micro) = scores["hidden"][-1], scores["seen"][-1]
        print(
            f"seed {seed}: {count} nodes, {sizes[0]} training and {sizes[1]} validation labels; Macro-F1 / Micro-F1 "
            f"hidden {macro:.3f} / {micro:.3f}, seen {full_macro:.3f} / {full_micro:.3f}",
            flush=True,
        )
    means = {how: [statistics.mean(column) for column in zip(*rows)] for how, rows in scores.items()}
    lost = means["seen"][0] - means["hidden"][0]
    print(f"mean: hidden {means['hidden'][0]:.3f} / {means['hidden'][1]:.3f}, ", end="")
    print(f"seen {means['seen'][0]:.3f} / {means['seen'][1]:.3f}; Macro-F1 lost by hiding: {lost:.3f}")


if __name__ == "__main__":
    main()
