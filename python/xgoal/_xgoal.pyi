# The extension module: private to the package, which hands over what it has checked.

import os
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ._matrices import Compressed

_F32 = np.ndarray[Any, np.dtype[np.float32]]
_I32 = np.ndarray[Any, np.dtype[np.int32]]
_I64 = np.ndarray[Any, np.dtype[np.int64]]
_U32 = np.ndarray[Any, np.dtype[np.uint32]]

__all__ = [
    "Graph",
    "Model",
    "PRESETS",
    "SETTINGS",
    "Session",
    "Settings",
    "__version__",
    "available_bytes",
    "evaluate",
    "kmeans",
    "planted",
    "read",
    "read_embeddings",
    "similar",
]

__version__: str
SETTINGS: list[str]
PRESETS: list[str]

@final
class Graph:
    def __new__(
        cls,
        layers: Sequence[tuple[str, Compressed]],
        attributes: Compressed | np.ndarray[Any, Any],
        select: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
    ) -> Graph: ...
    @property
    def nodes(self) -> int: ...
    def fingerprint(self) -> str: ...

@final
class Settings:
    def __new__(cls, preset: str, values: dict[str, Any]) -> Settings: ...
    @property
    def layers(self) -> list[str] | None: ...

@final
class Session:
    def __new__(cls, graph: Graph, settings: Settings, threads: int) -> Session: ...
    @property
    def decisions(self) -> list[tuple[str, str]]: ...
    def step(self) -> str | None: ...
    def finish(self) -> tuple[Model, list[_F32], _F32, list[tuple[_F32, _I32]] | None]: ...

@final
class Model:
    @staticmethod
    def read(path: str | os.PathLike[str], settings: Settings | None = None) -> Model: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def write(self, path: str | os.PathLike[str]) -> None: ...
    def write_run(
        self, folder: str | os.PathLike[str], embeddings: _F32, ids: Sequence[str] | None, metrics: str
    ) -> None: ...
    def embed(self, graph: Graph, threads: int) -> tuple[list[_F32], _F32]: ...
    def strangers(self, graph: Graph) -> str | None: ...
    @property
    def layers(self) -> list[str]: ...
    @property
    def features(self) -> int: ...
    @property
    def settings(self) -> str: ...

def read(path: str | os.PathLike[str], layers: Sequence[str] | None = None) -> dict[str, Any]: ...
def read_embeddings(folder: str | os.PathLike[str]) -> tuple[_F32, list[str] | None] | None: ...
def planted(plan: dict[str, Any]) -> dict[str, Any]: ...
def evaluate(
    embeddings: _F32, labels: _I64, classes: int, splits: Sequence[_U32], seed: int, threads: int
) -> str: ...
def kmeans(
    points: _F32, clusters: int, restarts: int, seed: int, threads: int
) -> tuple[_I32, _F32, float, int]: ...
def similar(embeddings: _F32, nodes: _U32, k: int, threads: int) -> tuple[_I64, _F32]: ...
def available_bytes() -> int | None: ...
