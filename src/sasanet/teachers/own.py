"""Teachers of the user's own: scikit-learn estimators beside the panel, or in its place.

They learn from the table and the labels as the user gave them: columns by name, text as text,
missing cells missing, classes by their labels and quantities in their units. So a pipeline that
can learn from the table alone can teach with it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import column_or_1d, has_fit_parameter

from sasanet.arrays import Floats, Masks
from sasanet.errors import InvalidInputError
from sasanet.table.target import Target
from sasanet.teachers.data import TeacherData

_LEAST_RATE = 1e-6  # of the mean
_LONGEST = 300  # characters of another package's message


def read_teachers(given: Any) -> tuple[bool, tuple[Any, ...]]:
    """Return whether the package's own panel teaches, and the user's estimators.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> read_teachers("auto")
    (True, ())
    >>> read_teachers(["auto", DummyRegressor()])
    (True, (DummyRegressor(),))
    """
    listed = list(given) if isinstance(given, list | tuple) else [given]
    panel = [one for one in listed if isinstance(one, str)]
    estimators = tuple(one for one in listed if not isinstance(one, str))
    if not listed or panel not in ([], ["auto"]):
        raise InvalidInputError(
            "teachers must be 'auto', an estimator, or a list of estimators that may hold 'auto' "
            f"once, got {given!r:.200}; use teacher_weight=0 to learn without teachers"
        )
    return bool(panel), estimators


def make_teachers(
    estimators: Sequence[Any],
    given: tuple[pd.DataFrame, Any],
    kept: Masks,
    target: Target,
    weights: Floats,
) -> tuple[OwnTeacher, ...]:
    """Return the user's estimators as teachers, or refuse those that cannot teach.

    ``given`` holds the table and its labels, ``kept`` marks the rows to learn from and ``weights``
    [n] are theirs. A table without names is handed on as an array, as it came.
    """
    for estimator in estimators:
        _check_kind(estimator, target.task)
        _check_takes_weights(estimator, weights)
    if not estimators:
        return ()  # the rows need not be copied
    table, labels = given[0], column_or_1d(given[1])
    rows = table.to_numpy()[kept] if isinstance(table.columns, pd.RangeIndex) else table[kept]
    labels = labels.astype(float) if target.task == "regression" else labels
    return tuple(OwnTeacher(one, rows, labels[kept], target) for one in estimators)


def _check_kind(estimator: Any, task: str) -> None:
    """Refuse what cannot predict expectations: of classes probabilities, of quantities numbers."""
    is_class = isinstance(estimator, type)
    if is_class or not all(hasattr(estimator, name) for name in ("fit", "get_params")):
        what = f"the class {estimator.__name__}" if is_class else f"{estimator!r:.200}"
        raise InvalidInputError(
            f"teachers must be scikit-learn estimators, got {what}; give one with its parameters, "
            "such as LinearRegression()"
        )
    gives_shares = hasattr(estimator, "predict_proba")
    regression = task == "regression"
    if gives_shares is regression or not hasattr(estimator, "predict"):
        kind = "regressors" if regression else "classifiers with predict_proba"
        raise InvalidInputError(
            f"teachers of this target must be {kind}, got {_name(estimator)}; give another one"
        )


def _check_takes_weights(estimator: Any, weights: Floats) -> None:
    """Refuse unequal weights of rows where the estimator cannot learn with them."""
    if np.ptp(weights[weights > 0]) > 0 and _weight_parameter(estimator) is None:
        raise InvalidInputError(
            "teachers must take sample_weight in fit when rows have unequal weights, got "
            f"{_name(estimator)}; give another estimator, or leave sample_weight out"
        )


@dataclass(frozen=True)
class OwnTeacher:
    """An estimator of the user's own: every fit is of a copy, and none is kept."""

    estimator: Any
    table: pd.DataFrame | NDArray[Any]  # [n, d], as the user gave it
    labels: NDArray[Any]  # [n], as the user gave them
    target: Target
    # Nothing is known of its shape: the network gets as many knots as the rows bear.
    is_rough = True

    @property
    def name(self) -> str:
        """What it is called where its weight is shown."""
        return _name(self.estimator)

    def predict(
        self, data: TeacherData, seen: Masks, unseen: Masks, seed: int, end: float = math.inf
    ) -> Floats:
        """Return out-of-sample predictions, see :class:`~sasanet.teachers.data.Teacher`.

        Its fit cannot be interrupted: ``end`` only decides whether it begins.
        """
        if time.monotonic() > end:
            return np.full((int(unseen.sum()), *data.shape[1:]), np.nan)
        model = _seeded_copy(self.estimator, seed)
        with self._named_failures():
            model.fit(self.table[seen], self.labels[seen], **self._fit_weights(data, seen))
            rows = self.table[unseen]
            if not data.n_classes:
                return self._numbers(model.predict(rows), len(rows))
            return self._shares(model.predict_proba(rows), model.classes_, len(rows))

    def _fit_weights(self, data: TeacherData, seen: Masks) -> dict[str, Floats]:
        weights = data.weights[seen]
        name = _weight_parameter(self.estimator)
        return {} if name is None or np.ptp(weights) == 0 else {name: weights}

    def _numbers(self, predicted: Any, n_rows: int) -> Floats:
        """Return predicted quantities as the network reads them: [m]."""
        predicted = np.asarray(predicted, dtype=np.float64)
        predicted = predicted[:, 0] if predicted.shape == (n_rows, 1) else predicted
        _check_predictions(predicted, n_rows)
        if self.target.has_log_link:  # a model without that link may go below 0
            predicted = np.maximum(predicted, _LEAST_RATE * math.exp(self.target.base[0]))
        return self.target.read(predicted)

    def _shares(self, shares: Any, classes: Any, n_rows: int) -> Floats:
        """Return probabilities in the order of the target's classes: [m], or [m, C]."""
        shares = np.asarray(shares, dtype=np.float64)
        _check_predictions(shares, n_rows, len(classes))
        places = [self.target.labels.index(label) for label in np.asarray(classes).tolist()]
        found = np.zeros((n_rows, len(self.target.labels)))  # a class may be in no row it saw
        found[:, places] = shares
        return found[:, 1] if found.shape[1] == 2 else found

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        """Say which teacher failed: its own words alone would puzzle who called another model."""
        try:
            yield
        except Exception as error:
            text = " ".join(str(error).split())
            short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
            raise InvalidInputError(
                f"teachers must be able to learn from this table and predict it, got a {self.name} "
                f"that raised {type(error).__name__}: {short}; put what the table needs before it "
                "in a pipeline"
            ) from error


def _check_predictions(found: Floats, *shape: int) -> None:
    """Refuse predictions that are not one finite number for each row (and class)."""
    if found.shape != shape or not np.isfinite(found).all():
        what = "NaN or infinity" if found.shape == shape else f"shape {found.shape}"
        raise InvalidInputError(f"predictions must be finite and of shape {shape}, got {what}")


def _name(estimator: Any) -> str:
    """Return the estimator's class; of a pipeline also its last step's."""
    name = type(estimator).__name__
    return f"{name} of {_name(estimator.steps[-1][1])}" if isinstance(estimator, Pipeline) else name


def _weight_parameter(estimator: Any) -> str | None:
    """Return the name under which ``fit`` takes weights: a pipeline hands them to its last step."""
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = _weight_parameter(last)
        return None if inner is None else f"{step}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def _seeded_copy(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy whose open seeds are set: one seed of the fit gives equal weights."""
    copy = clone(estimator)
    settings = copy.get_params(deep=True)
    seeds = [key for key in settings if key.split("__")[-1] == "random_state"]
    return copy.set_params(**{key: seed for key in seeds if settings[key] is None})
