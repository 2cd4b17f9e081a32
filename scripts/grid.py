"""A grid of planted graphs of many kinds: `auto` beside two answers that are easy to have.

    python3 scripts/grid.py [--cells FROM:TO] [--draw N] [--jobs N] [--out FILE] [--set KEY=VALUE] [--sum]

needs numpy, scipy and scikit-learn, and the executable (`cargo build --release`, or XGOAL=PATH). Each cell is a graph of
its own kind, drawn from its number: 500 to 50,000 nodes, 2 to 6 layers, 2 to 20 classes of different sizes, sparse or
dense attributes, weak to strong signal, layers of different worth of which some join classes in pairs. The table has the
NMI (of the paper's protocol: k-means on the test nodes, as many clusters as classes) of

- `auto`: `xgoal train` without any setting,
- k-means: on attributes that were smoothed once over the sum of the layers,
- GOAL: of the best single layer, the best chosen with the labels.

The rules of `auto` were made with draw 0 in view, so it says what they can do and not how far they hold elsewhere. Any
other --draw is a grid of other graphs of the same kinds.

With --sum a graph's layers are added up to one, which is all that is trained on.
"""

import argparse
import json
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score as nmi

ROOT = Path(__file__).resolve().parent.parent
XGOAL = os.environ.get("XGOAL", str(ROOT / "target" / "release" / "xgoal"))
SIZES = [500, 1000, 2000, 5000, 10_000, 50_000]
# How often each size comes: the small ones cost seconds, the large ones many minutes.
TIMES = [8, 10, 10, 6, 4, 2]
CLASSES = [2, 3, 4, 6, 10, 20]
SIGNALS = {"weak": 0.35, "medium": 0.55, "strong": 0.8}
CELLS = sum(TIMES)


def cell_of(number, draw=0):
    """What a cell is like; a function of its number and the draw."""
    # A draw of 0 changes nothing: seeds are filled up with zeros.
    rng = np.random.default_rng([2022, number, draw])
    sizes = [size for size, times in zip(SIZES, TIMES) for _ in range(times)]
    nodes = sizes[number]
    return {
        "nodes": nodes,
        "layers": int(rng.integers(2, 7)) if nodes <= 5000 else int(rng.integers(2, 4)),
        "classes": int(rng.choice([c for c in CLASSES if 25 * c <= nodes])),
        "attributes": ["sparse", "dense"][number % 2],
        "signal": list(SIGNALS)[int(rng.integers(0, 3))],
    }


def plant(cell, number, draw=0):
    """The graph: layers, attributes, labels."""
    rng = np.random.default_rng([2023, number, draw])
    n, classes, strength = cell["nodes"], cell["classes"], SIGNALS[cell["signal"]]
    share = rng.dirichlet(np.full(classes, 5.0))
    y = np.concatenate([np.arange(classes).repeat(5), rng.choice(classes, n - 5 * classes, p=share)])
    rng.shuffle(y)
    layers = {}
    for v in range(cell["layers"]):
        # Every second layer sees classes in pairs only.
        seen = rng.permutation(classes)[y] // 2 if v % 2 and classes > 2 else y
        own = strength * rng.uniform(0.5, 1.0)
        edges = n * int(rng.integers(3, 11))
        a = rng.integers(0, n, edges)
        b = rng.integers(0, n, edges)
        order = np.argsort(seen, kind="stable")
        first = np.searchsorted(seen[order], np.arange(seen.max() + 2))
        within = rng.random(edges) < own
        low, high = first[seen[a]], first[seen[a] + 1]
        b = np.where(within, order[low + (rng.random(edges) * (high - low)).astype(int)], b)
        matrix = sp.coo_matrix((np.ones(edges, "f4"), (a, b)), (n, n))
        matrix = ((matrix + matrix.T) > 0).astype("f4").tolil()
        matrix.setdiag(0)
        layers[f"layer{v}"] = matrix.tocsr()
        layers[f"layer{v}"].eliminate_zeros()
    if cell["attributes"] == "sparse":
        features, words = int(rng.integers(200, 2000)), int(rng.integers(10, 60))
        background = rng.dirichlet(np.full(features, 0.5))
        x = np.zeros((n, features), "f4")
        for c in range(classes):
            topic = rng.dirichlet(np.full(features, 0.05))
            mixed = (1 - strength / 2) * background + strength / 2 * topic
            x[y == c] = rng.multinomial(words, mixed, (y == c).sum())
        x = sp.csr_matrix(x)
    else:
        features = int(rng.integers(16, 256))
        centres = rng.normal(size=(classes, features)) * 3 * strength / np.sqrt(features)
        x = (centres[y] + rng.normal(size=(n, features))).astype("f4")
    return layers, x, y


def write(path, layers, x, y, number):
    arrays = {"label": np.eye(y.max() + 1, dtype="f4")[y]}
    for name, matrix in (layers | ({"feature": x} if sp.issparse(x) else {})).items():
        matrix.sort_indices()
        arrays |= {f"{name}.{part}": getattr(matrix, part) for part in ("indptr", "indices", "data")}
        arrays |= {f"{name}.shape": np.array(matrix.shape), f"{name}.format": np.array(b"csr")}
    if not sp.issparse(x):
        arrays["feature"] = x
    order = np.random.default_rng([2024, number]).permutation(len(y))
    tenth = len(y) // 10
    arrays |= {"train_idx": order[:tenth], "val_idx": order[tenth : 2 * tenth], "test_idx": order[2 * tenth :]}
    np.savez(path, **arrays)
    return order[2 * tenth :]


def xgoal(*args):
    done = subprocess.run([XGOAL, *map(str, args), "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"xgoal {' '.join(map(str, args))}: {done.stderr}")
    return json.loads(done.stdout)


def score(source, folder, threads, *settings):
    """NMI, and the epochs it took."""
    trained = xgoal("train", source, "--out", folder, "--threads", threads, *settings)
    found = xgoal("eval", folder, source, "--no-baselines", "--threads", threads)
    epochs = [stage["epochs"] for stage in trained["stages"]]
    return found["nmi"]["mean"], epochs


def smoothed(layers, x, y, test):
    x = sp.csr_matrix(x)
    if (x.data >= 0).all():
        x = sp.diags(1 / np.maximum(np.asarray(x.sum(1)).ravel(), 1e-9)) @ x
    a = sum(layers.values()) + sp.identity(len(y))
    z = (sp.diags(1 / np.asarray(a.sum(1)).ravel()) @ a @ x)[test].toarray()
    runs = [KMeans(y.max() + 1, n_init=4, random_state=seed).fit_predict(z) for seed in range(3)]
    return float(np.mean([nmi(y[test], found) for found in runs]))


def measure(number, draw, threads, settings, add_up):
    cell = cell_of(number, draw)
    layers, x, y = plant(cell, number, draw)
    if add_up:
        layers = {"sum": sum(layers.values())}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        source = folder / "graph.npz"
        test = write(source, layers, x, y, number)
        auto, epochs = score(source, folder / "auto", threads, *settings)
        base = smoothed(layers, x, y, test)
        alone = [
            score(source, folder / name, threads, "--method", "goal", "--layers", name, *settings)[0]
            for name in layers
            if not add_up
        ]
    return cell | {"cell": number, "auto": auto, "kmeans": base, "goal": alone, "epochs": epochs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default=f"0:{CELLS}", help="which cells")
    parser.add_argument("--draw", type=int, default=0, help="another grid of the same kinds")
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time, each with one thread")
    parser.add_argument("--out", type=Path, help="a file that keeps what is measured, a line of JSON per cell")
    parser.add_argument("--set", action="append", default=[], help="settings for all trainings")
    parser.add_argument("--sum", action="store_true", help="add all layers up to one first")
    args = parser.parse_args()
    first, _, last = args.cells.partition(":")
    settings = [part for value in args.set for part in ("--set", value)]
    done = {}
    if args.out and args.out.exists():
        done = {row["cell"]: row for row in map(json.loads, args.out.read_text().splitlines())}

    def one(number):
        if number not in done:
            done[number] = measure(number, args.draw, 1 if args.jobs > 1 else os.cpu_count(), settings, args.sum)
            if args.out:
                with open(args.out, "a") as out:
                    out.write(json.dumps(done[number]) + "\n")
        return done[number]

    print("| cell | nodes | layers | classes | attributes | signal | `auto` | k-means | GOAL, best layer | epochs |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    good = []
    with ThreadPoolExecutor(args.jobs) as pool:
        for row in pool.map(one, range(int(first), int(last or int(first) + 1))):
            best = max([row["kmeans"], *row["goal"]])
            alone = f"{max(row['goal']):.3f}" if row["goal"] else "-"
            good.append(row["auto"] >= best)
            mark = "" if good[-1] else f" ({row['auto'] - best:+.3f})"
            kind = f"{row['cell']} | {row['nodes']:,} | {row['layers']} | {row['classes']} | {row['attributes']} | {row['signal']}"
            epochs = " + ".join(f"{e:,}" for e in row["epochs"])
            print(
                f"| {kind} | {row['auto']:.3f}{mark} | {row['kmeans']:.3f} | {alone} | {epochs} |",
                flush=True,
            )
    print(f"\n`auto` is at least the better of the two in {sum(good)} of {len(good)} cells.")


if __name__ == "__main__":
    main()
