"""A regressor of any objective: means, rates with an exposure, quantiles, robust locations."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.metrics import d2_pinball_score, d2_tweedie_score, mean_tweedie_deviance, r2_score

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.estimator.continuing import ContinuingRegressor
from sasanet.estimator.fitting.directions import MonotonicCst, read_constraints
from sasanet.estimator.fitting.given import Given
from sasanet.network.architecture import find_architecture
from sasanet.objectives import POWERS, UNSOFTENED, read_objective
from sasanet.table.quantities import per_exposure, read_exposure, read_quantity
from sasanet.table.target import Target, read_numbers, unit_of
from sasanet.teachers import read_teachers
from sasanet.validation import our_refusals, read_real

_LARGE = 1e100


class ObjectiveRegressor(ContinuingRegressor):
    """What a regressor does differently when it is fitted to another loss than squared errors."""

    network: Any
    objective: str
    quantile: Any
    monotonic_cst: MonotonicCst
    teachers: Any
    teacher_weight: float | str

    def fit(  # noqa: PLR0913 - what to learn from, and how much each row counts
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        validation: tuple[Any, ...] | None = None,
        *,
        exposure: Any = None,
        target: str | None = None,
        scratch: str | Path | None = None,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : table (n, d), or source
            A DataFrame (numbers, strings, categories, booleans; cells may be missing),
            an array, or any table pandas can read through Arrow. With ``target`` also a source
            that may be larger than memory: a Parquet file or folder, a pyarrow Dataset, Table or
            RecordBatchReader, or an iterable of DataFrames.
        y : array-like (n,)
            Numbers.
        sample_weight : array-like (n,) or str, optional
            How much each row counts; with ``target`` the name of a column.
        validation : (X, y) or (X, y, exposure), optional
            Rows that choose the best epoch; by default ``validation_fraction`` of the rows.
        exposure : array-like (n,) or str, optional
            How much of each row was observed, above 0: years insured, claims, square kilometres;
            with ``target`` the name of a column. The model then predicts y per unit of it, and rows
            count in proportion. For the objectives "poisson", "gamma" and "tweedie".
        target : str, optional
            The column of X that holds the labels, in place of ``y``.
        scratch : path, optional
            Folder for the encoded rows of a table that is too large for memory (1 to 4 bytes a
            cell), by default the system's for temporary files. They are removed afterwards.
        checkpoint : path, optional
            Folder for the state of this fit. When it is killed, the same call goes on from there,
            with the weights that it would have had (unless ``time_limit`` decides them).

        Returns
        -------
        self
        """
        self._check_objective(exposure)
        given = Given(X, y, sample_weight, target, scratch, exposure)
        if exposure is not None and validation is not None:
            validation = _rates(validation)
        return self._fit(given, validation, checkpoint)

    def _check_objective(self, exposure: Any) -> None:
        """Refuse parameters that do not go together."""
        quantiles = read_objective(self.objective, self.quantile)
        if len(quantiles) > 1 and find_architecture(self.network).marginal != "set":
            raise InvalidInputError(
                "Several quantiles need the set network, which keeps them in order, got another; "
                "fit network='set', or one quantile"
            )
        if len(quantiles) > 1 and any(read_constraints(self.monotonic_cst).values()):
            raise InvalidInputError(
                "monotonic_cst needs one output, got several quantiles, whose distances have no "
                "direction; fit one quantile at a time, or leave monotonic_cst out"
            )
        if exposure is not None:
            self._check_takes_exposure(self.objective)
        if self.objective in UNSOFTENED and self._is_softened():
            raise InvalidInputError(
                f"objective={self.objective!r} learns from labels as they are, because mixing them "
                "with predictions would change their spread, got teachers of your own or a "
                "teacher_weight; leave both out"
            )

    def _is_softened(self) -> bool:
        """Tell whether the user asks for labels mixed with predictions."""
        weight = read_real({"teacher_weight": self.teacher_weight}, "teacher_weight", auto=0.0)
        return bool(weight or read_teachers(self.teachers)[1])

    @staticmethod
    def _check_takes_exposure(objective: str) -> None:
        if objective not in POWERS:
            raise InvalidInputError(
                "exposure must be left out unless a rate is predicted, got one with "
                f"objective={objective!r}; use 'poisson', 'gamma' or 'tweedie'"
            )

    def _read_target(self, y: Any, weights: Floats) -> Target:
        quantiles = read_objective(self.objective, self.quantile)
        return read_quantity(y, weights, self.objective, quantiles)

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters that the rules go by; some labels must not be softened."""
        unsoftened = {"teacher_weight": 0.0} if self.objective in UNSOFTENED else {}
        return self.get_params(deep=False) | unsoftened

    def predict(self, X: Any, exposure: Any = None) -> Floats:
        """Return the predicted numbers; cells of X may be missing.

        Parameters
        ----------
        X : table (n, d)
            Rows.
        exposure : array-like (n,), optional
            How much of each row is to be predicted; by default one unit: the rate.

        Returns
        -------
        ndarray (n,), of several quantiles (n, Q)
        """
        raw = self._raw(X)
        found = self.target_.to_target(raw if raw.shape[1] > 1 else raw[:, 0])
        if exposure is None:
            return found
        self._check_takes_exposure(self.target_.objective)
        return found * read_exposure(exposure, found)

    def score(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> float:
        """Return the share of the loss of a constant that predictions take away.

        R² for the objectives "squared" and "huber"; D² of the deviance for "poisson", "gamma" and
        "tweedie"; for quantiles the mean D² of their pinball losses.
        """
        found, target = self.predict(X), self.target_
        if exposure is not None:
            self._check_takes_exposure(target.objective)
            y, sample_weight = per_exposure(y, sample_weight, exposure)
        with our_refusals():
            if target.has_log_link or target.quantiles:  # a share has no unit; sums may overflow
                y = read_numbers(y)
                unit = unit_of(y)
                y, found = y / unit, found / unit
            if target.has_log_link:
                return _share_of_deviance(y, found, sample_weight, POWERS[target.objective])
            if target.quantiles:
                columns = found.reshape(len(found), -1).T
                pairs = zip(columns, target.quantiles, strict=True)
                scores = [
                    d2_pinball_score(y, column, sample_weight=sample_weight, alpha=level)
                    for column, level in pairs
                ]
                return float(np.mean(scores))
            if not 1 / _LARGE < target.scale < _LARGE:  # R² has no unit, and squares would overflow
                y, found = np.asarray(y, dtype=np.float64) / target.scale, found / target.scale
            return float(r2_score(y, found, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Asked before fit has checked its parameters: a list is no key of a dictionary.
        is_text = isinstance(self.objective, str)
        tags.target_tags.positive_only = is_text and self.objective in POWERS
        return tags


def _share_of_deviance(y: Floats, found: Floats, weights: Any, power: float) -> float:
    """Return D²; of equal labels, which a constant predicts exactly, 1 or 0 as R² has it."""
    left = mean_tweedie_deviance(y, found, sample_weight=weights, power=power)
    counted = y if weights is None else y[np.asarray(weights) > 0]
    if np.ptp(counted) == 0:
        return float(left == 0)
    return float(d2_tweedie_score(y, found, sample_weight=weights, power=power))


def _rates(validation: Any) -> tuple[Any, ...]:
    """Return a table, its rates and their weights, from a table, labels and exposures."""
    if not isinstance(validation, list | tuple) or len(validation) != 3:
        raise InvalidInputError(
            "validation must be a table, its labels and its exposure where fit has an exposure, "
            f"got {type(validation).__name__}; give (X, y, exposure)"
        )
    table, y, exposure = validation
    return table, *per_exposure(y, None, exposure)
