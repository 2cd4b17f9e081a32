"""Estimators out of files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from . import _xgoal
from ._base import Estimator
from ._estimators import GOAL, XGOAL
from .errors import DataError


def load(
    path: str | os.PathLike[str], *, preset: str | None = None, layers: Iterable[str] | None = None
) -> XGOAL | GOAL:
    """Reads what :meth:`XGOAL.save` or the command wrote: a run folder or a model file.

    The estimator can :meth:`~XGOAL.transform`; from a run folder it also has ``embedding_``, ``ids_`` and
    ``history_``. An authors' PyTorch checkpoint (``.pkl``, ``.pt``) works too; it names no layers and holds no
    settings, so `preset` or `layers` must.

    Examples
    --------
    >>> import xgoal
    >>> graph = xgoal.datasets.planted(nodes=200, attributes=60)
    >>> model = xgoal.XGOAL(dim=8, clusters=6, max_epochs=3).fit(graph)
    >>> model.save("model.safetensors")
    >>> bool((xgoal.load("model.safetensors").transform(graph) == model.embedding_).all())
    True
    """
    path = Path(path)
    settings = None
    if preset is not None or layers is not None:
        values = {} if layers is None else {"layers": list(layers)}
        settings = _xgoal.Settings(preset or "auto", values)
    model = _xgoal.Model.read(path, settings)
    config = json.loads(model.settings)
    kind = GOAL if config["method"] == "goal" else XGOAL
    names = set(kind._names()) & set(config)
    estimator = kind(random_state=config["seed"], **{name: config[name] for name in names})
    estimator._adopt(model)
    if path.is_dir():
        _load_run(estimator, path)
    return estimator


def _load_run(estimator: Estimator, folder: Path) -> None:
    embedded = _xgoal.read_embeddings(folder)
    if embedded is not None:
        estimator.embedding_, ids = embedded
        if ids is not None:
            estimator.ids_ = np.array(ids, dtype=object)
    try:
        with open(folder / "metrics.jsonl", encoding="utf-8") as metrics:
            estimator.history_ = [json.loads(line) for line in metrics]
    except (OSError, ValueError) as error:
        raise DataError(f"{folder}: not a whole run folder: {error}") from error
