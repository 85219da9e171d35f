"""Bars of progress: rows a second, and the time left, also where a time limit ends first."""

from __future__ import annotations

import math
import time
from types import TracebackType
from typing import Self

from tqdm.auto import tqdm


class Progress:
    """A bar that counts rows.

    Parameters
    ----------
    what : str
        Stands before the bar.
    n_rows : int or None
        How many there are, if that is known.
    verbose : bool
        Whether it is shown.
    end : float
        When it is over at the latest, in monotonic time: fewer rows may then be all there will be.
    done : int
        Rows that were done before.

    Examples
    --------
    >>> with Progress("reading", 1_000, verbose=False) as bar:
    ...     bar.add(1_000)
    """

    def __init__(
        self,
        what: str,
        n_rows: int | None,
        verbose: bool,
        end: float = math.inf,
        done: int = 0,
    ) -> None:
        self.n_rows, self.done, self.end, self.start = n_rows, done, end, time.monotonic()
        self.bar = tqdm(
            total=n_rows,
            initial=done,
            desc=what,
            unit=" rows",
            unit_scale=True,
            disable=not verbose,
        )

    def add(self, n_rows: int) -> None:
        """Count more rows."""
        if self.bar.disable:
            return
        self.bar.total = self.expected(self.bar.n + n_rows, time.monotonic())
        self.bar.update(n_rows)

    def expected(self, n_rows: int, now: float) -> int | None:
        """Return how many rows there will be, if it goes on as fast as until now."""
        passed = now - self.start
        if self.end == math.inf or passed <= 0:
            return self.n_rows
        fresh = (n_rows - self.done) * (self.end - self.start) / passed
        in_time = max(n_rows, round(self.done + fresh))
        return in_time if self.n_rows is None else min(self.n_rows, in_time)

    def note(self, loss: float) -> None:
        """Show a loss beside the bar."""
        self.bar.set_postfix(loss=f"{loss:.4g}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the bar as it is."""
        self.bar.close()
