"""Meta-paths: two nodes are joined if a path of given relations leads from one to the other.

With R_1 .. R_k the relations of the path as matrices, the layer is R_1 R_2 .. R_k: the number of paths,
or 1 wherever there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _xgoal
from .errors import ConfigError, OutOfMemoryError

Relation = tuple[str, str, str]  # from, name, to
Step = Any  # a relation, or the two node types it joins
Path = Sequence[Any]  # of node types, or of steps


def layer(
    name: str, path: Path, relations: Mapping[Relation, Any], node_type: str, weighted: bool
) -> sp.csr_array:
    """The layer that a path makes."""
    steps = _steps(name, path)
    ends = steps[0][0], steps[-1][-1]
    if ends != (node_type, node_type):
        raise ConfigError(
            f"meta-path `{name}` leads from {ends[0]} to {ends[1]}; expected {node_type} at both ends"
        )
    for before, after in zip(steps, steps[1:]):
        if before[-1] != after[0]:
            raise ConfigError(
                f"meta-path `{name}`: a step ends at {before[-1]} and the next begins at {after[0]}"
            )
    product = None
    for step in steps:
        matrix = _matrix(name, step, relations)
        # In f64, numbers of paths stay whole up to 2^53.
        factor = sp.csr_array(matrix, dtype=np.float64)
        if product is None:
            product = factor
        else:
            _check_size(name, product, factor)
            product = product @ factor
    assert product is not None
    product.sum_duplicates()
    product.eliminate_zeros()
    values = product.data if weighted else np.ones(product.nnz)
    return sp.csr_array((values.astype(np.float32), product.indices, product.indptr), shape=product.shape)


def _steps(name: str, path: Path) -> list[tuple[str, ...]]:
    """A path as pairs (from, to) or triples (from, relation, to)."""
    path = list(path)
    if path and all(isinstance(part, str) for part in path):
        steps: list[tuple[str, ...]] = list(zip(path, path[1:]))
    else:
        steps = [tuple(step) for step in path]
    if not steps or any(len(step) not in (2, 3) for step in steps):
        raise ConfigError(
            f"meta-path `{name}`: found {path!r}; expected node types, such as "
            "['paper', 'author', 'paper'], or relations, such as [('paper', 'written_by', 'author'), ...]"
        )
    return steps


def _matrix(name: str, step: tuple[str, ...], relations: Mapping[Relation, Any]) -> Any:
    """The matrix of a step: of its own relation, or else of the one that leads back."""

    def matches(relation: Relation, step: tuple[str, ...]) -> bool:
        ends = (relation[0], relation[2]) == (step[0], step[-1])
        return ends and (len(step) == 2 or relation[1] == step[1])

    there = [r for r in relations if matches(r, step)]
    back = [r for r in relations if matches(r, step[::-1])]
    found = there or back
    if not found:
        known = ", ".join("-".join(r) for r in relations) or "none"
        raise ConfigError(
            f"meta-path `{name}`: no relation leads from {step[0]} to {step[-1]}; there are {known}"
        )
    if len(found) > 1:
        names = ", ".join("-".join(r) for r in found)
        raise ConfigError(
            f"meta-path `{name}`: several relations lead from {step[0]} to {step[-1]} ({names}); name the "
            "one to take, as a triple"
        )
    return relations[found[0]] if there else relations[found[0]].T


def _check_size(name: str, a: sp.csr_array, b: sp.csr_array) -> None:
    """Refuses a product that would not fit into memory, before it is made."""
    available = _xgoal.available_bytes()
    if available is None:
        return
    pattern = sp.csr_array((np.ones(a.nnz), a.indices, a.indptr), shape=a.shape)
    paths = pattern @ np.diff(b.indptr).astype(np.float64)  # of each row; an edge may have several
    most = float(a.shape[0]) * float(b.shape[1])
    edges = min(paths.sum(), most)
    if 16 * edges > available:
        # Some rows, as many as make ten million paths, tell how many edges there really are.
        rows = np.random.default_rng(0).permutation(a.shape[0])
        rows = rows[: 1 + np.searchsorted(np.cumsum(paths[rows]), 1e7)]
        edges = min(paths.sum() * (a[rows] @ b).nnz / max(paths[rows].sum(), 1.0), most)
    if 16 * edges > available:
        raise OutOfMemoryError(
            f"meta-path `{name}` has about {edges:.2g} edges, which need {16 * edges / 1e9:.1f} GB, and "
            f"{available / 1e9:.1f} GB are free; leave out the nodes that join very many others"
        )
