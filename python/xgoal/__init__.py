"""Node embeddings for attributed multiplex heterogeneous graphs, without labels (X-GOAL).

>>> import xgoal
>>> graph = xgoal.datasets.planted(nodes=300, attributes=60)
>>> model = xgoal.XGOAL(dim=16, clusters=6, max_epochs=50)
>>> Z = model.fit_transform(graph)
>>> Z.shape
(300, 16)
>>> neighbours = xgoal.similar(Z, 0, k=5)
>>> scores = xgoal.evaluate(Z, graph)
"""

from . import datasets, errors
from ._analysis import Clustering, Neighbors, evaluate, kmeans, similar
from ._estimators import GOAL, XGOAL
from ._graph import Graph, read
from ._load import load
from ._outputs import to_arrow, to_pandas
from ._pyg import from_pyg
from ._xgoal import __version__
from .errors import (
    ConfigError,
    DataError,
    FileError,
    FormatError,
    InternalError,
    NonFiniteError,
    NotFittedError,
    OutOfMemoryError,
    XgoalError,
)

__all__ = [
    "GOAL",
    "XGOAL",
    "Clustering",
    "ConfigError",
    "DataError",
    "FileError",
    "FormatError",
    "Graph",
    "InternalError",
    "Neighbors",
    "NonFiniteError",
    "NotFittedError",
    "OutOfMemoryError",
    "XgoalError",
    "__version__",
    "datasets",
    "errors",
    "evaluate",
    "from_pyg",
    "kmeans",
    "load",
    "read",
    "similar",
    "to_arrow",
    "to_pandas",
]
