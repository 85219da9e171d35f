"""Everything random in a case comes from one seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Option = TypeVar("Option")


class Draw:
    """Random choices of one case: the same for the same campaign and seed, on every machine."""

    def __init__(self, campaign: str, seed: int) -> None:
        self.random = random.Random(f"{campaign} {seed}")
        self.numbers = np.random.default_rng(self.random.getrandbits(63))

    def one_of(self, options: Sequence[Option]) -> Option:
        """Return one of some things, each as likely."""
        return options[self.random.randrange(len(options))]

    def some_of(self, options: Sequence[Option], most: int) -> list[Option]:
        """Return different things, at least one and at most so many."""
        count = self.between(1, min(most, len(options)))
        return self.random.sample(list(options), count)

    def happens(self, probability: float) -> bool:
        """Return True this often."""
        return self.random.random() < probability

    def between(self, least: int, most: int) -> int:
        """Return a whole number, both ends included."""
        return self.random.randint(least, most)

    def seconds(self, most: float) -> float:
        """Return a moment, short ones more often: most of what can break is at the start."""
        return float(most * self.random.random() ** 2)
