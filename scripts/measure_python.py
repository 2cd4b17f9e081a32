#!/usr/bin/env python3
"""What the Python package costs: training beside the command's, and handing over a large layer.

    cargo build --release && pip install .
    python scripts/measure_python.py SOURCE [--preset acm] [--rounds 3] [--epochs N]

Both doors do the same job in a process of its own, turn by turn: read the source, train, write a run folder.
Wants a quiet machine. Seconds of CPU and the share of time between epochs, which is what the package adds
to them, suffer less from a busy one.
"""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

TRAIN = """
import json, sys, time
source, preset, epochs, out = sys.argv[1:]
import xgoal
probe = xgoal.XGOAL(preset)._settings()
graph = xgoal.read(source, probe.layers)
model = xgoal.XGOAL(preset, max_epochs=int(epochs) if epochs else None, verbose=0)
clock = []
model.fit(graph, callback=lambda record: clock.append(time.perf_counter()))
model.save(out)
inside = sum(record["seconds"] for record in model.history_[1:])
print(json.dumps({"between": 1 - inside / (clock[-1] - clock[0]), "epochs": len(clock)}))
"""

HAND_OVER = """
import json, time
import numpy as np, scipy.sparse as sp, xgoal
def status(key):
    return next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith(key))
n, per_row = 200_000, 50
steps = np.random.default_rng(0).integers(1, n // per_row, size=(n, per_row), dtype=np.int32)
indices = np.cumsum(steps, axis=1, dtype=np.int32).ravel()
indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
layer = sp.csr_array((np.ones(n * per_row), indices, indptr), shape=(n, n))
del steps
graph = xgoal.Graph([layer], np.ones((n, 1), dtype=np.float32))
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
started = time.perf_counter()
native = graph._native(None)
seconds = time.perf_counter() - started
grown = status("VmHWM") - before
copies = []
for _ in range(3):
    started = time.perf_counter()
    layer.copy()
    copies.append(time.perf_counter() - started)
print(json.dumps({"seconds": seconds, "bytes": grown, "copy": min(copies), "entries": layer.nnz}))
"""


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def call(*arguments):
    """What a process took, in seconds and in seconds of CPU, and what it printed."""
    started, cpu_before = time.perf_counter(), cpu()
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return (time.perf_counter() - started, cpu() - cpu_before), json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--preset", default="acm")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="most epochs of a stage")
    parser.add_argument("--xgoal", type=pathlib.Path, default=ROOT / "target" / "release" / "xgoal")
    arguments = parser.parse_args()

    found = call(sys.executable, "-c", HAND_OVER)[1]
    print(
        f"handing over {found['entries']:,} entries: {found['seconds']:.3f} s and {found['bytes'] / 1e6:.0f} MB; "
        f"SciPy's own copy of them takes {found['copy']:.3f} s"
    )

    command, package = [], []
    limit = ["--set", f"max_epochs={arguments.epochs}"] if arguments.epochs else []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(arguments.rounds):
            outs = [pathlib.Path(folder) / f"{door}{turn}" for door in ("command", "package")]
            train = [arguments.xgoal, "train", arguments.source, "--preset", arguments.preset, *limit]
            command.append(call(*train, "--out", outs[0], "--json", "-q")[0])
            job = [arguments.source, arguments.preset, arguments.epochs or "", outs[1]]
            took, inside = call(sys.executable, "-c", TRAIN, *job)
            package.append(took)
            same = all(
                (outs[0] / name).read_bytes() == (outs[1] / name).read_bytes()
                for name in ("embeddings.npy", "model.safetensors")
            )
            print(
                f"round {turn}: command {command[-1][0]:.2f} s ({command[-1][1]:.2f} of CPU), package "
                f"{package[-1][0]:.2f} s ({package[-1][1]:.2f}), {inside['epochs']} epochs, "
                f"{100 * inside['between']:.2f} % of the time between them, {'same bits' if same else 'OTHER BITS'}",
                flush=True,
            )
    for what, at in (("seconds", 0), ("seconds of CPU", 1)):
        doors = [statistics.median(took[at] for took in door) for door in (command, package)]
        print(f"median {what}: command {doors[0]:.2f}, package {doors[1]:.2f}, {doors[1] / doors[0] - 1:+.1%}")


if __name__ == "__main__":
    main()
