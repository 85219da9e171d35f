"""What a model says about rows in, columns to write out, beside the rows' numbers and names."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sasanet.estimator.sasanet import SASANetModel
from sasanet.explanation.explanation import Explanation, flat


def predictions(model: SASANetModel, X: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the answer of every row and, for classes, the probability of each."""
    answers: dict[str, object] = {"prediction": model.predict(X)}
    if hasattr(model, "predict_proba"):
        names = [f"probability_{label}" for label in model.target_.labels]
        answers |= dict(zip(names, model.predict_proba(X).T, strict=True))
    return pd.concat([rows, pd.DataFrame(answers)], axis=1)


def explanations(e: Explanation, top: int, rows: pd.DataFrame) -> pd.DataFrame:
    """Return an explanation with one line per row, reasons in words first."""
    tails = [f" | {name}" for name in e.output_names] or [""]
    totals = {"prediction": e.prediction, "base_value": e.base_values}
    parts = [
        pd.DataFrame(flat(array), columns=[what + tail for tail in tails])
        for what, array in totals.items()
    ]
    if top:
        said = [(reasons + [None] * top)[:top] for reasons in e.all_reasons(top)]
        names = [f"reason_{number + 1}" for number in range(top)]
        parts.append(pd.DataFrame(said, columns=names, dtype="str"))
    arrays = {"phi": e.values} | ({} if e.error_std is None else {"error": e.error_std})
    for what, array in arrays.items():
        names = [f"{what}_{name}{tail}" for name in e.feature_names for tail in tails]
        parts.append(pd.DataFrame(flat(np.asarray(array)), columns=names))
    return pd.concat([rows, *parts], axis=1)
