#!/usr/bin/env python3
"""What the words say without the graph: writes baselines as embeddings and scores them with `xgoal eval`.

The words are those of graph.toml, and so are the split and the protocol: this script only makes the rows.
"""

import argparse
import csv
import gzip
import json
import pathlib
import subprocess
import sys

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

HERE = pathlib.Path(__file__).resolve().parent
DIM = 128


def packages():
    with gzip.open(HERE / "tables/packages.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["package"] for row in rows], [row["description"] for row in rows]


def xgoal(program, *arguments):
    done = subprocess.run([program, *map(str, arguments), "--json", "--quiet"], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def words(texts, info):
    """The matrix that graph.toml's text block stands for; that it is the same one is checked."""
    counts = CountVectorizer(min_df=2, max_df=0.5, max_features=2000).fit_transform(texts).astype(np.float32)
    if counts.shape != (info["nodes"], info["features"]) or counts.nnz != info["feature_nnz"]:
        sys.exit(f"error: {counts.shape}, {counts.nnz} entries; xgoal info has {info['features']} words, {info['feature_nnz']}")
    return counts


def reduced(matrix):
    return TruncatedSVD(DIM, random_state=0).fit_transform(matrix)


def spread(matrix):
    """Columns of unit variance: the protocol's few steps of a fixed length favour what is neither small nor uneven."""
    return matrix / matrix.std(0)


BASELINES = {
    "words": lambda counts, tfidf: counts.toarray(),
    "words-tfidf": lambda counts, tfidf: tfidf.toarray(),
    "svd": lambda counts, tfidf: reduced(counts),
    "svd-tfidf": lambda counts, tfidf: reduced(tfidf),
    "svd-spread": lambda counts, tfidf: spread(reduced(counts)),
    "svd-tfidf-spread": lambda counts, tfidf: spread(reduced(tfidf)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all, or some of {', '.join(BASELINES)}")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("baselines"), help="folder (%(default)s)")
    parser.add_argument("--xgoal", default="xgoal", help="the command (%(default)s)")
    options = parser.parse_args()
    unknown = set(options.names) - set(BASELINES)
    if unknown:
        parser.error(f"no baseline {', '.join(sorted(unknown))}; expected some of {', '.join(BASELINES)}")
    ids, texts = packages()
    counts = words(texts, xgoal(options.xgoal, "info", HERE))
    tfidf = TfidfTransformer().fit_transform(counts)
    options.out.mkdir(parents=True, exist_ok=True)
    print("| | Macro-F1 | Micro-F1 | NMI | Sim@5 |\n|---|---|---|---|---|")
    for name in options.names or BASELINES:
        target = options.out / f"{name}.npy"
        np.save(target, BASELINES[name](counts, tfidf).astype(np.float32))
        (options.out / f"{name}.ids.txt").write_text("".join(f"{i}\n" for i in ids), encoding="utf-8")
        scores = xgoal(options.xgoal, "eval", target, HERE, "--no-baselines")
        means = [scores[key]["mean"] for key in ("macro_f1", "micro_f1", "nmi")] + [scores["sim"]["5"]]
        print(f"| {name} | {' | '.join(f'{mean:.3f}' for mean in means)} |", flush=True)


if __name__ == "__main__":
    main()
