"""Graphs to try things on."""

from __future__ import annotations

from typing import Any

from . import _xgoal
from ._graph import Graph
from ._params import seed_of
from .errors import ConfigError

__all__ = ["planted"]


def planted(
    nodes: int = 1200,
    *,
    communities: int = 6,
    layers: int = 2,
    attributes: int = 600,
    degree: int = 10,
    words: int = 6,
    noise: float = 0.5,
    random_state: Any = 0,
) -> Graph:
    """A made-up graph with communities that no layer and no attribute shows alone.

    Each layer joins the communities in pairs, each in other pairs, and attributes are noisy. It comes with
    classes (the communities) and a split, and is the graph of ``xgoal demo``.

    Parameters
    ----------
    nodes, communities, layers, attributes
        How many; an even number of communities, at least 4.
    degree, words
        Edges per node and layer, and attributes per node, on average.
    noise
        Share of edges and of attributes that are drawn from anywhere.
    random_state
        The seed, as for the estimators.

    Examples
    --------
    >>> import xgoal
    >>> graph = xgoal.datasets.planted(nodes=100, attributes=30, communities=4)
    >>> graph.nodes, sorted(graph.layers), graph.class_names
    (100, ['layer0', 'layer1'], ['community 0', 'community 1', 'community 2', 'community 3'])
    """
    numbers = {
        "nodes": nodes, "communities": communities, "layers": layers, "attributes": attributes,
        "degree": degree, "words": words,
    }
    for name, value in numbers.items():
        if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= int(value) < 2**63:
            raise ConfigError(f"{name}: found {value!r}; expected a whole number of at least 0")
    if isinstance(noise, bool) or not isinstance(noise, (int, float)):
        raise ConfigError(f"noise: found {noise!r}; expected a number from 0 to 1")
    return Graph._of_parts(_xgoal.planted({**numbers, "noise": noise, "seed": seed_of(random_state)}))
