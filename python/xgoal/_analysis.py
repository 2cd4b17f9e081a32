"""What people do next with embeddings."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from . import _xgoal
from ._graph import Graph, node_numbers, one_per_node
from ._matrices import dense_f32
from ._params import seed_of, threads_of
from .errors import ConfigError, DataError


def evaluate(
    Z: Any,
    y: Any,
    train: Any = None,
    val: Any = None,
    test: Any = None,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> dict[str, Any]:
    """Scores embeddings by the paper's protocol, as ``xgoal eval`` does.

    Parameters
    ----------
    Z
        Embeddings, a row per node.
    y
        A class per node: numbers (negative is unknown) or strings (``None`` is unknown). Or a :class:`Graph` with
        classes and splits, and nothing else.
    train, val, test
        Node numbers, or masks of bools.

    Returns
    -------
    dict
        ``macro_f1``, ``micro_f1``, ``nmi``, ``ari`` and ``clustering_accuracy``, each a dict of ``mean`` and
        ``std``; and ``sim``, Sim@k by k.

    Examples
    --------
    >>> import xgoal
    >>> graph = xgoal.datasets.planted(nodes=300, attributes=60)
    >>> scores = xgoal.evaluate(graph.X.toarray(), graph.y, graph.train, graph.val, graph.test)
    >>> sorted(scores)
    ['ari', 'clustering_accuracy', 'macro_f1', 'micro_f1', 'nmi', 'sim']
    >>> scores["sim"][5] == xgoal.evaluate(graph.X.toarray(), graph)["sim"][5]
    True
    """
    if isinstance(y, Graph):
        if not (train is val is test is None):
            raise DataError("a Graph has its splits already; call evaluate(Z, graph), or with y and the splits")
        y, train, val, test = y.y, y.train, y.val, y.test
    named = {"y": y, "train": train, "val": val, "test": test}
    absent = [name for name, value in named.items() if value is None]
    if absent:
        raise DataError(f"{' and '.join(absent)}: missing; the protocol needs classes and all three splits")
    Z = dense_f32("Z", Z)
    nodes = len(Z)
    labels, classes = _classes(one_per_node("y", y, nodes))
    splits = [node_numbers(part, named[part], nodes).astype(np.uint32) for part in ("train", "val", "test")]
    report = _xgoal.evaluate(Z, labels, classes, splits, seed_of(random_state), threads_of(n_jobs))
    scores: dict[str, Any] = json.loads(report)
    scores["sim"] = {int(k): share for k, share in scores["sim"].items()}
    return scores


def _classes(y: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int]:
    """Classes numbered from 0, and how many there are; -1 is unknown."""
    if y.dtype.kind in "biu":
        known = y >= 0
    elif y.dtype.kind == "f":
        known = ~np.isnan(y) & (y >= 0)
    else:
        known = np.array([v is not None and v == v for v in y], dtype=bool)
        y = np.array([str(v) for v in y])
    names, codes = np.unique(y[known], return_inverse=True)
    labels = np.full(len(y), -1, dtype=np.int64)
    labels[known] = codes
    return labels, len(names)


class Clustering(NamedTuple):
    """What :func:`kmeans` finds."""

    labels: np.ndarray[Any, np.dtype[np.int32]]
    """The cluster of each row."""
    centers: np.ndarray[Any, np.dtype[np.float32]]
    """A row per cluster."""
    inertia: float
    """Sum of the squared distances of the rows to their centres."""
    iterations: int
    """Iterations of the seeding that was kept."""


def kmeans(
    Z: Any, clusters: int, *, restarts: int = 10, random_state: Any = 0, n_jobs: int | None = None
) -> Clustering:
    """Clusters rows: k-means++, Lloyd's iterations, the best of several seedings.

    Examples
    --------
    >>> import numpy as np, xgoal
    >>> found = xgoal.kmeans(np.array([[0.0], [0.1], [5.0]]), clusters=2)
    >>> bool(found.labels[0] == found.labels[1] != found.labels[2])
    True
    """
    Z = dense_f32("Z", Z)
    clusters, restarts = _count("clusters", clusters), _count("restarts", restarts)
    return Clustering(*_xgoal.kmeans(Z, clusters, restarts, seed_of(random_state), threads_of(n_jobs)))


class Neighbors(NamedTuple):
    """What :func:`similar` finds: a row for each node asked for, the nearest first."""

    ids: np.ndarray[Any, Any]
    """The neighbours' ids, or row numbers where there are no ids."""
    cosines: np.ndarray[Any, np.dtype[np.float32]]
    """Their cosine similarities."""


def similar(Z: Any, nodes: Any, k: int = 10, *, ids: Any = None, n_jobs: int | None = None) -> Neighbors:
    """The `k` nodes nearest to given ones, by cosine, found by an exact search.

    Parameters
    ----------
    Z
        Embeddings, a row per node.
    nodes
        One id or several; row numbers where there are no `ids`.
    ids
        The ids of the rows of `Z`.

    Returns
    -------
    Neighbors
        Arrays of shape (nodes, k), or (k,) for a single node.

    Examples
    --------
    >>> import numpy as np, xgoal
    >>> Z = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    >>> xgoal.similar(Z, "tea", k=1, ids=["tea", "milk", "salt"]).ids.tolist()
    ['milk']
    """
    Z = dense_f32("Z", Z)
    single = isinstance(nodes, str) or np.ndim(nodes) == 0
    asked = [nodes] if single else list(nodes)
    if ids is None:
        rows = _rows(asked, len(Z))
    else:
        ids = one_per_node("ids", np.array(list(ids), dtype=object), len(Z))
        places = {i: row for row, i in enumerate(ids)}
        for name in asked:
            if name not in places:
                raise DataError(f"no node is called {name!r}")
        rows = np.array([places[name] for name in asked], dtype=np.uint32)
    found, cosines = _xgoal.similar(Z, rows, _count("k", k), threads_of(n_jobs))
    names = found if ids is None else ids[found]
    return Neighbors(names[0], cosines[0]) if single else Neighbors(names, cosines)


def _rows(asked: list[Any], nodes: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    for n in asked:
        if not isinstance(n, (int, np.integer)) or not 0 <= n < nodes:
            raise DataError(
                f"nodes: found {n!r}; expected row numbers from 0 to {nodes - 1}, or ids together with ids=..."
            )
    return np.array(asked, dtype=np.uint32)


def _count(name: str, value: Any) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 1 <= value < 2**31:
        raise ConfigError(f"{name}: found {value!r}; expected a whole number of at least 1")
    return int(value)
