"""The attributed multiplex graph as Python holds it: SciPy matrices, and what is known about the nodes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _xgoal
from ._matrices import Matrix, check_matrix, compressed, native
from ._networkx import from_networkx
from ._pyg import from_pyg
from ._tables import from_tables
from .errors import DataError

IntArray = np.ndarray[Any, np.dtype[np.int64]]


class Graph:
    """Named layers over the same nodes, their attributes, and what is known about the nodes.

    Nothing is copied: the graph refers to the matrices it is given. They are handed to the engine, one
    copy of each, when an estimator is fitted or transforms.

    Parameters
    ----------
    layers
        A dict of name to square matrix (SciPy sparse of any format, or NumPy), a list of them (named
        ``layer0``, ``layer1``, ...), or a single one. Entry (i, j) is the weight of the edge from i to j.
    X
        Attributes, a row per node: SciPy sparse or NumPy.
    ids
        The nodes' names, strings or whole numbers, none twice; without, nodes are numbered from 0.
    y
        A class per node: numbers (negative is unknown) or strings (``None`` is unknown).
    train, val, test
        Node numbers, or masks of bools.
    class_names, feature_names
        Names of the classes 0, 1, ... in ``y`` and of the columns of ``X``.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, xgoal
    >>> bought = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> xgoal.Graph({"bought": bought}, np.eye(3), ids=["tea", "milk", "salt"])
    Graph(3 nodes, 3 attributes, bought: 4 edges)
    """

    layers: dict[str, Matrix]
    X: Matrix
    ids: np.ndarray[Any, Any] | None
    y: np.ndarray[Any, Any] | None
    train: IntArray | None
    val: IntArray | None
    test: IntArray | None
    class_names: list[str] | None
    feature_names: list[str] | None

    def __init__(
        self,
        layers: Mapping[str, Matrix] | Sequence[Matrix] | Matrix,
        X: Matrix,
        *,
        ids: Iterable[Any] | None = None,
        y: Any = None,
        train: Any = None,
        val: Any = None,
        test: Any = None,
        class_names: Iterable[str] | None = None,
        feature_names: Iterable[str] | None = None,
    ) -> None:
        self.layers = named_layers(layers)
        if X is None:
            raise DataError(
                "X is missing; expected the nodes' attributes, a row per node (where there are none, "
                "scipy.sparse.identity(nodes) gives each node one of its own)"
            )
        self.X = check_matrix("X", X)
        nodes = self.nodes
        for name, layer in self.layers.items():
            if layer.shape != (nodes, nodes):
                raise DataError(
                    f"layer `{name}` is {layer.shape[0]} x {layer.shape[1]}; expected {nodes} x {nodes}, "
                    f"as X has {nodes} rows"
                )
        self.ids = None if ids is None else _ids(ids, nodes)
        self.y = None if y is None else one_per_node("y", y, nodes)
        self.train = None if train is None else node_numbers("train", train, nodes)
        self.val = None if val is None else node_numbers("val", val, nodes)
        self.test = None if test is None else node_numbers("test", test, nodes)
        self.class_names = None if class_names is None else [str(name) for name in class_names]
        self.feature_names = None if feature_names is None else [str(name) for name in feature_names]
        if self.feature_names is not None and len(self.feature_names) != self.X.shape[1]:
            raise DataError(f"{len(self.feature_names)} feature names for {self.X.shape[1]} columns of X")

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of attributes."""
        return int(self.X.shape[1])

    def __repr__(self) -> str:
        def edges(layer: Matrix) -> int:
            return int(layer.nnz if sp.issparse(layer) else np.count_nonzero(layer))

        parts = [f"{self.nodes:,} nodes", f"{self.n_features:,} attributes"]
        parts += [f"{name}: {edges(layer):,} edges" for name, layer in self.layers.items()]
        return f"Graph({', '.join(parts)})"

    def _native(self, select: list[str] | None) -> _xgoal.Graph:
        """The graph in the library's form: the one copy there is."""
        wanted = self.layers if select is None or not set(select) <= set(self.layers) else set(select)
        layers = [(name, compressed(self.layers[name])) for name in self.layers if name in wanted]
        X = compressed(self.X) if sp.issparse(self.X) else native(self.X)
        ids = None if self.ids is None else [str(i) for i in self.ids]
        return _xgoal.Graph(layers, X, select, ids)

    @classmethod
    def _of_parts(cls, parts: dict[str, Any]) -> Graph:
        layers = {name: sp.csr_array(arrays, shape=shape) for name, arrays, shape in parts.pop("layers")}
        X = parts.pop("X")
        return cls(layers, sp.csr_array(X[0], shape=X[1]) if isinstance(X, tuple) else X, **parts)

    from_tables = staticmethod(from_tables)
    from_pyg = staticmethod(from_pyg)
    from_networkx = staticmethod(from_networkx)


def read(path: str | os.PathLike[str], layers: Sequence[str] | None = None) -> Graph:
    """Reads a source: anything the command reads, by the same rules.

    Parameters
    ----------
    path
        The file or folder.
    layers
        Which layers, in which order; all of them when not given.

    Examples
    --------
    >>> import numpy as np, xgoal
    >>> np.savez("shop.npz", feature=np.eye(4), bought=np.ones((4, 4)), viewed=np.eye(4))
    >>> xgoal.read("shop.npz", layers=["viewed"])
    Graph(4 nodes, 4 attributes, viewed: 4 edges)
    """
    return Graph._of_parts(_xgoal.read(os.fspath(path), None if layers is None else list(layers)))


def named_layers(layers: Any) -> dict[str, Matrix]:
    """Layers by name, each a matrix of numbers."""
    if isinstance(layers, Mapping):
        for name in layers:
            if not isinstance(name, str):
                raise DataError(f"layers: a layer is called {name!r}; expected names that are strings")
        named = dict(layers)
    elif isinstance(layers, (list, tuple)):
        named = {f"layer{v}": layer for v, layer in enumerate(layers)}
    elif sp.issparse(layers) or isinstance(layers, np.ndarray):
        named = {"layer0": layers}
    elif isinstance(layers, (str, os.PathLike)):
        raise DataError(f"layers: a path; read it first, with xgoal.read({os.fspath(layers)!r})")
    else:
        raise DataError(
            f"layers: found {type(layers).__name__}; expected a dict of name to SciPy sparse matrix, a list "
            "of matrices, or a xgoal.Graph"
        )
    if not named:
        raise DataError("layers: none; expected at least one")
    return {name: check_matrix(f"layer `{name}`", layer) for name, layer in named.items()}


def _ids(ids: Iterable[Any], nodes: int) -> np.ndarray[Any, Any]:
    listed = [i.item() if isinstance(i, np.generic) else i for i in ids]
    if len(listed) != nodes:
        raise DataError(f"{len(listed)} ids for {nodes} nodes")
    for i in listed:
        if not isinstance(i, (str, int)) or isinstance(i, bool):
            raise DataError(f"ids: found {i!r}; expected strings or whole numbers")
    texts = [str(i) for i in listed]
    if len(set(texts)) != nodes:
        seen: set[str] = set()
        twice = next(t for t in texts if t in seen or seen.add(t))  # type: ignore[func-returns-value]
        raise DataError(f"the id `{twice}` stands for two nodes")
    array = np.empty(nodes, dtype=object)
    array[:] = listed
    return array


def one_per_node(what: str, values: Any, nodes: int) -> np.ndarray[Any, Any]:
    """One value for each node."""
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != nodes:
        shape = " x ".join(str(n) for n in array.shape) or "a single value"
        raise DataError(f"{what}: {shape}; expected one value for each of the {nodes} nodes")
    return array


def node_numbers(what: str, values: Any, nodes: int) -> IntArray:
    """Node numbers, given as such or as a mask; none twice."""
    array = np.asarray(values)
    if array.dtype.kind == "b":
        return np.flatnonzero(one_per_node(what, array, nodes)).astype(np.int64)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size > 0):
        raise DataError(f"{what}: expected a list of node numbers or a mask of bools, found {array.dtype}")
    array = array.astype(np.int64)
    outside = array[(array < 0) | (array >= nodes)]
    if outside.size > 0:
        raise DataError(f"{what}: node {outside[0]}; expected 0 up to but not including {nodes}")
    if np.unique(array).size != array.size:
        raise DataError(f"{what}: a node stands there twice; expected different node numbers")
    return array
