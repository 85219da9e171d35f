"""A fitted tree model and rows in, TreeSHAP attributions out, as an Explanation.

Sizes: n rows, d features, K outputs. Which game is played depends on the background:

- without one, hidden features are averaged inside the trees, by the training rows that went each
  way (*path-dependent*), a rough stand-in for E[f(x) | x_S];
- with one, it is the game of :func:`marginal_game` (*interventional*), exactly.

Both are games of the raw score: log-odds where trees are boosted on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError, need_package
from sasanet.explanation.explanation import Explanation
from sasanet.posthoc.to_explanation import check_adds_up, explained
from sasanet.table.reading import read_table

# Of the numbers added up: trees are summed in float32, seven digits, some hundred times.
_ROUNDING = 1e-4


def tree_shap(model: Any, X: Any, background: Any = None, units: str = "auto") -> Explanation:
    """Return TreeSHAP attributions of a tree, a forest or boosted trees.

    LightGBM computes them itself (``pred_contrib``), with its own categories; scikit-learn's trees,
    XGBoost and every model with a background go through ``shap.TreeExplainer``. Attributions that
    do not add up to the model's raw prediction are refused, never returned.

    Parameters
    ----------
    model : fitted model
        LightGBM (estimator or ``Booster``), XGBoost or scikit-learn estimator.
    X : table (n, d)
        Rows to explain, as the model takes them.
    background : table (B, d), optional
        Play the marginal game against these rows instead of the path-dependent one. Numbers only.
    units : str
        What one unit of the values means; ``"auto"`` tells log-odds, probability or raw score.

    Returns
    -------
    Explanation
        ``base_values + values.sum(axis=1)`` is the raw prediction: before the link of boosted
        trees; the probability of the second class, or of each of more, for forests.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 0.0, 4.0]
    >>> e = tree_shap(DecisionTreeRegressor(random_state=0).fit(X, y), X)
    >>> e.base_values[3], e.values[3]
    (np.float64(1.0), array([1.5, 1.5]))
    """
    raw, found_units = _raw_prediction(model, X)
    native = _made_by(model, "lightgbm") and background is None
    values, base = _from_lightgbm(model, X) if native else _from_shap(model, X, background)
    if values.ndim == 3 and values.shape[2] == 2 and raw.shape[1:] == (2,):  # p and 1 − p
        values, base, raw = values[..., 1], base[:, 1], raw[:, 1]
    remedy = "explain this model by kernel_shap, whose game needs predictions only"
    check_adds_up(values, base, raw, _ROUNDING, remedy)
    classes = getattr(model, "classes_", ()) if values.ndim == 3 else ()
    return explained(values, base, X, list(classes), found_units if units == "auto" else units)


def _made_by(model: Any, package: str) -> bool:
    """Tell whose model it is without importing the package."""
    return any(kind.__module__.split(".")[0] == package for kind in type(model).__mro__)


def _raw_prediction(model: Any, X: Any) -> tuple[Floats, str]:
    """Return what the attributions must add up to, (n,) or (n, K), and its units."""
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
    """Return values (n, d) or (n, d, K) and base values; its last contribution is the base."""
    found = np.asarray(model.predict(X, pred_contrib=True), dtype=np.float64)
    n, d = read_table(X).shape
    shares = found.reshape(n, -1, d + 1)  # (n, K, d + 1)
    values, base = shares[:, :, :-1].transpose(0, 2, 1), shares[:, :, -1]
    return (values[..., 0], base[:, 0]) if shares.shape[1] == 1 else (values, base)


def _from_shap(model: Any, X: Any, background: Any) -> tuple[Floats, Floats]:
    """Return values (n, d) or (n, d, K) and base values by ``shap.TreeExplainer``."""
    shap = need_package("shap", "shap")
    table = read_table(X).infer_objects()
    if not _made_by(model, "xgboost") or background is not None:  # XGBoost knows its categories
        _check_numbers(table)
    data = None if background is None else read_table(background).infer_objects()
    game = "tree_path_dependent" if data is None else "interventional"
    try:
        explainer = shap.TreeExplainer(model, data=data, feature_perturbation=game)
    except Exception as error:  # shap raises half a dozen kinds, some of them bare
        raise InvalidInputError(
            f"model must be a tree model that shap can read, got {type(model).__name__} "
            f"({error}); explain it by kernel_shap instead"
        ) from error
    # The sum is checked against the model's own prediction, not against shap's copy of it.
    values = np.asarray(explainer.shap_values(table, check_additivity=False), dtype=np.float64)
    ends = np.asarray(explainer.expected_value, dtype=np.float64).reshape(-1)
    base = np.tile(ends, (len(table), 1))
    return values, base if values.ndim == 3 else base[:, 0]


def _check_numbers(table: pd.DataFrame) -> None:
    words = [name for name, kind in table.dtypes.items() if kind.kind not in "iufb"]
    if words:
        raise InvalidInputError(
            f"TreeSHAP through shap needs number columns, got {words} are not; "
            "encode them as the model does, or use kernel_shap"
        )
