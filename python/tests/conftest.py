"""Fixtures: a small graph, the paper's data where it is there, and the command."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import xgoal

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def graph():
    return xgoal.datasets.planted(nodes=240, attributes=80, random_state=1)


@pytest.fixture(scope="session")
def fitted(graph):
    return small().fit(graph)


def small(kind=xgoal.XGOAL, **params):
    """An estimator that is done in a moment."""
    return kind(**{"dim": 8, "clusters": 6, "max_epochs": 12, "verbose": 0, **params})


@pytest.fixture(scope="session")
def acm():
    path = SHARED / "data" / "acm.mat"
    if not path.exists():
        pytest.skip(f"the paper's data is not in {SHARED}")
    return path


@pytest.fixture(scope="session")
def command():
    """Runs the command; its executable is built by scripts/check_python.sh."""
    program = Path(os.environ.get("XGOAL_COMMAND", ROOT / "target" / "release" / "xgoal")).resolve()
    if not program.exists():
        pytest.skip(f"no command at {program}: cargo build --release")

    def run(*arguments):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def as_source(graph, path):
    """Writes a graph as an .npz source."""
    arrays = {}
    for name, matrix in {**graph.layers, "feature": graph.X}.items():
        csr = matrix.tocsr()
        arrays |= {
            f"{name}.data": csr.data, f"{name}.indices": csr.indices, f"{name}.indptr": csr.indptr,
            f"{name}.shape": np.array(csr.shape),
        }
    arrays |= {"label": graph.y, "train_idx": graph.train, "val_idx": graph.val, "test_idx": graph.test}
    if graph.ids is not None:
        arrays["ids"] = np.array([str(i) for i in graph.ids])
    np.savez(path, **arrays)
    return path


def same_bits(a, b):
    """Whether two arrays of float32 are equal bit by bit."""
    return a.dtype == b.dtype == np.float32 and np.array_equal(a.view(np.uint32), b.view(np.uint32))
