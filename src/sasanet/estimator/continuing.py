"""``partial_fit``: a fitted model learns from new rows of the same columns.

Training goes on from the weights: one pass over the new rows, at a quarter of a fit's learning
rate. What the first fit decided stays: columns, levels and knots, classes and the base value, the
network's shape. Old rows are not kept, so nothing holds the model to them but its weights.
"""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch import nn

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.estimator.classifier_regressor import TabularClassifier, TabularRegressor
from sasanet.estimator.fitting.checks import check_finite, check_table, warn_if_short
from sasanet.estimator.fitting.class_weights import ClassWeight, class_factors
from sasanet.estimator.fitting.data import FitData
from sasanet.estimator.fitting.device import pick_device
from sasanet.estimator.tabular import TabularModel
from sasanet.network.interface import TabularNetwork
from sasanet.network.layers import ByteDropout
from sasanet.table.sources import is_source
from sasanet.training.loop import Phase, Surroundings, train
from sasanet.validation import our_refusals

_RATE = 0.25  # of a fit's learning rate
_OF_THE_FIT = ("audit_", "learned_attributions_")  # measured on other weights


class ContinuingModel(TabularModel):
    """A network that goes on learning."""

    def _continue(
        self, X: Any, y: Any, sample_weight: Any, class_weight: ClassWeight = None
    ) -> Self:
        """Learn from new rows, beginning with the weights."""
        start = time.monotonic()
        data = self._new_rows(X, y, sample_weight, class_weight, start)
        settings = self._resolve(data.n_rows)
        settings = replace(
            settings,
            epochs=1,
            learning_rate=_RATE * settings.learning_rate,
            architecture=self.network_.architecture,
        )
        phases = self._make_phases(data, settings)
        _check_learns_values_only(phases)
        network = copy.deepcopy(self.network_).to(data.device).apply(_keep_all_units)
        network.distilled = None  # it was taught by other weights
        history = train(
            network,
            data.rows(),
            phases,
            torch.Generator().manual_seed(data.seed),
            data.time_left(settings.time_limit),
            settings.verbose,
            Surroundings(torch.Generator(data.device).manual_seed(data.seed)),
        )
        self._keep_weights(network, history.epochs, data)
        warn_if_short(history, phases[0], data.n_trained, settings.time_limit)
        return self

    def _new_rows(
        self, X: Any, y: Any, sample_weight: Any, class_weight: ClassWeight, start: float
    ) -> FitData:
        """Read new rows as the fit has read its own."""
        _, weights = check_table(type(self).__name__, X, y, sample_weight)
        table, _ = self._encode(X)
        cells = self.encoder_.transform(table)
        # Unseen levels are absent in training too: they stay without information.
        cells[:, ~np.array(self.encoder_.is_number)] = _known(cells, self.encoder_.is_number)
        numbers = self.target_.read(y)
        factors = class_factors(class_weight, self.target_, _refuse_balanced)
        if factors is not None:
            weights = weights * factors[numbers.astype(int)]
        with our_refusals():
            random = check_random_state(self.random_state)
        return FitData(
            encoder=self.encoder_,
            target=self.target_,
            cells=cells,
            labels=numbers,
            weights=weights,
            kept=np.ones(len(cells), dtype=bool),
            validation=None,
            n_rows=len(cells),
            device=pick_device(self.device),
            seed=random.randint(2**31 - 1),
            start=start,
            directions=self.network_.columns.directions,
        )

    def _keep_weights(
        self, network: TabularNetwork, epochs: list[dict[str, Any]], data: FitData
    ) -> None:
        """Replace the network in one assignment, with all that was measured on it."""
        check_finite(network)
        kept = {
            name: value
            for name, value in vars(self).items()
            if name.endswith("_") and name not in _OF_THE_FIT
        }
        fitted = {"network_": network, "history_": [*self.history_, *epochs]}
        self._keep(kept | fitted | self._finish(network, data))


class ContinuingClassifier(ContinuingModel, TabularClassifier):
    """A classifier that goes on learning."""

    class_weight: ClassWeight

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning from new rows of the same columns.

        The first call is ``fit``: its rows decide the columns, their levels and knots, the classes
        and the base value. Every other call makes one pass over its rows, beginning with the
        weights, at a quarter of a fit's learning rate and without teachers. Old rows are not kept:
        what they have and the new rows contradict is forgotten, so mix some of them in.

        Parameters
        ----------
        X : table (n, d)
            New rows in memory, with the columns of the first ones. Levels that are new stay
            unknown.
        y : array-like (n,)
            Labels, of the same classes.
        classes : array-like (C,), optional
            All classes there are. The first rows must have each of them.
        sample_weight : array-like (n,), optional
            How much each row counts, among these rows.

        Returns
        -------
        self

        Examples
        --------
        >>> from sasanet.datasets import load_german_credit
        >>> from sasanet import SASANetClassifier
        >>> X, y = load_german_credit()
        >>> model = SASANetClassifier(max_epochs=2, teacher_weight=0, random_state=0)
        >>> model = model.partial_fit(X[:800], y[:800]).partial_fit(X[800:], y[800:])
        >>> [record["steps"] for record in model.history_][-1]
        4
        """
        _check_in_memory(X, y)
        known = classes if not hasattr(self, "network_") else self.classes_
        if classes is not None and not np.array_equal(np.unique(classes), np.unique(known)):
            raise InvalidInputError(
                f"classes must be those of the first rows, {np.unique(known).tolist()}, got "
                f"{np.unique(classes).tolist()}; fit again to learn others"
            )
        if hasattr(self, "network_"):
            return self._continue(X, y, sample_weight, self.class_weight)
        _check_has_all(classes, y)
        return self.fit(X, y, sample_weight)


class ContinuingRegressor(ContinuingModel, TabularRegressor):
    """A regressor that goes on learning."""

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on learning from new rows of the same columns.

        The first call is ``fit``: its rows decide the columns, their levels and knots, the base
        value and the scale of the target. Every other call makes one pass over its rows, beginning
        with the weights, at a quarter of a fit's learning rate and without teachers. Old rows are
        not kept: what they have and the new rows contradict is forgotten, so mix some of them in.

        Parameters
        ----------
        X : table (n, d)
            New rows in memory, with the columns of the first ones. Levels that are new stay
            unknown.
        y : array-like (n,)
            Numbers; for rates per unit of exposure, weighted by it.
        sample_weight : array-like (n,), optional
            How much each row counts, among these rows.

        Returns
        -------
        self

        Examples
        --------
        >>> from sasanet import SASANetRegressor
        >>> model = SASANetRegressor(max_epochs=1, random_state=0)
        >>> model = model.partial_fit([[0, 1], [1, 1], [2, 5]], [1.0, 2.0, 3.0])
        >>> model.partial_fit([[1, 2], [2, 2]], [2.0, 3.0]).predict([[1, 1]]).shape
        (1,)
        """
        _check_in_memory(X, y)
        if hasattr(self, "network_"):
            return self._continue(X, y, sample_weight)
        return self.fit(X, y, sample_weight)


def _keep_all_units(layer: nn.Module) -> None:
    """Switch dropout off: rows seen once are not learned by heart, and saved models have none."""
    if isinstance(layer, ByteDropout):
        layer.threshold = 0


def _check_in_memory(X: Any, y: Any) -> None:
    if is_source(X) or isinstance(y, str):
        raise InvalidInputError(
            f"partial_fit takes a table in memory and its labels, got {type(X).__name__} and "
            f"{type(y).__name__}; read a part of the source at a time, or fit on all of it"
        )


def _check_has_all(classes: Any, y: Any) -> None:
    """Refuse classes without rows: there is no base value of theirs."""
    if classes is None or y is None:
        return
    missing = np.setdiff1d(np.unique(classes), np.unique(np.asarray(y)))
    if len(missing):
        raise InvalidInputError(
            f"The first rows must have all classes, got none of {missing.tolist()}; begin with "
            "more rows"
        )


def _check_learns_values_only(phases: Any) -> None:
    """Refuse networks whose attributions would have to be learned again."""
    chosen: list[Phase] = list(phases)
    if len(chosen) > 1:
        raise InvalidInputError(
            "partial_fit needs attributions that come from the formula, got a network that learns "
            "them; fit network='set', or fit again on all rows"
        )


def _refuse_balanced(target: Any) -> Floats:
    raise InvalidInputError(
        f"class_weight must be a dict for partial_fit, got 'balanced', which the new rows alone "
        f"do not tell; give a weight for each of {list(target.labels)}"
    )


def _known(cells: Any, is_number: Any) -> Any:
    """Return the cells of categories, absent where their level is unseen."""
    levels = cells[:, ~np.array(is_number)]
    return np.where(levels == 0, np.float32(np.nan), levels)
