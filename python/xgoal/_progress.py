"""Training as it goes: a bar on a terminal or in a notebook, nothing elsewhere."""

from __future__ import annotations

import importlib.util
import sys
import time
from types import TracebackType
from typing import Any

Record = dict[str, Any]


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and "ZMQ" in type(shell.get_ipython()).__name__


def _tqdm() -> Any:
    """The bar that suits the place, if tqdm is installed."""
    if importlib.util.find_spec("tqdm") is None:
        return None
    # Without ipywidgets the notebook's bar would warn.
    if _in_notebook() and importlib.util.find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm
    else:
        from tqdm import tqdm
    return tqdm


class Progress:
    """Shows epochs. With ``verbose`` 0 nothing, 1 a bar where it can be seen, 2 also a line per stage."""

    def __init__(self, verbose: int) -> None:
        self._seen = verbose >= 1 and (_in_notebook() or sys.stderr.isatty())
        self._lines = verbose >= 2
        self._bar: Any = None
        self._stage: tuple[str, int, float] | None = None
        self._last: Record = {}
        self._shown = 0.0

    def __enter__(self) -> Progress:
        if self._seen:
            tqdm = _tqdm()
            self._bar = None if tqdm is None else tqdm(unit=" epochs", leave=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_stage()
        if self._bar is not None:
            self._bar.close()
        else:
            self._clear()

    def epoch(self, record: Record) -> None:
        """Shows one epoch."""
        if self._stage is None or self._stage[0] != record["stage"]:
            self._end_stage()
            self._stage = (record["stage"], 0, time.monotonic())
        self._stage = (self._stage[0], self._stage[1] + 1, self._stage[2])
        self._last = record
        if not self._seen:
            return
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update()
        if now - self._shown < 0.1:
            return
        self._shown = now
        loss, left = f"{record['loss']:.5f}", record["patience_left"]
        if self._bar is not None:
            self._bar.set_description_str(record["stage"], refresh=False)
            self._bar.set_postfix(loss=loss, patience=left)
        else:
            line = f"{record['stage']:<6} epoch {record['epoch']:>4}  loss {loss}  patience {left}"
            print(f"\r{line:<78}", end="", file=sys.stderr, flush=True)

    def _end_stage(self) -> None:
        if self._lines and self._stage is not None:
            name, epochs, started = self._stage
            seconds = time.monotonic() - started
            line = f"{name}: {epochs} epochs in {seconds:.1f} s, loss {self._last['loss']:.5f}"
            if self._bar is not None:
                self._bar.write(line, file=sys.stderr)
            else:
                self._clear()
                print(line, file=sys.stderr, flush=True)
        self._stage = None

    def _clear(self) -> None:
        """Takes the plain line away."""
        if self._seen:
            print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)
