"""The two estimators users hold: a classifier and a regressor, each its own explanation."""

from __future__ import annotations

from sasanet.estimator import SelfExplainingModel
from sasanet.recipe import DECAY_TEXT, PATIENCE_TEXT, PEAK_TEXT, RUNNING_TEXT
from sasanet.tasks import TabularClassifier, TabularRegressor

_PARAMETERS = f"""
    Parameters
    ----------
    network : str or Architecture, default="set"
        The network's shape: ``"set"``, the paper's ``"sequence"``, one of the paper's presets
        (``"paper-income"``, ``"paper-higgs"``, ``"paper-fraud"``, ``"paper-insurance"``), or an
        :class:`~sasanet.Architecture` of your own.
    preset : {{"default", "best"}}, default="default"
        ``"best"`` trains several members of the set network, whose mean predicts: more accurate,
        and as many times slower to fit and to explain. An Architecture of your own is taken as is.
    learning_rate : float or "auto", default="auto"
        {PEAK_TEXT} "auto" is
        4e-3 below 20,000 rows, else (and for "best", and without a teacher) 2e-3.
    {DECAY_TEXT}
    dropout : float or "auto", default="auto"
        Dropout inside the marginal module; "auto" is 0.3 below 10,000 rows, else 0.1, and less the
        clearer the labels are to the teacher.
    batch_size, max_epochs, attribution_steps : int or "auto", default="auto"
        Chosen by the number of rows; the rule is in :mod:`sasanet.recipe`.
    {PATIENCE_TEXT}
    validation_fraction : float or "auto", default="auto"
        Share of the rows that choose the best epoch; 0 trains to the end on all rows. "auto" is 0
        with a teacher, who knows how long to train; without one, or with a ``patience`` of your
        own, 0.1, and 0.2 below 10,000 rows.
    teacher : float or "auto", default="auto"
        How much of every label is what boosted trees, fitted without its row, expect: from 0 (off)
        to below 1. "auto" is 0.5 for set networks and 0 for the paper's sequence module.
    {RUNNING_TEXT}
"""


class SASANetClassifier(TabularClassifier, SelfExplainingModel):  # noqa: D101 - __doc__ is built
    __doc__ = f"""A classifier that is its own explanation, on the log-odds scale.
{_PARAMETERS}
    Attributes
    ----------
    classes_ : ndarray (C,)
    base_value_ : ndarray (1,) or (C,)
        φ0: the log-odds (binary) or log priors (multiclass) of the training labels.
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
    >>> model = SASANetClassifier(random_state=0, max_epochs=5, attribution_steps=50).fit(X, y)
    >>> model.predict_proba(X).shape
    (344, 3)
    >>> model.explain(X).values.shape
    (344, 7, 3)
    """


class SASANetRegressor(TabularRegressor, SelfExplainingModel):  # noqa: D101 - __doc__ is built
    __doc__ = f"""A regressor that is its own explanation, in the target's own units.
{_PARAMETERS}
    Attributes
    ----------
    base_value_ : ndarray (1,)
        φ0: the mean of the training target.
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
    >>> model = SASANetRegressor(random_state=0, max_epochs=5, attribution_steps=50).fit(X, y)
    >>> model.explain(X).units
    'target'
    """
