#!/usr/bin/env python3
"""Measures other ways to train on the same graphs beside `xgoal bench`, and prints the ratios.

    cargo build --release
    python3 -m venv .venv && .venv/bin/pip install -r scripts/peers-requirements.txt
    .venv/bin/python scripts/peers.py DATA [--xgoal PATH] [--threads 2] [--epochs 10] [--rounds 3]
        [--only acm,imdb,dblp] [--peers dense,sparse,shared,native,dmgi] [--out FILE.md]
    .venv/bin/python scripts/peers.py --check          # are the peers right? needs no DATA

DATA is a folder with acm.mat and imdb.pkl as published. `dblp` is not the real one: a planted graph
of its size (7,907 nodes; layers of 144,783, 90,145 and 57,137,515 stored entries; 2,000 sparse
attributes) is made for the run, and measured by xgoal and `dense` alone.

The peers, in scripts/peer, written from docs/mathematics.md:

    dense    X-GOAL in PyTorch with N x N tensors, clusters by scikit-learn's k-means, 10 restarts
    sparse   the same with CSR tensors, MKL and autograd: dropped views get new values, not new patterns
    shared   sparse with its gradients by hand: transposes are made once, and one product with X serves
             both weights and two views, as in xgoal
    native   shared, with PyTorch's own kernel for the products (torch.sparse.mm with a reduction)
    dmgi     DMGI as PyTorch Geometric's example builds it, 128 numbers per node; no joint stage

A round runs each of them once, xgoal first, each in a process of its own with --threads threads;
rounds follow each other, so that a noisy machine is noisy for all. Figures are medians over rounds
of the median in a process. A warm-up epoch is timed --epochs times after one that is not; a joint
epoch is seconds over epochs of whole clustering periods (5 epochs), at least --epochs of them, after
the warm-up's. Peak memory is the whole process; a peer's counts from when it has read the graph.
Measure on a machine that does nothing else: OpenMP's threads wait for each other, so the peers lose
more than xgoal on a busy one. The last line has the load before the start and how far apart rounds were.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE.parent / "target" / "release" / "xgoal"
REQUIREMENTS = HERE / "peers-requirements.txt"
GRAPHS = {"acm": "ACM", "imdb": "IMDB", "dblp": "DBLP-sized (planted)"}
FILES = {"acm": "acm.mat", "imdb": "imdb.pkl"}
PEERS = {
    "dense": "dense PyTorch",
    "sparse": "sparse PyTorch (MKL)",
    "shared": "the same, tuned by hand",
    "native": "tuned, PyTorch's own kernel",
    "dmgi": "PyG's DMGI",
}
WARMUP, JOINT, MEMORY = "warmup_epoch_seconds", "joint_epoch_seconds", "peak_rss_bytes"


def call(command, threads=None):
    environment = dict(os.environ)
    if threads:
        for library in ("OMP", "MKL", "OPENBLAS"):
            environment[f"{library}_NUM_THREADS"] = str(threads)
    command = [str(part) for part in command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if done.returncode != 0:
        words = done.stderr.strip() or f"exit code {done.returncode}"
        sys.exit(f"{' '.join(command)}\n{words}")
    return done.stdout


def figures(command, threads):
    """Seconds and bytes out of the JSON that `xgoal bench` and peer/measure.py print."""
    printed = call(command, threads)
    try:
        report = json.loads(printed)
        found = {key: report[key]["median"] for key in (WARMUP, JOINT) if key in report}
        return {**found, WARMUP: found[WARMUP], MEMORY: report[MEMORY]}
    except (ValueError, KeyError, TypeError):
        asked = f'{{"{WARMUP}": {{"median": ..}}, .., "{MEMORY}": ..}}'
        sys.exit(f"{' '.join(map(str, command))}\nprinted {printed[:200]!r}, expected {asked}")


def required():
    lines = (line.split("#")[0].strip() for line in REQUIREMENTS.read_text().splitlines())
    return dict(line.split("==") for line in lines if line)


def versions(peers):
    """Of the packages the peers need. One that is missing ends the script; another version than the
    pinned one is measured, and said."""
    found, missing = {}, []
    for name, pinned in required().items():
        if name == "torch_geometric" and "dmgi" not in peers:
            continue
        try:
            found[name] = importlib.metadata.version(name)
            if found[name].split("+")[0] != pinned:
                print(f"{name} {found[name]} is installed, {pinned} is pinned", file=sys.stderr)
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        sys.exit(
            f"{', '.join(missing)}: not installed for {sys.executable}; the peers need what\n"
            f"    pip install -r {REQUIREMENTS}\ninstalls (--peers leaves peers out)"
        )
    return found


def cpu():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def measure(arguments, sources):
    """(graph, who, figure) -> one number per round."""
    taken = {}
    for turn in range(arguments.rounds):
        for graph, source in sources.items():
            bench = [arguments.xgoal, "bench", source, "--preset", graph, "--threads", arguments.threads]
            runs = {"xgoal": [*bench, "--epochs", arguments.epochs, "--json"]}
            for peer in arguments.peers if graph != "dblp" else [p for p in arguments.peers if p == "dense"]:
                script = [sys.executable, HERE / "peer" / "measure.py", peer, graph, source]
                runs[peer] = [*script, arguments.threads, arguments.epochs, turn]
            for who, command in runs.items():
                found = figures(command, arguments.threads)
                for figure, value in found.items():
                    taken.setdefault((graph, who, figure), []).append(value)
                text = f"warm-up {found[WARMUP]:.4g} s"
                text += f", joint {found[JOINT]:.4g} s" if JOINT in found else ""
                print(f"round {turn + 1}, {graph}, {who}: {text}", file=sys.stderr, flush=True)
    return taken


def table(taken, graphs, peers, figure, show, head):
    """A row per graph, and in brackets each peer's figure over xgoal's."""
    lines = [f"| {head} | xgoal | " + " | ".join(PEERS[peer] for peer in peers) + " |"]
    lines.append("|---" * (len(peers) + 2) + "|")
    for graph in graphs:
        own = taken.get((graph, "xgoal", figure))
        cells = [show(statistics.median(own)) if own else "-"]
        for peer in peers:
            values = taken.get((graph, peer, figure))
            if not values:
                cells.append("-")
                continue
            value = statistics.median(values)
            ratio = f" ({value / statistics.median(own):.1f}x)" if own else ""
            cells.append(show(value) + ratio)
        lines.append(f"| {GRAPHS[graph]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def report(taken, arguments, setup, load):
    graphs, peers = arguments.only, arguments.peers
    joint = [peer for peer in peers if peer != "dmgi"]
    seconds = lambda value: f"{value:.3g} s"
    size = lambda value: f"{value / 1e9:.2f} GB" if value >= 1e9 else f"{value / 1e6:.0f} MB"
    parts = [table(taken, graphs, peers, WARMUP, seconds, "warm-up epoch")]
    if joint:
        head = "joint epoch, peers with scikit-learn's k-means"
        parts.append(table(taken, graphs, joint, JOINT, seconds, head))
    parts.append(table(taken, graphs, peers, MEMORY, size, "peak memory"))
    spread = max(max(values) / min(values) for (_, _, figure), values in taken.items() if figure != MEMORY)
    parts.append(
        f"In brackets: times xgoal's. {setup}; {arguments.threads} threads, {arguments.rounds} rounds of "
        f"{arguments.epochs} epochs, medians; load {load:.1f} before the start; the slowest round of any "
        f"figure took at most {spread:.2f} times its fastest."
    )
    return "\n\n".join(parts) + "\n"


def parse():
    def some_of(names):
        def split(text):
            chosen = text.split(",")
            wrong = [name for name in chosen if name not in names]
            if wrong:
                raise argparse.ArgumentTypeError(f"{wrong[0]!r} is none of {', '.join(names)}")
            return list(dict.fromkeys(chosen))

        return split

    def count(text):
        if not text.isdecimal() or int(text) < 1:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
        return int(text)

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path, nargs="?", help="folder with acm.mat and imdb.pkl")
    parser.add_argument("--xgoal", type=pathlib.Path, default=PROGRAM, help="the executable")
    parser.add_argument("--threads", type=count, default=2)
    parser.add_argument("--epochs", type=count, default=10, help="timed in each stage of a run")
    parser.add_argument("--rounds", type=count, default=3, help="runs of each, interleaved")
    parser.add_argument("--only", type=some_of(GRAPHS), default=list(GRAPHS), help="graphs")
    parser.add_argument("--peers", type=some_of(PEERS), default=list(PEERS))
    parser.add_argument("--out", type=pathlib.Path, help="also write the tables there")
    parser.add_argument("--check", action="store_true", help="compare the peers with the golden numbers")
    arguments = parser.parse_args()
    if not arguments.check:
        if not arguments.data:
            parser.error("DATA is missing: a folder with acm.mat and imdb.pkl")
        for graph in arguments.only:
            if graph in FILES and not (arguments.data / FILES[graph]).is_file():
                parser.error(f"{arguments.data / FILES[graph]} is not there (--only leaves graphs out)")
        if not os.access(arguments.xgoal, os.X_OK) or not arguments.xgoal.is_file():
            parser.error(f"{arguments.xgoal} is no executable: cargo build --release, or --xgoal PATH")
        arguments.xgoal = arguments.xgoal.resolve()
    return arguments


def main():
    arguments = parse()
    if arguments.check:
        versions(["dense", "sparse", "shared", "native"])
        print(call([sys.executable, HERE / "peer" / "check.py"], threads=1), end="")
        return
    packages = ", ".join(f"{name} {version}" for name, version in versions(arguments.peers).items())
    own = call([arguments.xgoal, "--version"]).strip()
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"the load is {load:.1f}: this machine is busy, the figures will not hold", file=sys.stderr)
    setup = f"{cpu()}; {own}, Python {platform.python_version()}, {packages}"
    with tempfile.TemporaryDirectory() as folder:
        sources = {graph: arguments.data / file for graph, file in FILES.items() if graph in arguments.only}
        if "dblp" in arguments.only:
            sources["dblp"] = pathlib.Path(folder) / "dblp-sized.npz"
            call([sys.executable, HERE / "peer" / "measure.py", "dblp-sized", sources["dblp"]])
        text = report(measure(arguments, sources), arguments, setup, load)
    print(text, end="")
    if arguments.out:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
