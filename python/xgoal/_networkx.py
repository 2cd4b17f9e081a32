"""Graphs out of NetworkX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .errors import DataError

if TYPE_CHECKING:
    from ._graph import Graph


def from_networkx(
    graphs: Any,
    *,
    features: str | Iterable[str],
    layer: str | None = None,
    weight: str | None = None,
    label: str | None = None,
) -> Graph:
    """A graph out of NetworkX graphs over the same nodes.

    Parameters
    ----------
    graphs
        Layers by name, ``{"knows": nx.Graph(...), "works_with": ...}``, or one graph. The nodes are those of
        the first, in its order; the others must have no node beside them.
    features
        The node attribute that holds a vector, or the names of several that hold numbers, in the first graph.
    layer
        In one graph, the edge attribute that names an edge's layer. Without it the graph is one layer.
    weight
        The edge attribute that holds weights; parallel edges add up. Without it an edge counts 1.
    label
        The node attribute that holds the class.

    Examples
    --------
    >>> import networkx as nx, xgoal
    >>> people = nx.MultiGraph()
    >>> people.add_nodes_from([("ann", {"age": 30}), ("bob", {"age": 40}), ("cy", {"age": 50})])
    >>> _ = people.add_edge("ann", "bob", kind="knows"), people.add_edge("bob", "cy", kind="pays")
    >>> xgoal.Graph.from_networkx(people, layer="kind", features=["age"])
    Graph(3 nodes, 1 attributes, knows: 2 edges, pays: 2 edges)
    """
    from ._graph import Graph

    named = dict(graphs) if isinstance(graphs, Mapping) else {"layer0": graphs}
    if not named or not all(hasattr(g, "nodes") and hasattr(g, "edges") for g in named.values()):
        raise DataError("graphs: expected a NetworkX graph, or a dict of them by layer")
    first = next(iter(named.values()))
    places = {node: place for place, node in enumerate(first.nodes)}
    entries: dict[str, list[tuple[int, int, float]]] = {}
    for name, graph in named.items():
        extra = next((node for node in graph.nodes if node not in places), None)
        if extra is not None:
            raise DataError(f"layer `{name}`: the node {extra!r} is not in the first graph")
        for source, target, values in graph.edges(data=True):
            if layer is not None and layer not in values:
                raise DataError(f"the edge {source!r}-{target!r} has no attribute `{layer}`")
            kind = name if layer is None else str(values[layer])
            value = 1.0 if weight is None else float(values.get(weight, 1.0))
            edges = entries.setdefault(kind, [])
            edges.append((places[source], places[target], value))
            if not graph.is_directed() and source != target:
                edges.append((places[target], places[source], value))
        if layer is None:
            entries.setdefault(name, [])
    layers = {}
    for name, edges in entries.items():
        sources, targets, values = np.array(edges).reshape(-1, 3).T
        ends = (sources.astype(np.int64), targets.astype(np.int64))
        matrix = sp.coo_array((values, ends), shape=(len(places), len(places))).tocsr()
        if weight is None:
            matrix.data[:] = 1
        layers[name] = matrix
    attributes = [features] if isinstance(features, str) else list(features)
    rows = [_attributes(first, node, attributes) for node in first.nodes]
    for node, row in zip(first.nodes, rows):
        if len(row) != len(rows[0]):
            raise DataError(f"the node {node!r} has {len(row)} attributes; expected {len(rows[0])}, as the first")
    X = np.array(rows, dtype=float).reshape(len(rows), -1)
    y = None if label is None else np.array([first.nodes[n].get(label) for n in first.nodes])
    ids = [n if isinstance(n, (str, int)) else str(n) for n in first.nodes]
    return Graph(layers, X, ids=ids, y=y)


def _attributes(graph: Any, node: Any, names: list[str]) -> list[Any]:
    """The numbers a node holds under some names, one after another."""
    row: list[Any] = []
    for name in names:
        if name not in graph.nodes[node]:
            raise DataError(f"the node {node!r} has no attribute `{name}`")
        value = np.atleast_1d(np.asarray(graph.nodes[node][name]))
        if value.dtype.kind not in "biuf":
            raise DataError(f"the node {node!r}: `{name}` is {graph.nodes[node][name]!r}; expected numbers")
        row += value.ravel().tolist()
    return row
