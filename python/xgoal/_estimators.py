"""X-GOAL and GOAL: their parameters."""

from __future__ import annotations

from typing import Any

from ._base import Estimator
from ._params import storing


class XGOAL(Estimator):
    """X-GOAL: node embeddings of a multiplex graph, all layers aligned with each other.

    Parameters are the library's settings under the same names, described in ``docs/settings.md``. One that is
    ``None`` is as the preset has it.

    Parameters
    ----------
    preset
        ``auto``, for a graph nobody has tuned for; or the paper's ``acm``, ``imdb``, ``dblp``, ``amazon``.
    layers
        Which layers, in which order: names. All of the graph's, unless the preset has its own.
    dim
        Length of an embedding.
    activation, encoder
        ``tanh`` or ``relu``; ``first-order`` or ``gcn``.
    p_drop, augmentation, drop_attributes, drop_edges
        How the positive view is drawn.
    clusters, tau, cluster_every, kmeans_restarts
        Prototypes: their number, their temperature (each one value or a list with one per layer), the epochs
        between two clusterings, and the seedings of the first.
    lambda_n, lambda_c, mu_n, mu_c, align_tau, layer_weights
        Weights of the four terms, the temperature of the alignment, and weights of the layers in training (the last two
        one value or a list with one per layer).
    start
        What encoders begin with: ``random``, ``principal`` or ``auto``.
    lr, warmup, warmup_lr, warmup_mu_n, max_epochs, patience, schedule
        How long is trained, and how fast; ``schedule`` is ``smooth``, or ``paper`` for the stages of the authors'
        program.
    batch
        Nodes of a step: a number, ``all``, or ``auto``.
    normalize_attributes, normalize_columns, smooth_attributes, normalize_edges, self_loops
        What is done to the graph first.
    structure, structure_weight
        Columns of structure beside the attributes, and what they are multiplied by: numbers, or ``auto``.
    random_state
        The seed, 0 by default as everywhere in xgoal; a NumPy generator to draw it from; or ``None`` for another
        one in each fit (it is in ``config_["seed"]`` afterwards).
    n_jobs
        Threads. ``None`` or -1 is one per core. The result does not depend on it.
    verbose
        0 is silent, 1 shows progress on a terminal or in a notebook, 2 also prints a line per stage.

    Attributes
    ----------
    embedding_
        The embeddings, float32, a row per node: the mean over the layers.
    layer_embeddings_
        Each layer's own, by name.
    cluster_centers_, cluster_labels_
        Each layer's prototypes and the nodes' clusters at the last clustering, by name; ``None`` if training
        did not get there.
    history_
        A dict per epoch: what `metrics.jsonl` holds.
    config_
        Every setting as it was used.
    layer_names_, n_features_in_, feature_names_in_, ids_
        What it was fitted on; names and ids where the graph had some.

    Examples
    --------
    >>> import xgoal
    >>> graph = xgoal.datasets.planted(nodes=200, attributes=60, random_state=1)
    >>> model = xgoal.XGOAL(dim=16, clusters=6, max_epochs=20, random_state=0)
    >>> Z = model.fit_transform(graph.layers, graph.X)
    >>> Z.shape, Z.dtype.name
    ((200, 16), 'float32')
    >>> sorted(model.layer_embeddings_)
    ['layer0', 'layer1']
    >>> model.history_[-1]["stage"]
    'joint'
    """

    _method = "xgoal"

    @storing
    def __init__(
        self,
        preset: str = "auto",
        *,
        layers: Any = None,
        dim: int | None = None,
        activation: str | None = None,
        encoder: str | None = None,
        p_drop: float | None = None,
        augmentation: str | None = None,
        drop_attributes: bool | None = None,
        drop_edges: bool | None = None,
        clusters: Any = None,
        tau: Any = None,
        cluster_every: int | None = None,
        kmeans_restarts: int | None = None,
        lambda_n: float | None = None,
        lambda_c: float | str | None = None,
        mu_n: float | None = None,
        mu_c: float | None = None,
        align_tau: Any = None,
        layer_weights: Any = None,
        lr: float | None = None,
        start: str | None = None,
        warmup: bool | str | None = None,
        warmup_lr: float | None = None,
        warmup_mu_n: float | None = None,
        max_epochs: int | None = None,
        patience: int | None = None,
        schedule: str | None = None,
        batch: int | str | None = None,
        normalize_attributes: str | None = None,
        normalize_columns: str | None = None,
        smooth_attributes: int | str | None = None,
        normalize_edges: str | None = None,
        self_loops: str | None = None,
        structure: int | str | None = None,
        structure_weight: float | str | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 1,
    ) -> None: ...


class GOAL(Estimator):
    """GOAL: like :class:`XGOAL`, but every layer for itself; what is meant for a single layer.

    The parameters are those of :class:`XGOAL` without the alignment's: ``mu_n``, ``mu_c``, ``align_tau`` and
    ``warmup_mu_n``.

    Examples
    --------
    >>> import xgoal
    >>> graph = xgoal.datasets.planted(nodes=200, attributes=60)
    >>> model = xgoal.GOAL(dim=8, clusters=6, max_epochs=5)
    >>> model.fit(graph.layers["layer0"], graph.X)
    GOAL(clusters=6, dim=8, max_epochs=5)
    >>> model.embedding_.shape
    (200, 8)
    """

    _method = "goal"

    @storing
    def __init__(
        self,
        preset: str = "auto",
        *,
        layers: Any = None,
        dim: int | None = None,
        activation: str | None = None,
        encoder: str | None = None,
        p_drop: float | None = None,
        augmentation: str | None = None,
        drop_attributes: bool | None = None,
        drop_edges: bool | None = None,
        clusters: Any = None,
        tau: Any = None,
        cluster_every: int | None = None,
        kmeans_restarts: int | None = None,
        lambda_n: float | None = None,
        lambda_c: float | str | None = None,
        layer_weights: Any = None,
        lr: float | None = None,
        start: str | None = None,
        warmup: bool | str | None = None,
        warmup_lr: float | None = None,
        max_epochs: int | None = None,
        patience: int | None = None,
        schedule: str | None = None,
        batch: int | str | None = None,
        normalize_attributes: str | None = None,
        normalize_columns: str | None = None,
        smooth_attributes: int | str | None = None,
        normalize_edges: str | None = None,
        self_loops: str | None = None,
        structure: int | str | None = None,
        structure_weight: float | str | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 1,
    ) -> None: ...
