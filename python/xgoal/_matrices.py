"""SciPy and NumPy matrices in the plain form the extension takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .errors import DataError

Matrix = Any  # a SciPy sparse matrix or array of any format, or a NumPy array


class Compressed(NamedTuple):
    """A sparse matrix by rows or by columns; the arrays are the matrix's own wherever that is possible."""

    format: str
    shape: tuple[int, int]
    indptr: np.ndarray[Any, Any]
    indices: np.ndarray[Any, Any]
    data: np.ndarray[Any, Any]
    logical: bool


def check_matrix(what: str, matrix: Matrix) -> Matrix:
    """Refuses what is not a two-dimensional matrix of numbers, in words."""
    if not sp.issparse(matrix):
        if not isinstance(matrix, np.ndarray):
            hint = " (call .to_numpy() on it)" if hasattr(matrix, "to_numpy") else ""
            raise DataError(
                f"{what}: found {_kind(matrix)}; expected a SciPy sparse matrix or a NumPy array{hint}"
            )
        if np.ma.is_masked(matrix):
            raise DataError(f"{what}: a masked array; expected one without gaps (fill them with .filled(0))")
        matrix = np.asarray(matrix)
    if matrix.ndim != 2:
        hint = ". Reshape your data, with .reshape(-1, 1) if it is one column" if matrix.ndim == 1 else ""
        raise DataError(f"{what}: found {matrix.ndim} dimensions, expected two{hint}")
    if matrix.dtype.kind == "c":
        raise DataError(f"{what}: values of type {matrix.dtype}. Complex data not supported")
    if matrix.dtype.kind not in "biuf":
        raise DataError(
            f"{what}: values of type {matrix.dtype}; expected numbers (convert them with .astype(float))"
        )
    return matrix


def compressed(matrix: Matrix) -> Compressed:
    """A checked matrix, without a copy if it is stored by rows or by columns."""
    if not sp.issparse(matrix):
        matrix = sp.csr_array(matrix)
    elif matrix.format not in ("csr", "csc"):
        matrix = matrix.tocsr()
    indptr, indices = matrix.indptr, matrix.indices
    if not (indptr.dtype == indices.dtype and indptr.dtype in (np.int32, np.int64)):
        indptr, indices = indptr.astype(np.int64), indices.astype(np.int64)
    return Compressed(
        format=matrix.format,
        shape=(int(matrix.shape[0]), int(matrix.shape[1])),
        indptr=np.ascontiguousarray(indptr),
        indices=np.ascontiguousarray(indices),
        data=np.ascontiguousarray(native(matrix.data)),
        logical=matrix.dtype.kind == "b",
    )


def native(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Values in a type the extension reads; bools as bytes."""
    if values.dtype.kind == "b":
        return values.view(np.uint8)
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float32 if values.dtype.itemsize == 2 else np.float64)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def dense_f32(what: str, values: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Rows of f32, without a copy where they are that already."""
    if sp.issparse(values):
        raise DataError(f"{what}: a sparse matrix; expected a NumPy array")
    try:
        matrix = check_matrix(what, np.asarray(values))
    except ValueError as error:
        raise error if isinstance(error, DataError) else DataError(f"{what}: {error}") from None
    if 0 in matrix.shape:
        raise DataError(f"{what}: {matrix.shape[0]} x {matrix.shape[1]}; expected rows and columns")
    return np.ascontiguousarray(matrix, dtype=np.float32)


def _kind(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
