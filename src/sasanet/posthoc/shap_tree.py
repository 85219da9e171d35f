"""TreeSHAP: Shapley values of trees, forests and boosted trees.

Sizes: n rows, d features, K outputs. The game depends on the background:

- *path-dependent*, without one: at a split on a hidden feature both branches are averaged, weighted
  by their training rows, which roughly approximates E[f(x) | x_S];
- *interventional*, with one: exactly the game of :func:`~sasanet.posthoc.marginal_game`.

Both explain the raw score, which is the log-odds for boosted classifiers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError, need_package
from sasanet.explanation.explanation import Explanation
from sasanet.posthoc.to_explanation import check_adds_up, make_explanation
from sasanet.table.reading import read_table

# Relative: some hundred trees are summed in float32, which has seven digits.
_ROUNDING = 1e-4


def tree_shap(
    model: Any,
    X: Any,
    background: Any = None,
    *,
    output_names: Sequence[Any] = (),
    units: str = "auto",
) -> Explanation:
    """Explain rows by TreeSHAP: a tree, a forest or boosted trees.

    LightGBM computes the values itself (``pred_contrib``), with its own categories; trees of
    scikit-learn, XGBoost and any model with a background go through ``shap.TreeExplainer``. If the
    values do not add up to the raw prediction of the model, an error is raised.

    Parameters
    ----------
    model : fitted model
        LightGBM (estimator or ``Booster``), XGBoost or scikit-learn estimator.
    X : table (n, d)
        Rows to explain, in the form that the model takes.
    background : table (B, d), optional
        Explain the marginal game with these rows instead of the path-dependent one. Number columns
        only.
    output_names : sequence
        Names of the outputs of a multiclass model; by default ``model.classes_``, or positions.
    units : str
        Unit of the values; ``"auto"`` chooses log-odds, probability, target or raw score.

    Returns
    -------
    Explanation
        ``base_values + values.sum(axis=1)`` is the raw prediction: before the link function for
        boosted trees; for forests the probability of the second class, or of each of several.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 0.0, 4.0]
    >>> e = tree_shap(DecisionTreeRegressor(random_state=0).fit(X, y), X)
    >>> float(e.base_values[3]), e.values[3]
    (1.0, array([1.5, 1.5]))
    """
    raw, found_units = _raw_prediction(model, X)
    native = _made_by(model, "lightgbm") and background is None
    values, base = _from_lightgbm(model, X) if native else _from_shap(model, X, background)
    if values.ndim == 3 and values.shape[2] == 2 and raw.shape[1:] == (2,):  # p and 1 − p
        values, base, raw = values[..., 1], base[:, 1], raw[:, 1]
    remedy = "use kernel_shap with a marginal_game, which needs only predictions"
    check_adds_up(values, base, raw, _ROUNDING, remedy)
    names = list(output_names) or list(getattr(model, "classes_", ()))
    units = found_units if units == "auto" else units
    return make_explanation(values, base, X, names if values.ndim == 3 else (), units)


def _made_by(model: Any, package: str) -> bool:
    """Tell which package the model is from without importing it."""
    return any(kind.__module__.split(".")[0] == package for kind in type(model).__mro__)


def _raw_prediction(model: Any, X: Any) -> tuple[Floats, str]:
    """Return what the attributions must add up to, (n,) or (n, K), and its unit."""
    if not hasattr(model, "predict"):
        raise InvalidInputError(
            f"model must be a fitted tree model, got {type(model).__name__}; "
            "give a LightGBM, XGBoost or scikit-learn model"
        )
    boosted = "log-odds" if hasattr(model, "classes_") else "raw score"
    if _made_by(model, "lightgbm"):
        return np.asarray(model.predict(X, raw_score=True), dtype=np.float64), boosted
    if _made_by(model, "xgboost"):
        return np.asarray(model.predict(X, output_margin=True), dtype=np.float64), boosted
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64), boosted
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=np.float64), "probability"
    return np.asarray(model.predict(X), dtype=np.float64), "target"


def _from_lightgbm(model: Any, X: Any) -> tuple[Floats, Floats]:
    """Return values (n, d) or (n, d, K) and base values, which LightGBM puts last."""
    found = np.asarray(model.predict(X, pred_contrib=True), dtype=np.float64)
    n, d = read_table(X).shape
    shares = found.reshape(n, -1, d + 1)  # (n, K, d + 1)
    values, base = shares[:, :, :-1].transpose(0, 2, 1), shares[:, :, -1]
    return (values[..., 0], base[:, 0]) if shares.shape[1] == 1 else (values, base)


def _from_shap(model: Any, X: Any, background: Any) -> tuple[Floats, Floats]:
    """Return values (n, d) or (n, d, K) and base values by ``shap.TreeExplainer``."""
    shap = need_package("shap", "shap")
    table = read_table(X).infer_objects()
    if (
        not _made_by(model, "xgboost") or background is not None
    ):  # XGBoost handles its categories itself
        _check_numbers(table)
    data = None if background is None else read_table(background).infer_objects()
    game = "tree_path_dependent" if data is None else "interventional"
    try:
        explainer = shap.TreeExplainer(model, data=data, feature_perturbation=game)
    except Exception as error:  # shap raises many types, some of them bare
        raise InvalidInputError(
            f"model must be a tree model that shap can read, got {type(model).__name__} "
            f"({error}); use kernel_shap instead"
        ) from error
    # The sum is checked against the prediction of the model, not of shap's copy of it.
    values = np.asarray(explainer.shap_values(table, check_additivity=False), dtype=np.float64)
    ends = np.asarray(explainer.expected_value, dtype=np.float64).reshape(-1)
    base = np.tile(ends, (len(table), 1))
    return values, base if values.ndim == 3 else base[:, 0]


def _check_numbers(table: pd.DataFrame) -> None:
    words = [name for name, kind in table.dtypes.items() if kind.kind not in "iufb"]
    if words:
        raise InvalidInputError(
            f"The package shap needs number columns, got {words} of other types; "
            "encode them as the model does, or use kernel_shap"
        )
