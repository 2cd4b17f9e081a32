"""Embeddings as tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._matrices import dense_f32
from .errors import DataError

if TYPE_CHECKING:
    import pandas
    import pyarrow


def _rows(Z: Any, ids: Iterable[Any] | None) -> tuple[np.ndarray[Any, Any], list[Any]]:
    Z = dense_f32("Z", Z)
    named = list(range(len(Z))) if ids is None else list(ids)
    if len(named) != len(Z):
        raise DataError(f"{len(named)} ids for {len(Z)} rows of Z")
    return Z, named


def to_pandas(Z: Any, ids: Iterable[Any] | None = None, *, prefix: str = "xgoal") -> pandas.DataFrame:
    """Embeddings as a pandas table: the ids are its index, a column for each dimension.

    >>> import numpy as np, xgoal
    >>> table = xgoal.to_pandas(np.zeros((2, 3), dtype=np.float32), ids=["tea", "milk"])
    >>> table.loc["milk"].tolist(), list(table)
    ([0.0, 0.0, 0.0], ['xgoal0', 'xgoal1', 'xgoal2'])
    """
    import pandas

    Z, ids = _rows(Z, ids)
    columns = [f"{prefix}{d}" for d in range(Z.shape[1])]
    return pandas.DataFrame(Z, index=pandas.Index(ids, name="id"), columns=columns)


def to_arrow(Z: Any, ids: Iterable[Any] | None = None) -> pyarrow.Table:
    """Embeddings as an Arrow table: the columns `id` and `vector`, a list of fixed size.

    >>> import numpy as np, xgoal
    >>> table = xgoal.to_arrow(np.zeros((2, 3), dtype=np.float32), ids=["tea", "milk"])
    >>> table.schema
    id: string
    vector: fixed_size_list<item: float>[3]
      child 0, item: float
    """
    import pyarrow

    Z, ids = _rows(Z, ids)
    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(Z.ravel()), Z.shape[1])
    return pyarrow.table({"id": pyarrow.array(ids), "vector": vectors})
