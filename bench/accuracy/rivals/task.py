"""What a rival is given, and what a rival is: settings to try, and how to fit one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

Settings = dict[str, Any]
SMALL = 10_000  # training rows below which a fifth is held out, else a tenth
N_SETTINGS = 12  # that every search may try, whoever is searched


@dataclass(frozen=True)
class Task:
    """Training rows and what kind of target they have."""

    X: pd.DataFrame
    y: pd.Series
    regression: bool
    seed: int
    trial: bool = False  # only to judge a setting: a system may spend less on it

    def divided(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the places of rows to learn from, and of a tenth or a fifth to judge by."""
        share = 0.2 if len(self.X) < SMALL else 0.1
        strata, rows = None if self.regression else self.y, np.arange(len(self.X))
        learn, judge = train_test_split(
            rows, test_size=share, random_state=self.seed, stratify=strata
        )
        return learn, judge

    @property
    def rare(self) -> bool:
        """Whether one class has less than a hundredth of the rows."""
        return not self.regression and self.y.value_counts(normalize=True).min() < 0.01

    @property
    def held_out(self) -> NDArray[np.bool_]:
        """Which rows decide when to stop."""
        return np.isin(np.arange(len(self.X)), self.divided()[1])


@dataclass(frozen=True)
class System:
    """A model: how to fit it, and the settings its search may choose from (none: its defaults)."""

    fit: Callable[[Task, Settings], Any]
    search: tuple[Settings, ...] = ({},)
    classes_only: bool = False


def grid(**choices: tuple[Any, ...]) -> tuple[Settings, ...]:
    """Return every combination of the choices."""
    return tuple(dict(zip(choices, found, strict=True)) for found in product(*choices.values()))
