"""Any predict function and background rows in, LIME's local linear models out.

Sizes: n rows, B background rows, d features, K outputs.

LIME (Ribeiro, Singh and Guestrin, 2016) draws rows from the background's columns, each column by
itself, weighs them by how many cells they share with the row, and fits a ridge regression on "has
the same value": one weight per feature. That is no Shapley value of any game, and it does **not**
add up: the intercept plus all weights is the local model's prediction of the row, not the model's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm.auto import tqdm

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError, need_package
from sasanet.explanation.explanation import Explanation
from sasanet.posthoc.black_box import BlackBox, Predict
from sasanet.posthoc.to_explanation import explained
from sasanet.table.reading import factor
from sasanet.validation import check_integer

_BINS = 4  # of a number column, at its quartiles, as LIME's own default


def lime_weights(
    predict: Predict,
    X: Any,
    background: Any,
    n_samples: int = 5000,
    output_names: Sequence[Any] = (),
    random_state: int = 0,
    verbose: bool = False,
) -> Explanation:
    """Return the weights of LIME's local model of every row, by the package ``lime``.

    All features are kept (``feature_selection="none"``), where lime itself shows ten. A number is
    one of four bins, missing is a value of its own, so tables of numbers, words and missing cells
    work as they are.

    Parameters
    ----------
    predict : callable
        Table → (n,), explained as it is, or (n, C) probabilities. It gets DataFrames if X has
        column names, else arrays.
    X : table (n, d)
        Rows to explain.
    background : table (B, d)
        Rows to draw cells from, usually the training table.
    n_samples : int
        Rows to draw around each row.
    output_names : sequence
        Names of the outputs, such as ``model.classes_``; by default their positions.
    random_state : int
        Seed of the draws; a row's result does not depend on the other rows.
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    Explanation
        ``base_values`` are the local models' intercepts, in the units "local model's output", and
        ``prediction`` is what the local models predict. How far that is from the model's
        prediction tells how well LIME fits there.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"age": rng.normal(size=200), "job": rng.choice(["a", "b"], 200)})
    >>> e = lime_weights(lambda X: (X["job"] == "a") * 1.0, table[:3], table, n_samples=500)
    >>> e.importance().index[0]
    'job'
    """
    need_package("lime", "lime")  # named alone where it is absent
    lime = need_package("lime.lime_tabular", "lime")
    draws = check_integer("n_samples", n_samples, 2, None, "5000 is LIME's own choice")
    seed = check_integer("random_state", random_state, 0, 2**32 - 1, "give a fixed seed such as 0")
    model = BlackBox(predict, X, background)
    whole = model(np.repeat(np.arange(model.n_rows)[:, None], model.n_features, axis=1))
    _check_probabilities(whole)
    codes = _codes(model)
    explainer = lime.LimeTabularExplainer(
        codes[model.n_rows :],
        mode="regression" if model.one_output else "classification",
        categorical_features=range(model.n_features),
        feature_selection="none",
        discretize_continuous=False,  # the columns are bins and levels already
        random_state=seed,
    )
    neighbours = _Neighbours(model, codes[model.n_rows :])
    weights, intercepts = np.empty((*model.table.shape, whole.shape[1])), np.empty(whole.shape)
    for row in tqdm(range(model.n_rows), desc="LIME", disable=not verbose):
        explainer.random_state.seed(seed)
        predict_codes = neighbours.around(row, np.random.default_rng(seed))
        labels = range(whole.shape[1])
        local = explainer.explain_instance(codes[row], predict_codes, labels, num_samples=draws)
        for k in labels:
            label = 1 if model.one_output else k  # lime files a regression under 1
            weights[row, :, k] = [weight for _, weight in sorted(local.local_exp[label])]
            intercepts[row, k] = local.intercept[label]
    if model.one_output:
        weights, intercepts = weights[..., 0], intercepts[:, 0]
    return explained(weights, intercepts, X, output_names, "local model's output")


class _Neighbours:
    """Background rows by the code of each cell, to make rows of codes real again."""

    def __init__(self, model: BlackBox, codes: Floats) -> None:
        self.model = model
        self.donors = [
            {code: model.n_rows + np.flatnonzero(column == code) for code in np.unique(column)}
            for column in codes.T
        ]

    def around(self, row: int, generator: np.random.Generator) -> Callable[[Floats], Floats]:
        """Return the function lime asks: codes (m, d), the explained row first → predictions."""

        def predict(drawn: Floats) -> Floats:
            # NOTE[DIFF]: inside a bin lime draws a number from a clipped normal; here it is one of
            # the background's, so whole numbers stay whole and common values keep their share.
            picks = np.full(drawn.shape, row, dtype=np.intp)
            for j, donors in enumerate(self.donors):
                for code, rows in donors.items():
                    places = 1 + np.flatnonzero(drawn[1:, j] == code)
                    picks[places, j] = generator.choice(rows, len(places))
            found = self.model(picks)
            return found[:, 0] if self.model.one_output else found

        return predict


def _codes(model: BlackBox) -> Floats:
    """Return bins and levels of all rows, the background's behind: (n + B, d), 0 is missing."""
    n_all = model.n_rows + model.n_background
    table = model.mixed(np.repeat(np.arange(n_all)[:, None], model.n_features, axis=1))
    columns = [table.iloc[:, j] for j in range(model.n_features)]
    return np.stack([_code_column(column, model.n_rows) for column in columns], axis=1)


def _code_column(column: pd.Series, n_rows: int) -> NDArray[np.float64]:
    plain = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if not plain:  # the background's levels first: its codes do not depend on the explained rows
        behind = pd.concat([column[n_rows:], column[:n_rows]])
        return np.roll(factor(behind, str(column.name))[0] + 1.0, n_rows)
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    seen = values[n_rows:][~np.isnan(values[n_rows:])]
    cuts = np.unique(np.quantile(seen, np.arange(1, _BINS) / _BINS)) if len(seen) else np.empty(0)
    return np.where(np.isnan(values), 0.0, 1.0 + np.searchsorted(cuts, values))


def _check_probabilities(predicted: Floats) -> None:
    """LIME explains one number or class probabilities; it only warns about anything else."""
    if predicted.shape[1] > 1 and not np.allclose(predicted.sum(axis=1), 1.0):
        raise InvalidInputError(
            "predict must return one number a row or probabilities that add up to 1, got "
            f"{predicted[0].tolist()}; give predict_proba, or one output at a time"
        )
