"""What both estimators do."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from . import _outputs, _xgoal
from ._graph import Graph, named_layers
from ._params import Parameters, level_of, plain, seed_of, threads_of
from ._progress import Progress
from .errors import ConfigError, DataError, _not_fitted

if TYPE_CHECKING:
    import pandas
    import pyarrow

Array = np.ndarray[Any, np.dtype[np.float32]]
Callback = Callable[[dict[str, Any]], Any]
Self = TypeVar("Self", bound="Estimator")

# Parameters that are no settings of the library.
OWN = {"preset", "random_state", "n_jobs", "verbose"}


class Estimator(Parameters):
    """What both estimators do."""

    preset: str
    random_state: Any
    n_jobs: int | None
    verbose: int
    embedding_: Array
    layer_embeddings_: dict[str, Array]
    cluster_centers_: dict[str, Array] | None
    cluster_labels_: dict[str, np.ndarray[Any, np.dtype[np.int32]]] | None
    history_: list[dict[str, Any]]
    config_: dict[str, Any]
    layer_names_: list[str]
    n_features_in_: int
    ids_: np.ndarray[Any, Any] | None
    _model: _xgoal.Model
    _method: str

    def fit(self: Self, layers: Any, X: Any = None, y: Any = None, *, callback: Callback | None = None) -> Self:
        """Learns embeddings.

        Parameters
        ----------
        layers
            A :class:`Graph`; or a dict of name to square matrix (SciPy sparse of any format, or NumPy), a
            list of matrices, or one matrix.
        X
            Attributes, a row per node, unless `layers` is a :class:`Graph`, which has them.
        y
            Not used; pipelines pass it. With a :class:`Graph` it may stand in the second place.
        callback
            Called after each epoch with what a line of `metrics.jsonl` holds, as a dict. Training stops when
            it returns ``True``.

        Notes
        -----
        Ctrl-C ends training after the epoch under way: what has been learnt so far is kept, as if a callback
        had stopped it, and ``KeyboardInterrupt`` is raised.
        """
        graph = _graph(layers, X, fitting=True)
        threads, verbose = threads_of(self.n_jobs), level_of(self.verbose)
        settings = self._settings()
        session = _xgoal.Session(graph._native(settings.layers), settings, threads)
        for key, words in session.decisions:
            if key == "layers":
                warnings.warn(words, stacklevel=2)
        history: list[dict[str, Any]] = []
        try:
            with Progress(verbose) as progress:
                while (line := session.step()) is not None:
                    history.append(json.loads(line))
                    progress.epoch(history[-1])
                    if callback is not None and _is_true(callback(dict(history[-1]))):
                        break
        except KeyboardInterrupt:
            self._keep(session, history, graph)
            raise
        self._keep(session, history, graph)
        return self

    def fit_transform(
        self, layers: Any, X: Any = None, y: Any = None, *, callback: Callback | None = None
    ) -> Array:
        """Learns, and returns the embeddings: a row per node, the mean of the layers'. See :meth:`fit`."""
        return self.fit(layers, X, y, callback=callback).embedding_

    def transform(self, layers: Any, X: Any = None) -> Array:
        """Embeddings of a graph with the same layers and attributes, also of nodes never seen before."""
        return self._embed(layers, X)[1]

    def transform_layers(self, layers: Any, X: Any = None) -> dict[str, Array]:
        """Like :meth:`transform`, but each layer's own embeddings, by name."""
        embeddings = self._embed(layers, X)[0]
        return dict(zip(self.layer_names_, embeddings))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:
        """Names of the embedding's dimensions."""
        self._check_fitted()
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{d}" for d in range(self.config_["dim"])], dtype=object)

    def to_pandas(self, Z: Array | None = None, ids: Iterable[Any] | None = None) -> pandas.DataFrame:
        """The fitted embeddings with their ids as a pandas table; or others, with theirs."""
        Z, ids = self._table(Z, ids)
        return _outputs.to_pandas(Z, ids, prefix=type(self).__name__.lower())

    def to_arrow(self, Z: Array | None = None, ids: Iterable[Any] | None = None) -> pyarrow.Table:
        """The fitted embeddings with their ids as an Arrow table; or others, with theirs."""
        return _outputs.to_arrow(*self._table(Z, ids))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes what the command writes and reads: a model file if the name ends in ``.safetensors``, else a
        run folder with the model, the settings, the metrics and the embeddings with their ids.
        """
        self._check_fitted()
        path = Path(path)
        if path.suffix == ".safetensors":
            self._model.write(path)
            return
        if (path / "config.toml").exists():
            raise DataError(f"{path}: there is already a run here; choose another folder")
        embedding, ids = self._embedding(), getattr(self, "ids_", None)
        lines = "".join(json.dumps(record) + "\n" for record in self.history_)
        self._model.write_run(path, embedding, None if ids is None else [str(i) for i in ids], lines)

    def _settings(self) -> _xgoal.Settings:
        values = {
            name: plain(name, value)
            for name, value in self.get_params().items()
            if name not in OWN and value is not None
        }
        values |= {"method": self._method, "seed": seed_of(self.random_state)}
        if isinstance(values.get("layers"), str):
            values["layers"] = [values["layers"]]
        preset = self.preset
        if not isinstance(preset, str):
            raise ConfigError(f"preset: found {preset!r}; expected one of {', '.join(_xgoal.PRESETS)}")
        return _xgoal.Settings(preset, values)

    def _keep(self, session: _xgoal.Session, history: list[dict[str, Any]], graph: Graph) -> None:
        model, layers, mean, clusters = session.finish()
        self._adopt(model)
        names = self.layer_names_
        self.embedding_ = mean
        self.layer_embeddings_ = dict(zip(names, layers))
        centers = None if clusters is None else {n: c for n, (c, _) in zip(names, clusters)}
        self.cluster_centers_ = centers
        labels = None if clusters is None else {n: a for n, (_, a) in zip(names, clusters)}
        self.cluster_labels_ = labels
        self.history_ = history
        self.ids_ = graph.ids
        if graph.feature_names is not None:
            self.feature_names_in_ = np.array(graph.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _adopt(self, model: _xgoal.Model) -> None:
        self._model = model
        self.config_ = json.loads(model.settings)
        self.layer_names_ = model.layers
        self.n_features_in_ = model.features

    def _embed(self, layers: Any, X: Any) -> tuple[list[Array], Array]:
        self._check_fitted()
        graph = _graph(layers, X, fitting=False)
        known = getattr(self, "feature_names_in_", None)
        if known is not None and graph.feature_names is not None and list(known) != graph.feature_names:
            raise DataError(
                "the columns of X are not those of fit, or in another order; make the graph with "
                "feature_names=model.feature_names_in_"
            )
        if graph.n_features != self.n_features_in_:
            raise DataError(
                f"X has {graph.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: give the same columns as in fit"
            )
        # A name that no layer has may be a sum of layers.
        parts = {name: {name} if name in graph.layers else set(name.split("+")) for name in self.layer_names_}
        missing = [name for name in parts if not parts[name] <= set(graph.layers)]
        if missing:
            raise DataError(
                f"no layer is called `{missing[0]}`; the model was fitted on {', '.join(self.layer_names_)} and "
                f"the graph has {', '.join(graph.layers)}"
            )
        native = graph._native(self.layer_names_)
        if (words := self._model.strangers(native)) is not None:
            warnings.warn(words, stacklevel=3)
        return self._model.embed(native, threads_of(self.n_jobs))

    def _embedding(self) -> Array:
        if not hasattr(self, "embedding_"):
            raise DataError(
                "this model came from a file without embeddings; call transform for them, or save to a name "
                "that ends in .safetensors"
            )
        return self.embedding_

    def _table(self, Z: Any, ids: Any) -> tuple[Any, Any]:
        self._check_fitted()
        return (self._embedding(), self.ids_ if ids is None else ids) if Z is None else (Z, ids)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise _not_fitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=["float32"]),
            input_tags=InputTags(two_d_array=False, sparse=True, dict=True),
        )


def _graph(layers: Any, X: Any, *, fitting: bool) -> Graph:
    if not isinstance(layers, Graph):
        # What the layers are is the more telling mistake.
        return Graph(named_layers(layers), X)
    # A pipeline puts y in the second place.
    if X is not None and not (fitting and np.ndim(X) == 1):
        raise DataError("X: a Graph has its attributes already; call with the Graph alone, or with layers and X")
    return layers


def _is_true(answer: Any) -> bool:
    return isinstance(answer, (bool, np.bool_)) and bool(answer)
