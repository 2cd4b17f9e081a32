"""Graphs out of tables: pandas, Polars, Arrow, or a dict of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from . import _metapaths
from .errors import ConfigError, DataError

if TYPE_CHECKING:
    from ._graph import Graph


class Table:
    """A table by columns, whichever library it is from; none of them is imported."""

    def __init__(self, what: str, table: Any) -> None:
        self.what = what
        self._table = table
        if isinstance(table, Mapping):
            self.names = list(table)
        elif hasattr(getattr(table, "schema", None), "names") and hasattr(table, "column"):  # Arrow
            self.names = list(table.schema.names)
        elif hasattr(table, "columns") and hasattr(table, "shape"):  # pandas, Polars
            self.names = list(table.columns)
        else:
            raise DataError(
                f"{what}: found {type(table).__name__}; expected a table from pandas, Polars or Arrow, or a "
                "dict of columns"
            )
        if not self.names:
            raise DataError(f"{what}: a table without columns")

    def column(self, name: Any) -> np.ndarray[Any, Any]:
        """One column."""
        if name not in self.names:
            columns = ", ".join(str(n) for n in self.names)
            raise ConfigError(f"{self.what}: no column is called `{name}`; there are {columns}")
        column = self._table[name]
        if hasattr(column, "to_pylist") and not hasattr(column, "chunks"):  # an Arrow array may have to be copied
            return np.asarray(column.to_numpy(zero_copy_only=False))
        array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
        # Strings as objects, however they came.
        return array.astype(object) if array.dtype.kind == "U" else array

    def ids(self, name: Any) -> list[Any]:
        """A column of ids: strings or whole numbers, none missing."""
        column = self.column(name)
        if column.ndim != 1 or column.dtype.kind not in "iuOUT":
            raise DataError(
                f"{self.what}, column `{name}`: values of type {column.dtype}; expected ids, strings or whole "
                "numbers (a column of whole numbers with gaps in it may have become one of floats)"
            )
        ids: list[Any] = column.tolist()
        if column.dtype.kind in "iu":
            return ids
        for row, value in enumerate(ids):
            if not isinstance(value, (str, int)) or isinstance(value, bool):
                raise DataError(f"{self.what}, column `{name}`, row {row}: found {value!r}; expected an id")
        return ids


class _Places(dict[Any, int]):
    """Ids and their places, in order of appearance."""

    def find(self, what: str, ids: list[Any], on_unknown: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Places of ids; what is unknown is -1, or an error that shows the first few."""
        places = np.fromiter((self.get(i, -1) for i in ids), dtype=np.int64, count=len(ids))
        unknown = np.flatnonzero(places < 0)
        if unknown.size > 0 and on_unknown == "error":
            shown = ", ".join(f"{ids[row]!r} (row {row})" for row in unknown[:5])
            more = f" and {unknown.size - 5} more" if unknown.size > 5 else ""
            hint = ""
            if any(str(ids[row]) in map(str, self) for row in unknown[:1]):
                hint = "; one table has numbers where the other has strings"
            raise DataError(
                f"{what}: not in the node table: {shown}{more}{hint} (on_unknown='skip' leaves them out)"
            )
        return places

    def grow(self, ids: list[Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Places of ids, giving new ones to those not seen before."""
        return np.fromiter((self.setdefault(i, len(self)) for i in ids), dtype=np.int64, count=len(ids))


def from_tables(
    nodes: Any,
    *,
    edges: Mapping[str, Any] | None = None,
    relations: Mapping[Any, Any] | None = None,
    metapaths: Mapping[str, Any] | None = None,
    node_type: str = "node",
    id: str | None = None,
    features: Any = None,
    feature_names: Sequence[str] | None = None,
    label: str | None = None,
    split: str | None = None,
    weight: str | None = None,
    directed: bool = False,
    weighted: bool = False,
    on_unknown: str = "error",
) -> Graph:
    """A graph out of tables with ids: pandas, Polars, Arrow, or dicts of columns.

    Parameters
    ----------
    nodes
        The node table: a row per node.
    edges
        Layers by name, each a table whose first two columns are the ids of an edge's ends.
    relations
        Tables that join nodes to other things, by the types they join: ``{("paper", "author"): written}``.
        The columns are those named after the types, else the first two.
    metapaths
        Layers by name, each a path through relations: ``{"PAP": ["paper", "author", "paper"]}``. A relation
        can be followed both ways. Where several join the same types, give a path of triples and name them
        in the keys of `relations` too.
    node_type
        What the node table's nodes are called in `relations` and `metapaths`.
    id
        The node table's column of ids; the first one when not given.
    features
        Columns of the node table (numbers, or vectors), all of numbers when not given; or a matrix, a row
        per node; or a table of node id, feature name and, if there is a third column, value.
    feature_names
        The columns `X` shall have, by name, when `features` is a table; others are left out. So a second
        graph can be given the columns of the first, ``feature_names=first.feature_names``.
    label, split
        The node table's columns of classes, and of ``train``, ``val`` and ``test``.
    weight
        The column of the edge tables that holds weights; duplicates add up. Without it an edge counts 1.
    directed
        Whether an edge leads one way only.
    weighted
        Whether a meta-path's layer counts the paths, rather than being 1 wherever there is one.
    on_unknown
        ``error``, or ``skip``: what to do with an edge or feature of a node that is not in the node table.

    Examples
    --------
    >>> import xgoal
    >>> papers = {"id": ["p1", "p2", "p3"], "year": [2001, 2002, 2003], "pages": [8, 12, 9]}
    >>> written = {"paper": ["p1", "p2", "p2", "p3"], "author": ["ann", "ann", "bob", "bob"]}
    >>> graph = xgoal.Graph.from_tables(
    ...     papers, node_type="paper", relations={("paper", "author"): written},
    ...     metapaths={"PAP": ["paper", "author", "paper"]},
    ... )
    >>> graph
    Graph(3 nodes, 2 attributes, PAP: 7 edges)
    >>> graph.layers["PAP"].toarray().astype(int).tolist()
    [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    """
    from ._graph import Graph

    if on_unknown not in ("error", "skip"):
        raise ConfigError(f"on_unknown: found {on_unknown!r}; expected 'error' or 'skip'")
    table = Table("nodes", nodes)
    id = table.names[0] if id is None else id
    ids = table.ids(id)
    places = _Places()
    for row, name in enumerate(ids):
        if places.setdefault(name, row) != row:
            raise DataError(f"nodes: the id {name!r} stands in rows {places[name]} and {row}")
    layers = {}
    for name, edge_table in (edges or {}).items():
        layers[name] = _edges(Table(f"layer `{name}`", edge_table), places, weight, directed, on_unknown)
    matrices = _relations(relations or {}, node_type, places, on_unknown)
    for name, path in (metapaths or {}).items():
        if name in layers:
            raise ConfigError(f"`{name}` is both a table of edges and a meta-path; expected one of them")
        layers[name] = _metapaths.layer(name, path, matrices, node_type, weighted)
    X, names = _features(table, features, feature_names, [id, label, split], places, on_unknown)
    known: dict[str, Any] = {} if label is None else _labels(table, label)
    known |= {} if split is None else _splits(table, split)
    return Graph(layers, X, ids=ids, feature_names=names, **known)


def _edges(table: Table, places: _Places, weight: str | None, directed: bool, on_unknown: str) -> Any:
    if len(table.names) < 2:
        raise DataError(f"{table.what}: one column; expected the ids of both ends of an edge")
    ends = [places.find(table.what, table.ids(name), on_unknown) for name in table.names[:2]]
    values = np.ones(len(ends[0]))
    if weight is not None:
        values = _numbers(table, weight)
    known = (ends[0] >= 0) & (ends[1] >= 0)
    ends, values = [e[known] for e in ends], values[known]
    n = len(places)
    layer = sp.coo_array((values, (ends[0], ends[1])), shape=(n, n)).tocsr()
    if weight is None:
        layer.data[:] = 1
    # An edge that stands there both ways is one edge, of the greater weight.
    layer = layer if directed else layer.maximum(layer.T).tocsr()
    return layer.astype(np.float32)


def _relations(
    relations: Mapping[Any, Any], node_type: str, places: _Places, on_unknown: str
) -> dict[_metapaths.Relation, Any]:
    types: dict[str, _Places] = {node_type: places}
    entries = {}
    for key, relation in relations.items():
        if not isinstance(key, tuple) or len(key) not in (2, 3):
            raise ConfigError(f"relations: a key is {key!r}; expected the two types joined, as a tuple")
        source, target = key[0], key[-1]
        table = Table(f"relation {source}-{target}", relation)
        if len(table.names) < 2:
            raise DataError(f"{table.what}: one column; expected ids of {source} and of {target}")
        named = source != target and source in table.names and target in table.names
        ends = []
        for kind, name in zip((source, target), (source, target) if named else table.names[:2]):
            ids = table.ids(name)
            if kind == node_type:
                ends.append(places.find(f"{table.what}, column `{name}`", ids, on_unknown))
            else:
                ends.append(types.setdefault(kind, _Places()).grow(ids))
        entries[(source, key[1] if len(key) == 3 else "to", target)] = ends
    matrices = {}
    for key, (rows, cols) in entries.items():
        known = (rows >= 0) & (cols >= 0)
        shape = len(types[key[0]]), len(types[key[2]])
        ones = np.ones(int(known.sum()))
        matrices[key] = sp.coo_array((ones, (rows[known], cols[known])), shape=shape).tocsr()
        matrices[key].data[:] = 1
    return matrices


def _features(
    table: Table,
    features: Any,
    names: Sequence[str] | None,
    other: list[Any],
    places: _Places,
    on_unknown: str,
) -> tuple[Any, list[str] | None]:
    if sp.issparse(features) or isinstance(features, np.ndarray):
        return features, None if names is None else list(names)
    if features is None or (isinstance(features, (list, tuple)) and not isinstance(features, str)):
        return _columns(table, features, other)
    return _triplets(Table("features", features), names, places, on_unknown)


def _columns(table: Table, chosen: Iterable[Any] | None, other: list[Any]) -> tuple[Any, list[str]]:
    """Columns of numbers, each a feature, and of vectors, each number a feature."""
    if chosen is None:
        candidates = [name for name in table.names if name not in other]
        chosen = [name for name in candidates if _vectors(table.column(name)) is not None]
        if not chosen:
            raise DataError(
                "nodes: no column of numbers to take as features; name some with features=[...], or give a "
                "matrix or a table of (id, feature, value)"
            )
    blocks, names = [], []
    for name in chosen:
        column = table.column(name)
        block = _vectors(column)
        if block is None:
            raise DataError(
                f"nodes, column `{name}`: values of type {column.dtype}; expected numbers, or vectors of one "
                "length"
            )
        blocks.append(block)
        names += [str(name)] if block.shape[1] == 1 else [f"{name}.{d}" for d in range(block.shape[1])]
    return np.concatenate(blocks, axis=1), names


def _vectors(column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """A column as a matrix of numbers, if it is one."""
    if column.dtype.kind == "O" and len(column) > 0 and isinstance(column[0], (np.ndarray, list)):
        if len({len(v) if isinstance(v, (np.ndarray, list)) else -1 for v in column}) != 1:
            return None
        column = np.array([np.asarray(v) for v in column])
    if column.dtype.kind not in "biuf" or column.ndim not in (1, 2):
        return None
    return column.reshape(len(column), -1).astype(np.float64, copy=False)


def _triplets(
    table: Table, names: Sequence[str] | None, places: _Places, on_unknown: str
) -> tuple[Any, list[str]]:
    if len(table.names) < 2:
        raise DataError("features: one column; expected node id, feature name and, where there is one, value")
    rows = places.find("features", table.ids(table.names[0]), on_unknown)
    vocabulary = _Places()
    words = [str(word) for word in table.ids(table.names[1])]
    if names is None:
        cols = vocabulary.grow(words)
    else:
        vocabulary.grow([str(name) for name in names])
        cols = vocabulary.find("features", words, "skip")
    values = _numbers(table, table.names[2]) if len(table.names) > 2 else np.ones(len(rows))
    known = (rows >= 0) & (cols >= 0)
    shape = (len(places), len(vocabulary))
    X = sp.coo_array((values[known], (rows[known], cols[known])), shape=shape)
    return X.tocsr(), list(vocabulary)


def _numbers(table: Table, name: Any) -> np.ndarray[Any, Any]:
    column = table.column(name)
    if column.ndim != 1 or column.dtype.kind not in "biuf":
        raise DataError(f"{table.what}, column `{name}`: values of type {column.dtype}; expected numbers")
    return column.astype(np.float64)


def _missing(value: Any) -> bool:
    return value is None or value != value


def _labels(table: Table, name: str) -> dict[str, Any]:
    column: list[Any] = table.column(name).tolist()
    known = sorted({v for v in column if not _missing(v)}, key=lambda v: (str(type(v)), v))
    codes = {value: code for code, value in enumerate(known)}
    y = np.array([-1 if _missing(v) else codes[v] for v in column], dtype=np.int64)
    return {"y": y, "class_names": [str(v) for v in known]}


def _splits(table: Table, name: str) -> dict[str, Any]:
    column = table.column(name).tolist()
    other = {v for v in column if not _missing(v)} - {"train", "val", "test"}
    if other:
        raise DataError(f"nodes, column `{name}`: found {min(map(repr, other))}; expected train, val or test")
    return {part: np.flatnonzero([v == part for v in column]) for part in ("train", "val", "test")}
