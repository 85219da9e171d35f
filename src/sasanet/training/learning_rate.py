"""The learning rate of every step, by steps or by time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class LearningRate:
    """A short warm-up, then half a cosine to zero, in steps or in time by a clock."""

    def __init__(
        self,
        peak: float,
        steps: int,
        warm_up: int,
        limit: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.peak, self.total = peak, steps
        self.warm_up = min(warm_up, max(1, self.total // 10))
        self.clock = clock
        self.start, self.limit = clock(), limit
        self.step = 0

    def next(self) -> float:
        """Return the rate of the next step."""
        done = self.step / self.total
        done = max(done, (self.clock() - self.start) / self.limit)
        self.step += 1
        cosine = 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
        return self.peak * min(1.0, self.step / self.warm_up) * cosine

    def go_on(self, step: int, seconds: float) -> None:
        """Continue after so many steps, as if they had been taken until now."""
        self.step, self.start = step, self.clock() - seconds

    def over(self) -> bool:
        """Tell whether all steps are done, or all the time is gone."""
        # However short the limit, one step is taken: an untrained model would be mistaken for a
        # trained one.
        out_of_time = self.step > 0 and self.clock() > self.start + self.limit
        return self.step >= self.total or out_of_time

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return round(self.clock() - self.start, 3)
