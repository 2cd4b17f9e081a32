#!/usr/bin/env python3
"""Seconds and memory over the number of nodes, on planted graphs: training stays flat, the rest is linear.

    cargo build --release
    python3 scripts/scale.py [--most 6] [--folder FOLDER] [--points FILE] [--draw docs/images/scale.svg]

Makes graphs of 10^4 to 10^6 nodes (`--most 7`: 10^7, which takes 24 GB of memory and 15 GB of disk), three layers of ten
entries a node and 30 of 3,000 attributes each, trains each by default settings on two threads and prints a row for it.
Rows are kept in `--points`, one JSON document a line; graphs that have one are not trained again. A part of the work is
counted in seconds of CPU, which a busy machine stretches less than those of a clock. Runs on Linux; drawing needs
matplotlib.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target" / "release" / "xgoal"
PLANTED = "--layers 3 --degree 10 --features 3000 --features-per-node 30".split()
PARTS = {
    "reading": "reading",
    "planning": "looking at the graph, structure",
    "training": "training",
    "writing": "encoding and writing",
}
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(process):
    """Seconds of CPU so far; none once the process is gone."""
    try:
        after_name = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return (int(after_name[11]) + int(after_name[12])) / TICKS


def at(clock, moment):
    """Seconds of CPU at a moment between two looks at the clock."""
    before = max((look for look in clock if look[0] <= moment), default=clock[0])
    after = min((look for look in clock if look[0] >= moment), default=clock[-1])
    share = (moment - before[0]) / (after[0] - before[0]) if after[0] > before[0] else 0.0
    return before[1] + share * (after[1] - before[1])


def measured(nodes, folder, threads):
    """Makes a graph, trains it and takes both away."""
    source, run = folder / f"graph-{nodes}", folder / f"run-{nodes}"
    quiet = [PROGRAM, "generate", "--out", source, "--nodes", str(nodes), *PLANTED, "--quiet"]
    subprocess.run(quiet, check=True, stdout=subprocess.DEVNULL)
    train = [PROGRAM, "train", source, "--out", run, "--threads", str(threads), "--quiet", "--json"]
    started, clock = time.monotonic(), [(0.0, 0.0)]
    process = subprocess.Popen(train, stdout=subprocess.PIPE, text=True)
    while process.poll() is None:
        cpu = cpu_seconds(process)
        if cpu is not None:
            clock.append((time.monotonic() - started, cpu))
        time.sleep(0.05)
    if process.returncode != 0:
        sys.exit(f"training {nodes} nodes ended with code {process.returncode}")
    report = json.loads(process.stdout.read())
    point = {
        "nodes": nodes,
        "wall": round(report["seconds"], 2),
        "peak_rss_bytes": report["peak_rss_bytes"],
        "epochs": sum(stage["epochs"] for stage in report["stages"]),
    }
    end = 0.0
    for part in PARTS:
        begin, end = end, end + report["parts"][part]
        point[part] = round(at(clock, end) - at(clock, begin), 2)
    shutil.rmtree(source)
    shutil.rmtree(run)
    return point


def draw(points, path):
    """Seconds by part, and memory beside them."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "xgoal"
    from matplotlib import pyplot
    from matplotlib.ticker import NullFormatter

    figure, (seconds, memory) = pyplot.subplots(1, 2, figsize=(9, 3.8), width_ratios=[1.5, 1], layout="constrained")
    nodes = [point["nodes"] for point in points]
    for (part, name), marker in zip(PARTS.items(), "osD^"):
        bold = 2.5 if part == "training" else 1.3
        seconds.plot(nodes, [max(point[part], 0.01) for point in points], marker=marker, markersize=4, linewidth=bold, label=name)
    seconds.set_ylabel("seconds of CPU time")
    seconds.legend(frameon=False, fontsize=8, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    memory.plot(nodes, [point["peak_rss_bytes"] / 1e9 for point in points], marker="o", markersize=4, color="black")
    memory.set_ylabel("peak memory (GB)")
    memory.set_ylim(0.1, 20)
    for axes in (seconds, memory):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("nodes")
        axes.grid(which="major", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, facecolor="white", metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=6, choices=range(4, 8), help="the largest power of ten of nodes")
    parser.add_argument("--folder", type=pathlib.Path, help="where graphs and runs are made; a temporary folder without it")
    parser.add_argument("--points", type=pathlib.Path, default=ROOT / "target" / "scale.jsonl")
    parser.add_argument("--draw", type=pathlib.Path, help="the figure, an SVG file")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    points = {}
    if args.points.exists():
        for line in args.points.read_text().splitlines():
            point = json.loads(line)
            points[point["nodes"]] = point
    wanted = [10**power for power in range(4, args.most + 1)]
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for nodes in wanted:
            if nodes not in points:
                points[nodes] = measured(nodes, pathlib.Path(folder), args.threads)
                with args.points.open("a") as file:
                    file.write(json.dumps(points[nodes]) + "\n")
            print(json.dumps(points[nodes]), flush=True)
    if args.draw:
        draw([points[nodes] for nodes in sorted(points)], args.draw)


if __name__ == "__main__":
    main()
