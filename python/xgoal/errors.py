"""What can go wrong. Every exception is an :class:`XgoalError` and also what one would catch without
knowing this package: a ``ValueError``, an ``OSError``, a ``MemoryError``.
"""

from __future__ import annotations

import os
import sys
from typing import Any


class XgoalError(Exception):
    """Anything that this package raises on purpose."""


class DataError(XgoalError, ValueError):
    """Data that cannot be used: shapes that do not fit, NaN, labels out of range, ids that are unknown."""


class FormatError(DataError):
    """A file that was read but is damaged, or not what its name says."""


class ConfigError(XgoalError, ValueError):
    """A setting, layer or preset that does not exist, or a value out of its range."""


class UnknownParameterError(ConfigError, TypeError):
    """A parameter that an estimator does not have."""


class FileError(XgoalError, OSError):
    """The operating system refused to read or write a file."""


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file or folder."""


class ForbiddenFileError(FileError, PermissionError):
    """The file or folder may not be read or written."""


class OutOfMemoryError(XgoalError, MemoryError):
    """The job would not fit into the machine's memory; found out before it starts."""


class NonFiniteError(XgoalError, ArithmeticError):
    """A loss became NaN or infinite."""


class NotFittedError(XgoalError, ValueError, AttributeError):
    """Something was asked of an estimator that only a fitted one can do.

    Once scikit-learn is imported, what is raised is also a ``sklearn.exceptions.NotFittedError``.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return NotFittedError, self.args


class InternalError(XgoalError, RuntimeError):
    """A mistake of this package. Please report it."""


def _file_error(number: int | None, path: str | os.PathLike[str], message: str) -> FileError:
    if number is None:
        return FileError(f"{os.fspath(path)}: {message}")
    usual = type(OSError(number, ""))
    classes = {FileNotFoundError: MissingFileError, PermissionError: ForbiddenFileError}
    return classes.get(usual, FileError)(number, os.strerror(number), os.fspath(path))


def _not_fitted(estimator: object) -> NotFittedError:
    name = type(estimator).__name__
    kind: type[NotFittedError] = NotFittedError
    # Who catches scikit-learn's own exception has imported it.
    theirs = sys.modules.get("sklearn.exceptions")
    if theirs is not None:
        kind = type("NotFittedError", (NotFittedError, theirs.NotFittedError), {})
    return kind(f"this {name} is not fitted yet; call fit(layers, X) first, or use xgoal.load(path)")
