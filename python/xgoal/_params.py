"""Parameters the scikit-learn way: stored by ``__init__``, read and set by name."""

from __future__ import annotations

import difflib
import functools
import inspect
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .errors import ConfigError, UnknownParameterError

Init = TypeVar("Init", bound=Callable[..., None])
Self = TypeVar("Self", bound="Parameters")


def storing(init: Init) -> Init:
    """Makes an ``__init__`` that stores its arguments, and names the parameter that was meant when one is
    unknown.
    """
    signature = inspect.signature(init)
    known = list(signature.parameters)[1:]

    @functools.wraps(init)
    def stored(self: Any, *args: Any, **given: Any) -> None:
        for name in given:
            if name not in known:
                raise unknown(type(self).__name__, name, known)
        bound = signature.bind(self, *args, **given)
        bound.apply_defaults()
        for name in known:
            setattr(self, name, bound.arguments[name])

    return stored  # type: ignore[return-value]


def unknown(owner: str, name: str, known: list[str]) -> UnknownParameterError:
    """A parameter that does not exist."""
    close = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean `{close[0]}`? " if close else ""
    return UnknownParameterError(f"{owner} has no parameter `{name}`; {meant}there are {', '.join(known)}")


class Parameters:
    """What scikit-learn asks of an estimator's parameters, without needing scikit-learn."""

    @classmethod
    def _names(cls) -> list[str]:
        return sorted(list(inspect.signature(cls.__init__).parameters)[1:])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name. `deep` is there for scikit-learn: no parameter is an estimator."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Sets parameters by name."""
        names = self._names()
        for name in params:
            if name not in names:
                raise unknown(type(self).__name__, name, names)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        given = [
            f"{name}={getattr(self, name)!r}"
            for name in self._names()
            if not _same(getattr(self, name), defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def plain(name: str, value: Any, deepest: int = 4) -> Any:
    """A setting's value without NumPy or tuples in it."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        if deepest == 0:
            raise ConfigError(f"{name}: found lists in lists in lists; expected a list of plain values at most")
        return [plain(name, item, deepest - 1) for item in value]
    return value


def seed_of(random_state: Any) -> int:
    """A seed: a whole number as it is, or one drawn from a generator or, for ``None``, from anywhere."""
    if random_state is None:
        return int.from_bytes(os.urandom(4), "little")
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if 0 <= random_state < 2**63:
            return int(random_state)
    raise ConfigError(
        f"random_state: found {random_state!r}; expected a whole number from 0 to 2^63 - 1, a NumPy generator "
        "or None"
    )


def level_of(verbose: Any) -> int:
    """How much to show."""
    if isinstance(verbose, (int, np.integer, np.bool_)):
        return int(verbose)
    raise ConfigError(f"verbose: found {verbose!r}; expected 0, 1 or 2")


def threads_of(n_jobs: Any) -> int:
    """A number of threads; 0 is one per core, as are ``None`` and -1."""
    if n_jobs is None:
        return 0
    if isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool):
        if 1 <= n_jobs <= 1024:
            return int(n_jobs)
        if n_jobs == -1:
            return 0
        if n_jobs < -1:
            return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))
    raise ConfigError(f"n_jobs: found {n_jobs!r}; expected 1 to 1024, None or -1 for one thread per core")
