"""The estimators users hold: a classifier and a regressor, each its own explanation.

What they share with any other network of a table is in :mod:`sasanet.estimator.tabular`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.estimator.deciding import DecidingModel
from sasanet.estimator.fitting import soft_labels
from sasanet.estimator.fitting.class_weights import ClassWeight, class_factors
from sasanet.estimator.fitting.data import FitData
from sasanet.estimator.fitting.directions import MonotonicCst, check_network, find_directions
from sasanet.estimator.fitting.given import TrainingTable
from sasanet.estimator.fitting.importances import mean_attributions
from sasanet.estimator.objective_regressor import ObjectiveRegressor
from sasanet.estimator.one_row import OneRowClassifier, OneRowModel
from sasanet.network.architecture import Architecture, find_architecture
from sasanet.network.sasanet import SASANet
from sasanet.table.encoder import TableEncoder
from sasanet.table.target import Target
from sasanet.teachers import SoftLabels, read_teachers
from sasanet.training.hyperparameters import SASANetHyperparameters, resolve
from sasanet.training.loop import Phase
from sasanet.training.phases import sasanet_phases
from sasanet.training.widths import correct_widths


class SASANetModel(OneRowModel, DecidingModel):
    """What SASANet's classifier and regressor share."""

    network_: SASANet
    feature_importances_: Floats

    def __init__(  # noqa: PLR0913 - the constructor is where scikit-learn keeps settings
        self,
        network: str | Architecture = "set",
        *,
        preset: str = "default",
        learning_rate: float | str = "auto",
        batch_size: int | str = "auto",
        max_epochs: int | str = "auto",
        patience: int | str = "auto",
        validation_fraction: float | str = "auto",
        teachers: Any = "auto",
        teacher_weight: float | str = "auto",
        time_limit: float = math.inf,
        categorical_features: Sequence[str | int] = (),
        min_level_count: int = 1,
        monotonic_cst: MonotonicCst = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.network = network
        self.preset = preset
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.teachers = teachers
        self.teacher_weight = teacher_weight
        self.time_limit = time_limit
        self.categorical_features = categorical_features
        self.min_level_count = min_level_count
        self.monotonic_cst = monotonic_cst
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @property
    def monotonic_cst_(self) -> NDArray[np.int_]:
        """The direction of every column in which the fitted model is monotone, 0 for none: (d,)."""
        columns = self.network_.columns
        return np.array(columns.directions or [0] * len(columns))

    def _resolve(self, n_rows: int, soft: SoftLabels | None = None) -> SASANetHyperparameters:
        parameters = self._parameters()
        own = bool(read_teachers(self.teachers)[1])
        if soft is None:
            return resolve(parameters, n_rows, own_teachers=own)
        if soft.n_rows == 0:  # there was no time for teachers, or too few rows
            parameters["teacher_weight"] = 0.0
            own = False
        return resolve(parameters, n_rows, soft.clarity, soft.roughness, own)

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters that the rules go by."""
        return self.get_params(deep=False)

    def _make_encoder(self) -> TableEncoder:
        architecture = find_architecture(self.network)
        check_network(self.monotonic_cst, architecture)
        numbers = "knots" if architecture.numbers == "knots" else "standard"
        return TableEncoder(
            numbers, architecture.n_knots, self.categorical_features, self.min_level_count
        )

    def _soften_labels(
        self, data: FitData, settings: SASANetHyperparameters, table: pd.DataFrame, y: Any
    ) -> tuple[FitData, SASANetHyperparameters]:
        """Mix the labels with a panel's predictions; how clear they are decides how to train."""
        directions = find_directions(self.monotonic_cst, data.encoder, data.target.task)
        data = replace(data, directions=directions)
        clarity_alone = bool(data.target.quantiles) and self.teacher_weight == "auto"
        soft = soft_labels.soften(data, settings, self.teachers, (table, y), clarity_alone)
        settings = self._resolve(data.n_rows, soft)
        by_rule = self.max_epochs == "auto" and data.validation is None
        yardstick = soft_labels.make_yardstick(data, soft) if by_rule else None
        data = replace(soft_labels.augment(data, soft), labels=soft.labels, yardstick=yardstick)
        return soft_labels.with_knots(data, settings.architecture.n_knots), settings

    def _make_network(self, data: FitData, settings: SASANetHyperparameters) -> SASANet:
        cap = data.target.cap(data.n_trained)
        shape, gaps = settings.architecture, data.target.gaps
        return SASANet(data.columns, data.n_outputs, shape, cap, settings.dropout, gaps)

    def _make_phases(self, data: FitData, settings: SASANetHyperparameters) -> Sequence[Phase]:
        objective = data.objective(settings.architecture.full_share)
        return sasanet_phases(settings, data.n_trained, data.validation, objective)

    def _finish(self, network: SASANet, data: FitData) -> dict[str, Any]:
        """Correct the widths of intervals; measure mean |φ| over training rows and classes."""
        if data.validation is not None:
            objective = data.objective(network.architecture.full_share)
            correct_widths(network, data.validation, objective, data.fellows)
        if network.attribution is None:
            return {}
        sizes = mean_attributions(network, data, float(self.time_limit))
        return {"feature_importances_": sizes * data.target.scale}


class SASANetClassifier(OneRowClassifier, SASANetModel):
    """A classifier that is its own explanation, on the log-odds scale.

    Parameters
    ----------
    network : str or Architecture, default="set"
        The network's shape: ``"set"``, the paper's ``"sequence"``, one of the paper's presets
        (``"paper-income"``, ``"paper-higgs"``, ``"paper-fraud"``, ``"paper-insurance"``), or an
        :class:`~sasanet.Architecture` of your own, which also says how the network is regularised
        (``dropout``, ``weight_decay``).
    preset : {"default", "best"}, default="default"
        ``"best"`` trains several members of the set network, whose mean predicts: more accurate,
        and as many times slower to fit and to explain. An Architecture of your own is taken as is
        and trained longer.
    learning_rate : float or "auto", default="auto"
        Peak learning rate: a short warm-up, then half a cosine down to zero.
    batch_size, max_epochs : int or "auto", default="auto"
        Rows of a step, and how often the rows are seen.
    patience : int or "auto", default="auto"
        Epochs without a better validation loss before training stops; "auto" never stops early, so
        that the learning rate reaches zero. The best weights are kept.
    validation_fraction : float or "auto", default="auto"
        Share of the rows that choose the best epoch; 0 trains to the end on all rows.
    teachers : "auto", estimator or list, default="auto"
        Who softens the labels: ``"auto"`` is a panel of trees, splines and kernels; a scikit-learn
        estimator takes its place, and a list such as ``["auto", RandomForestClassifier()]`` joins
        several. Each learns from X and y as they are given, and no fitted one is kept.
    teacher_weight : float or "auto", default="auto"
        How much of every label is the out-of-fold prediction of the teachers: from 0 (off) to below
        1. "auto": the more, the noisier the labels are.
    time_limit : float, default=inf
        Seconds; the learning rate reaches zero in time.
    categorical_features : sequence of str or int, default=()
        Number columns that are codes, to be read as categories.
    min_level_count : int, default=1
        The model keeps no value of the table that fewer training rows have: rarer levels are
        unknown to it, and knots are means of so many values.
    monotonic_cst : dict, array-like (d,) or None, default=None
        Number columns in which the output may only rise (1) or only fall (-1), whatever else is
        known of a row: a dict from names to directions, or one direction per column, 0 for none.
        More than two classes have no direction.
    class_weight : dict, "balanced" or None, default=None
        How much the rows of each class count: a dict from classes to weights, or inversely to
        their frequencies. Probabilities and base value are then those of the weighted classes.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, ``"mps"``, or the fastest one present.
    random_state : int, RandomState or None, default=None
        One seed gives equal weights on CPU.
    verbose : bool, default=False
        Show a progress bar.

    Notes
    -----
    Every "auto" follows the number of rows and how well the teacher predicts the labels; the rule
    is in :mod:`sasanet.training.hyperparameters`.

    Attributes
    ----------
    classes_ : ndarray (C,)
        The class labels in order.
    base_value_ : ndarray (1,) or (C,)
        φ0: the log-odds (binary) or log priors (multiclass) of the training labels.
    feature_importances_ : ndarray (d,)
        Mean absolute attribution of each feature over training rows (and classes).
    monotonic_cst_ : ndarray (d,)
        The direction of every column: 0 where the output may rise and fall.
    history_ : list of dict
        One record per epoch.
    audit_ : Audit
        The last certificate of this fit, once ``audit`` was called.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=5).fit(X, y)
    >>> model.predict_proba(X).shape
    (344, 3)
    >>> model.explain(X).values.shape
    (344, 7, 3)
    """

    def __init__(  # noqa: PLR0913 - the constructor is where scikit-learn keeps settings
        self,
        network: str | Architecture = "set",
        *,
        preset: str = "default",
        learning_rate: float | str = "auto",
        batch_size: int | str = "auto",
        max_epochs: int | str = "auto",
        patience: int | str = "auto",
        validation_fraction: float | str = "auto",
        teachers: Any = "auto",
        teacher_weight: float | str = "auto",
        time_limit: float = math.inf,
        categorical_features: Sequence[str | int] = (),
        min_level_count: int = 1,
        monotonic_cst: MonotonicCst = None,
        device: str = "auto",
        class_weight: ClassWeight = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            network,
            preset=preset,
            learning_rate=learning_rate,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=patience,
            validation_fraction=validation_fraction,
            teachers=teachers,
            teacher_weight=teacher_weight,
            time_limit=time_limit,
            categorical_features=categorical_features,
            min_level_count=min_level_count,
            monotonic_cst=monotonic_cst,
            device=device,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def _class_factors(self, target: Target, table: TrainingTable) -> Floats | None:
        return class_factors(self.class_weight, target, table.counts)


class SASANetRegressor(ObjectiveRegressor, SASANetModel):
    """A regressor that is its own explanation, in the target's own units or as a log rate.

    Parameters
    ----------
    network : str or Architecture, default="set"
        The network's shape: ``"set"``, the paper's ``"sequence"``, one of the paper's presets
        (``"paper-income"``, ``"paper-higgs"``, ``"paper-fraud"``, ``"paper-insurance"``), or an
        :class:`~sasanet.Architecture` of your own, which also says how the network is regularised
        (``dropout``, ``weight_decay``).
    objective : str, default="squared"
        What is predicted, by the loss that is learned from: ``"squared"``, a mean; ``"poisson"``,
        ``"gamma"``, ``"tweedie"`` (power 1.5), a mean through its logarithm, per unit of the
        ``exposure`` of ``fit``; ``"quantile"``; ``"huber"``, a mean that outliers hardly move
        (errors count linearly from 1.345 spreads of the target on).
    quantile : float or list of float, default=0.5
        The quantile to predict, or several in rising order, which never cross.
    preset : {"default", "best"}, default="default"
        ``"best"`` trains several members of the set network, whose mean predicts: more accurate,
        and as many times slower to fit and to explain. An Architecture of your own is taken as is
        and trained longer.
    learning_rate : float or "auto", default="auto"
        Peak learning rate: a short warm-up, then half a cosine down to zero.
    batch_size, max_epochs : int or "auto", default="auto"
        Rows of a step, and how often the rows are seen.
    patience : int or "auto", default="auto"
        Epochs without a better validation loss before training stops; "auto" never stops early, so
        that the learning rate reaches zero. The best weights are kept.
    validation_fraction : float or "auto", default="auto"
        Share of the rows that choose the best epoch; 0 trains to the end on all rows.
    teachers : "auto", estimator or list, default="auto"
        Who softens the labels: ``"auto"`` is a panel of trees, splines and kernels; a scikit-learn
        estimator takes its place, and a list such as ``["auto", RandomForestClassifier()]`` joins
        several. Each learns from X and y as they are given, and no fitted one is kept.
    teacher_weight : float or "auto", default="auto"
        How much of every label is the out-of-fold prediction of the teachers: from 0 (off) to below
        1. "auto": the more, the noisier the labels are.
    time_limit : float, default=inf
        Seconds; the learning rate reaches zero in time.
    categorical_features : sequence of str or int, default=()
        Number columns that are codes, to be read as categories.
    min_level_count : int, default=1
        The model keeps no value of the table that fewer training rows have: rarer levels are
        unknown to it, and knots are means of so many values.
    monotonic_cst : dict, array-like (d,) or None, default=None
        Number columns in which the output may only rise (1) or only fall (-1), whatever else is
        known of a row: a dict from names to directions, or one direction per column, 0 for none.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, ``"mps"``, or the fastest one present.
    random_state : int, RandomState or None, default=None
        One seed gives equal weights on CPU.
    verbose : bool, default=False
        Show a progress bar.

    Notes
    -----
    Every "auto" follows the number of rows and how well the teacher predicts the labels; the rule
    is in :mod:`sasanet.training.hyperparameters`.

    Labels of "quantile" and "huber" are not softened: their spread would be another.

    Attributes
    ----------
    base_value_ : ndarray (1,) or (Q,)
        φ0: of the training target the mean, the logarithm of the mean, or the quantiles.
    feature_importances_ : ndarray (d,)
        Mean absolute attribution of each feature over training rows.
    monotonic_cst_ : ndarray (d,)
        The direction of every column: 0 where the output may rise and fall.
    history_ : list of dict
        One record per epoch.
    audit_ : Audit
        The last certificate of this fit, once ``audit`` was called.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sasanet.datasets import load_penguins
    >>> X, _ = load_penguins()
    >>> known = X["body_mass_g"].notna()
    >>> X, y = X[known].drop(columns="body_mass_g"), X.loc[known, "body_mass_g"]
    >>> model = SASANetRegressor(random_state=0, max_epochs=5).fit(X, y)
    >>> model.explain(X).units
    'target'
    """

    def __init__(  # noqa: PLR0913 - the constructor is where scikit-learn keeps settings
        self,
        network: str | Architecture = "set",
        *,
        objective: str = "squared",
        quantile: float | Sequence[float] = 0.5,
        preset: str = "default",
        learning_rate: float | str = "auto",
        batch_size: int | str = "auto",
        max_epochs: int | str = "auto",
        patience: int | str = "auto",
        validation_fraction: float | str = "auto",
        teachers: Any = "auto",
        teacher_weight: float | str = "auto",
        time_limit: float = math.inf,
        categorical_features: Sequence[str | int] = (),
        min_level_count: int = 1,
        monotonic_cst: MonotonicCst = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            network,
            preset=preset,
            learning_rate=learning_rate,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=patience,
            validation_fraction=validation_fraction,
            teachers=teachers,
            teacher_weight=teacher_weight,
            time_limit=time_limit,
            categorical_features=categorical_features,
            min_level_count=min_level_count,
            monotonic_cst=monotonic_cst,
            device=device,
            random_state=random_state,
            verbose=verbose,
        )
        self.objective, self.quantile = objective, quantile
