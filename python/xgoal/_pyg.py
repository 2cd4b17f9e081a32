"""Graphs out of PyTorch Geometric. torch comes in only with the data itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from . import _metapaths
from .errors import ConfigError, DataError

if TYPE_CHECKING:
    from ._graph import Graph


def from_pyg(
    data: Any,
    node_type: str,
    metapaths: Mapping[str, Any] | None = None,
    *,
    weighted: bool = False,
) -> Graph:
    """The nodes of one type of a PyTorch Geometric ``HeteroData``, joined by its relations.

    Parameters
    ----------
    data
        A ``HeteroData`` with ``data[node_type].x``. Labels ``y`` and the masks ``train_mask``, ``val_mask`` and
        ``test_mask`` are taken where they are there.
    node_type
        The nodes to embed.
    metapaths
        Layers by name, each a path through the data's relations and back to `node_type`: by node types,
        ``{"PAP": ["paper", "author", "paper"]}``, or by relations,
        ``{"PAP": [("paper", "written_by", "author"), ("author", "writes", "paper")]}``. A relation can be
        followed both ways. When not given, each relation from `node_type` to itself is a layer.
    weighted
        Whether a meta-path's layer counts the paths, rather than being 1 wherever there is one.
    """
    from ._graph import Graph

    if not hasattr(data, "node_types") or not hasattr(data, "edge_types"):
        raise DataError(f"data: found {type(data).__name__}; expected a HeteroData of PyTorch Geometric")
    if node_type not in data.node_types:
        raise ConfigError(
            f"no node type is called `{node_type}`; there are {', '.join(data.node_types)}"
        )
    store = data[node_type]
    if getattr(store, "x", None) is None:
        raise DataError(f"data[{node_type!r}] has no attributes `x`; set them first")
    relations = {}
    for key in data.edge_types:
        pairs = _numpy(data[key].edge_index)
        shape = tuple(int(data[end].num_nodes) for end in (key[0], key[2]))
        ones = np.ones(pairs.shape[1])
        matrix = sp.coo_array((ones, (pairs[0], pairs[1])), shape=shape).tocsr()
        matrix.data[:] = 1  # the same edge twice is one edge
        relations[key] = matrix
    if metapaths is None:
        metapaths = {key[1]: [key] for key in relations if key[0] == key[2] == node_type}
        if not metapaths:
            there = ", ".join("-".join(key) for key in relations) or "none"
            raise ConfigError(
                f"no relation leads from {node_type} to {node_type}; there are {there}: give metapaths"
            )
    layers = {
        name: _metapaths.layer(name, path, relations, node_type, weighted)
        for name, path in metapaths.items()
    }
    known = {name: _numpy(store[key]) for name, key in _KNOWN.items() if getattr(store, key, None) is not None}
    x = store.x.to_dense() if getattr(store.x, "is_sparse", False) else store.x
    return Graph(layers, _numpy(x), **known)


_KNOWN = {"y": "y", "train": "train_mask", "val": "val_mask", "test": "test_mask"}


def _numpy(tensor: Any) -> np.ndarray[Any, Any]:
    return np.asarray(tensor.detach().cpu().numpy())
