"""LIME: a local linear model around each row, by the package ``lime``.

Sizes: n rows, B background rows, d features, K outputs.

LIME (Ribeiro, Singh and Guestrin, 2016) draws rows from the background, each column independently,
weights them by how many cells they share with the explained row, and fits a ridge regression on
"has the same value as the row": one weight per feature. The weights are not Shapley values and do
**not** add up to the prediction: intercept plus weights is what the local model predicts.
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
from sasanet.posthoc.to_explanation import make_explanation
from sasanet.table.reading import factor
from sasanet.validation import check_integer

_BINS = 4  # per number column, at its quartiles: the default of lime


def lime(
    predict: Predict,
    X: Any,
    background: Any,
    n_samples: int = 5000,
    *,
    output_names: Sequence[Any] = (),
    random_state: int = 0,
    verbose: bool = False,
) -> Explanation:
    """Explain rows by LIME: the weights of a local linear model around each row.

    All features are kept (``feature_selection="none"``), where lime by default keeps ten. Numbers
    are binned at their quartiles and a missing cell is a value of its own, so tables of numbers,
    words and missing cells need no preparation.

    Parameters
    ----------
    predict : callable
        Table → (n,) numbers or (n, C) probabilities. It is called with DataFrames if X has column
        names, else with arrays.
    X : table (n, d)
        Rows to explain.
    background : table (B, d)
        Rows that cells are drawn from, usually the training table.
    n_samples : int
        Rows to draw for each local model.
    output_names : sequence
        Names of the outputs, such as ``model.classes_``; by default their positions.
    random_state : int
        Seed of the draws; the result for a row does not depend on the other rows.
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    Explanation
        In units of "local model's output": ``base_values`` are the intercepts and ``prediction`` is
        what the local models predict. Its distance to the prediction of the model is the error of
        the local fit.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"age": rng.normal(size=200), "job": rng.choice(["a", "b"], 200)})
    >>> e = lime(lambda X: (X["job"] == "a") * 1.0, table[:3], table, n_samples=500)
    >>> e.importance().index[0]
    'job'
    """
    need_package("lime", "lime")  # first, so that an error names the package, not its module
    package = need_package("lime.lime_tabular", "lime")
    draws = check_integer("n_samples", n_samples, 2, None, "5000 is the default of lime")
    seed = check_integer("random_state", random_state, 0, 2**32 - 1, "give a fixed seed such as 0")
    model = BlackBox(predict, X, background)
    whole = model(np.repeat(np.arange(model.n_rows)[:, None], model.n_features, axis=1))
    _check_probabilities(whole)
    codes = _codes(model)
    explainer = package.LimeTabularExplainer(
        codes[model.n_rows :],
        mode="regression" if model.one_output else "classification",
        categorical_features=range(model.n_features),
        feature_selection="none",
        discretize_continuous=False,  # the columns already hold bins and levels
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
            label = 1 if model.one_output else k  # lime stores a regression under 1
            weights[row, :, k] = [weight for _, weight in sorted(local.local_exp[label])]
            intercepts[row, k] = local.intercept[label]
    if model.one_output:
        weights, intercepts = weights[..., 0], intercepts[:, 0]
    return make_explanation(weights, intercepts, X, output_names, "local model's output")


class _Neighbours:
    """Background rows by the code of each cell, to turn rows of codes into rows of cells."""

    def __init__(self, model: BlackBox, codes: Floats) -> None:
        self.model = model
        self.donors = [
            {code: model.n_rows + np.flatnonzero(column == code) for code in np.unique(column)}
            for column in codes.T
        ]

    def around(self, row: int, generator: np.random.Generator) -> Callable[[Floats], Floats]:
        """Return the function that lime calls: codes (m, d), the row first → predictions."""

        def predict(drawn: Floats) -> Floats:
            # NOTE[DIFF]: inside a bin lime draws a number from a clipped normal distribution; here
            # it is one of the background: integers stay integers, common values stay common.
            picks = np.full(drawn.shape, row, dtype=np.intp)
            for j, donors in enumerate(self.donors):
                for code, rows in donors.items():
                    places = 1 + np.flatnonzero(drawn[1:, j] == code)
                    picks[places, j] = generator.choice(rows, len(places))
            found = self.model(picks)
            return found[:, 0] if self.model.one_output else found

        return predict


def _codes(model: BlackBox) -> Floats:
    """Return bins and levels of all rows, then of the background: (n + B, d); 0 is missing."""
    n_all = model.n_rows + model.n_background
    table = model.mixed(np.repeat(np.arange(n_all)[:, None], model.n_features, axis=1))
    columns = [table.iloc[:, j] for j in range(model.n_features)]
    return np.stack([_code_column(column, model.n_rows) for column in columns], axis=1)


def _code_column(column: pd.Series, n_rows: int) -> NDArray[np.float64]:
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if not is_number:  # background first: its codes must not depend on the explained rows
        reordered = pd.concat([column[n_rows:], column[:n_rows]])
        return np.roll(factor(reordered, str(column.name))[0] + 1.0, n_rows)
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    seen = values[n_rows:][~np.isnan(values[n_rows:])]
    cuts = np.unique(np.quantile(seen, np.arange(1, _BINS) / _BINS)) if len(seen) else np.empty(0)
    return np.where(np.isnan(values), 0.0, 1.0 + np.searchsorted(cuts, values))


def _check_probabilities(predicted: Floats) -> None:
    """Raise unless there is one output or class probabilities; lime itself only warns."""
    if predicted.shape[1] > 1 and not np.allclose(predicted.sum(axis=1), 1.0):
        raise InvalidInputError(
            "predict must return one number per row or probabilities that add up to 1, got "
            f"{predicted[0].tolist()}; give predict_proba, or explain one output at a time"
        )
