"""Time that counts: a process that the system has stopped for minutes has not hung."""

from __future__ import annotations

import time

_LONGEST_STEP = 2.0  # seconds between two looks that count in full


class RunningClock:
    """Seconds in which this process ran, if somebody looks at least every two of them.

    A pause in which the whole process stood still counts as two seconds, however long it was.
    """

    def __init__(self) -> None:
        self._seconds, self._last = 0.0, time.monotonic()

    def now(self) -> float:
        """Return the seconds so far."""
        present = time.monotonic()
        self._seconds += min(present - self._last, _LONGEST_STEP)
        self._last = present
        return self._seconds
