"""Boosted trees as a teacher: LightGBM's, one thread each.

scikit-learn's take three to four times as long, and stand in where LightGBM cannot be loaded.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from sasanet.arrays import Floats, Masks
from sasanet.errors import SlowTeacherWarning, warn_user
from sasanet.objectives import POWERS
from sasanet.teachers.data import Teacher, TeacherData, stopping_rows
from sasanet.teachers.scikit_trees import ScikitTrees
from sasanet.teachers.stacking import spread

_HELD_OUT = 0.1  # of the rows seen: they say when to stop
_MOST_TREES = 1000
_PATIENCE = 20  # trees without a smaller loss of the held-out rows
_PATIENCE_OF_NUMBERS = 50  # where trees go on gaining for long
_SMALL = 10_000  # rows below which what they still gain is noise: there trees stop sooner
_NO_GAIN, _HARDLY_A_GAIN = 3e-5, 3e-4  # of the labels' spread, in so many trees
# A penalty of leaves and their size that suit rare classes hide what few rows say of a number.
_OF_NUMBERS = {"lambda_l2": 1.0, "min_data_in_leaf": 10}
_ROWS_AT_ONCE = 50_000  # predicted between two looks at the clock
_SETTINGS = {
    "feature_fraction_bynode": 0.5,
    "lambda_l2": 10.0,  # without, trees run wild where one class is rare (credit card fraud)
    "min_data_in_leaf": 20,
    "num_threads": 1,  # folds run side by side; threads within a tree mostly wait for each other
    "deterministic": True,
    "force_row_wise": True,  # trying both ways would take time and change sums
    "verbosity": -1,
}


def make_detailed_trees() -> Teacher:
    """Return trees for rates of large tables: many leaves, small steps, a small penalty.

    Events are rare, so the loss of the rows that say when to stop is mostly noise: such trees wait
    longer for a gain. One fold of 542,411 motor policies, predicted from the others, has 91.3 % of
    a constant's deviance with 31 leaves in steps of 0.15, and 90.9 to 91.0 % with these. Small
    noisy tables lose by them.
    """
    return make_trees(127, learning_rate=0.05, penalty=1.0, patience=50)


def make_trees(
    n_leaves: int, learning_rate: float, penalty: float | None = None, patience: int | None = None
) -> Teacher:
    """Return LightGBM's trees, or scikit-learn's where LightGBM cannot be loaded."""
    try:
        import lightgbm  # noqa: F401 - whether it can be loaded
    except (ImportError, OSError) as error:  # its wheels need the system's OpenMP
        warn_user(
            f"LightGBM, whose trees soften the labels, cannot be loaded here ({error}): scikit-"
            "learn's trees take longer. Install libgomp1 (Debian) or libomp (macOS).",
            SlowTeacherWarning,
        )
        return ScikitTrees(n_leaves, learning_rate)
    return Trees(n_leaves, learning_rate, penalty, patience)


@dataclass(frozen=True)
class Trees:
    """Boosted trees with so many leaves each; the rest follows from the table where not given."""

    n_leaves: int
    learning_rate: float
    penalty: float | None = None  # of large values of leaves
    patience: int | None = None  # trees without a smaller loss of the held-out rows
    is_rough = True

    @property
    def name(self) -> str:
        """What it is called where its weight is shown."""
        return f"trees of {self.n_leaves} leaves"

    def predict(
        self, data: TeacherData, seen: Masks, unseen: Masks, seed: int, end: float = math.inf
    ) -> Floats:
        """Return out-of-sample predictions, see :class:`~sasanet.teachers.data.Teacher`."""
        booster = self._grow(data, seen, seed, end)
        rows = np.flatnonzero(unseen)
        expected = np.full((len(rows), *data.shape[1:]), np.nan)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            if time.monotonic() > end:
                break
            part = rows[start : start + _ROWS_AT_ONCE]
            found = booster.predict(data.cells[part], num_threads=1)
            expected[start : start + len(part)] = found
        return expected

    def _grow(self, data: TeacherData, seen: Masks, seed: int, end: float) -> Any:
        """Add trees until held-out rows gain no more, or until it is too late."""
        import lightgbm
        from lightgbm.callback import EarlyStopException

        fitted, held_out = stopping_rows(seen, _HELD_OUT, seed)
        settings = self._settings(data, len(fitted), seed)
        categories = [j for j, count in enumerate(data.levels) if count is not None]
        # A third of the time is for predicting, which takes nearly as long as growing.
        growing_end = end - max(0.0, end - time.monotonic()) / 3 if end < math.inf else end

        def dataset(rows: Any, reference: Any = None) -> Any:
            return lightgbm.Dataset(
                data.cells[rows],
                data.labels[rows],
                weight=data.weights[rows] / data.weights[rows].mean() / noise,
                reference=reference,
                categorical_feature=categories,
                params=settings,
            )

        def stop_in_time(state: Any) -> None:
            if time.monotonic() > growing_end:
                raise EarlyStopException(state.iteration, state.evaluation_result_list)

        noise = data.noise
        training = dataset(fitted)
        of_numbers = data.loss == "regression"
        gain = _HARDLY_A_GAIN if len(fitted) < _SMALL and not of_numbers else _NO_GAIN
        gain *= spread(data.expectations[fitted], data.weights[fitted], data.loss)
        usual = _PATIENCE_OF_NUMBERS if of_numbers else _PATIENCE
        patience = lightgbm.early_stopping(self.patience or usual, verbose=False, min_delta=gain)
        return lightgbm.train(
            settings,
            training,
            num_boost_round=_MOST_TREES,
            valid_sets=[dataset(held_out, training)],
            callbacks=[patience, stop_in_time],
            keep_training_booster=True,  # otherwise it is written as text and read again
        )

    def _settings(self, data: TeacherData, n_rows: int, seed: int) -> dict[str, Any]:
        objective = data.loss
        power = {"tweedie_variance_power": POWERS[objective]} if objective == "tweedie" else {}
        classes = {"num_class": data.n_classes} if objective == "multiclass" else {}
        numbers = _OF_NUMBERS if objective == "regression" else {}
        penalty = {} if self.penalty is None else {"lambda_l2": self.penalty}
        directions = {"monotone_constraints": data.cell_directions} if data.directions else {}
        return (
            _SETTINGS
            | classes
            | numbers
            | penalty
            | power
            | directions
            | {
                "objective": objective,
                "num_leaves": self.n_leaves,
                "learning_rate": self.learning_rate,
                "seed": seed,
                # LightGBM's own 100 would hide the levels of a small table.
                "min_data_per_group": min(100, max(5, n_rows // 100)),
            }
        )
