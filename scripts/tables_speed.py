#!/usr/bin/env python3
"""How fast are edge tables read? Makes tables from a seed and times `xgoal info` on them.

    cargo build --release
    python3 scripts/tables_speed.py [--folder DIR] [--edges 10000000] [--nodes 1000000] [--runs 3]

One graph in several forms: string ids in CSV, CSV.gz and Parquet, whole numbers in Parquet. Edges are drawn at random, so
that every row looks up two nodes anywhere in memory. The time is that of reading everything into the graph: node
table, ids, edges, and the symmetric matrix of them. Needs NumPy and PyArrow. Measure on a quiet machine; the tables
are kept in --folder and not made again.
"""

import argparse
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANIFEST = """[nodes]
file = "nodes.{nodes}"
id = "id"

[[layers]]
name = "cites"
edges = "edges.{edges}"
source = "from"
target = "to"
"""


def write_csv(path, header, columns, chunk=1_000_000):
    with open(path, "wb") as file:
        file.write(header.encode() + b"\n")
        for start in range(0, len(columns[0]), chunk):
            parts = [column[start : start + chunk] for column in columns]
            lines = parts[0]
            for part in parts[1:]:
                lines = np.char.add(np.char.add(lines, b","), part)
            file.write(b"\n".join(lines.tolist()) + b"\n")


def make(folder, nodes, edges):
    """The same edges as strings and as numbers, in every form that is not there yet."""
    draw = np.random.default_rng(0)
    ends = [draw.integers(0, nodes, edges) for _ in range(2)]
    names = np.char.mod(b"p%07d", np.arange(nodes))
    forms = {}

    def form(name, kind, write):
        target = folder / name
        forms[name] = target
        if (target / "graph.toml").exists():
            return
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        write(target)
        plain = kind.removesuffix(".gz")
        (target / "graph.toml").write_text(MANIFEST.format(nodes=plain, edges=kind))

    def csv(target):
        write_csv(target / "nodes.csv", "id", [names])
        write_csv(target / "edges.csv", "from,to", [names[end] for end in ends])

    def zipped(target):
        shutil.copy(folder / "csv" / "nodes.csv", target)
        with open(folder / "csv" / "edges.csv", "rb") as plain:
            with gzip.open(target / "edges.csv.gz", "wb", compresslevel=6) as packed:
                shutil.copyfileobj(plain, packed)

    def parquet(target, ids):
        pq.write_table(pa.table({"id": ids}), target / "nodes.parquet")
        table = pa.table({name: ids.take(pa.array(end)) for name, end in zip(("from", "to"), ends)})
        pq.write_table(table, target / "edges.parquet")

    form("csv", "csv", csv)
    form("csv.gz", "csv.gz", zipped)
    form("parquet", "parquet", lambda t: parquet(t, pa.array(names.astype(str).tolist())))
    form("parquet, whole numbers", "parquet", lambda t: parquet(t, pa.array(np.arange(nodes))))
    return forms


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prefix", default="", help='put before the command, as "taskset -c 0,1"')
    parser.add_argument("--xgoal", type=pathlib.Path, default=ROOT / "target" / "release" / "xgoal")
    arguments = parser.parse_args()
    folder = arguments.folder or pathlib.Path(tempfile.mkdtemp())
    forms = make(folder, arguments.nodes, arguments.edges)
    print(f"{arguments.edges} edges between {arguments.nodes} nodes, {arguments.threads} threads")
    print("| tables | MB | seconds, best of runs | million rows/s | peak memory, MB |\n|---|---|---|---|---|")
    for name, form in forms.items():
        seconds, peak = [], 0
        for _ in range(arguments.runs):
            command = [*arguments.prefix.split(), arguments.xgoal, "info", form, "--json", "--quiet"]
            command += ["--threads", str(arguments.threads)]
            process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE)
            answer = json.loads(process.stdout.read())
            _, status, usage = os.wait4(process.pid, 0)
            assert status == 0 and answer["nodes"] == arguments.nodes
            seconds.append(answer["read_seconds"])
            peak = max(peak, usage.ru_maxrss / 1000)
        size = sum(file.stat().st_size for file in form.iterdir()) / 1e6
        rate = arguments.edges / min(seconds) / 1e6
        print(f"| {name} | {size:.0f} | {min(seconds):.2f} | {rate:.1f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    main()
