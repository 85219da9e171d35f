"""The columns that ``predict`` and ``explain`` write, beside the rows' numbers and names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.estimator.sasanet import SASANetModel
from sasanet.explanation.explanation import Explanation, flat

ROW = "row"  # the column of row numbers
EXPOSURE = "exposure"  # that of exposures, where predictions are for them


def prediction_columns(model: SASANetModel) -> list[str]:
    """Return the names of the columns that :func:`prediction_frame` makes."""
    if model.target_.quantiles and model.target_.output_names:
        return [f"prediction_{name}" for name in model.target_.output_names]
    return ["prediction", *(f"probability_{label}" for label in _classes(model))]


def prediction_frame(model: SASANetModel, X: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the prediction of every row and, for classes, the probability of each.

    Rates are multiplied by the rows' exposures, where these have any.
    """
    found = model.predict(X)
    columns = list(found.T) if found.ndim == 2 else [found]
    if EXPOSURE in rows:
        columns = [model.predict(X, exposure=rows[EXPOSURE])]
    if _classes(model):
        columns += list(model.predict_proba(X).T)
    named = dict(zip(prediction_columns(model), columns, strict=True))
    return pd.concat([rows, pd.DataFrame(named)], axis=1)


def _classes(model: SASANetModel) -> tuple[object, ...]:
    return model.target_.labels if hasattr(model, "predict_proba") else ()


def explanation_columns(
    features: Sequence[str], outputs: Sequence[str], top: int, refined: bool
) -> list[str]:
    """Return the names of the columns that :func:`explanation_frame` makes."""
    tails = [f" | {name}" for name in outputs] or [""]
    return [
        *(what + tail for what in ("prediction", "base_value") for tail in tails),
        *(f"reason_{number}" for number in range(1, top + 1)),
        *(
            f"{what}_{name}{tail}"
            for what in (("phi", "error") if refined else ("phi",))
            for name in features
            for tail in tails
        ),
    ]


def explanation_frame(e: Explanation, top: int, rows: pd.DataFrame) -> pd.DataFrame:
    """Return an explanation with one line per row; the reasons in words come first."""
    names = explanation_columns(e.feature_names, e.output_names, top, e.error_std is not None)
    parts = [pd.DataFrame(flat(np.asarray(array))) for array in (e.prediction, e.base_values)]
    if top:
        reasons = [(said + [None] * top)[:top] for said in e.all_reasons(top)]
        parts.append(pd.DataFrame(reasons, dtype="str"))
    for array in (e.values, e.error_std):
        if array is not None:
            parts.append(pd.DataFrame(flat(array)))
    return pd.concat([rows, pd.concat(parts, axis=1).set_axis(names, axis=1)], axis=1)


def explained_outputs(model: SASANetModel, of_class: str | None) -> list[str]:
    """Return the names of the outputs to write, none if there is only one."""
    classes = [str(label) for label in model.target_.output_names]
    several = bool(classes)
    if of_class is None:
        return classes if several else []
    if not several:
        raise InvalidInputError(
            f"--class must be left out where a model has one output, got {of_class!r}."
        )
    if of_class not in classes:
        raise InvalidInputError(f"--class must be one of {classes}, got {of_class!r}.")
    return []


def interaction_columns() -> list[str]:
    """Return the names of the columns that :func:`interaction_frame` makes."""
    return ["feature", "other", "interaction"]


def interaction_frame(
    values: Floats, names: Sequence[str], top: int, rows: pd.DataFrame
) -> pd.DataFrame:
    """Return the strongest pairs of every row, one line each; Φ (n, d, d) as the model gives it."""
    first, second = np.triu_indices(values.shape[1], 1)
    pairs = 2 * values[:, first, second]  # the whole index: Φ_ij and Φ_ji
    order = np.argsort(-np.abs(pairs), axis=1, kind="stable")[:, :top]
    features = np.array(names, dtype=object)
    found = pd.DataFrame(
        {
            "feature": features[first[order.ravel()]],
            "other": features[second[order.ravel()]],
            "interaction": np.take_along_axis(pairs, order, axis=1).ravel(),
        }
    ).astype({"feature": "str", "other": "str"})
    lines = rows.loc[rows.index.repeat(order.shape[1])].reset_index(drop=True)
    return pd.concat([lines, found], axis=1)
