"""The marginal (interventional) game, which explains any predict function.

Sizes: n rows (one game each), B background rows, d features, m coalitions, K outputs.

Hidden features take their values from background rows, whatever the known features are:

    v(S) = mean over background rows b of f(x_S, b_{N∖S}),

so v(∅) is the mean prediction of the background and v(N) the prediction of the row. No second model
is needed, but where features are dependent the model is evaluated on combinations of values that do
not occur. The game of SASANet, E[y | x_S], does not have this problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tqdm.auto import tqdm

from sasanet.arrays import Floats, Masks
from sasanet.posthoc.black_box import CELLS_AT_ONCE, BlackBox, Predict
from sasanet.shapley.game import ValueFunction
from sasanet.table.reading import read_table
from sasanet.validation import check_integer, make_generator


def marginal_game(
    predict: Predict,
    X: Any,
    background: Any,
    n_background: int = 100,
    *,
    random_state: int = 0,
    verbose: bool = False,
) -> ValueFunction:
    """Return the marginal game of a model on given rows, as a value function.

    Each coalition of a row takes one prediction per background row. A missing cell whose feature is
    known is passed to the model as it is.

    Parameters
    ----------
    predict : callable
        Table → (n,) or (n, K), such as ``model.predict_proba``. It is called with DataFrames if X
        has column names, else with arrays.
    X : table (n, d)
        Rows to explain: numbers, words, missing cells.
    background : table (B, d)
        Rows that hidden cells are taken from, usually the training table.
    n_background : int
        Largest number of background rows; if there are more, so many are drawn once, without
        replacement.
    random_state : int
        Seed of the draw.
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    value function
        Masks (m, d) → v(S), (n, m) or (n, m, K): the first argument of
        :func:`~sasanet.posthoc.exact_shap` and its relatives.

    Examples
    --------
    >>> from sasanet.posthoc import exact_shap
    >>> X, background = [[3.0, 5.0]], [[0.0, 0.0], [2.0, 4.0]]
    >>> game = marginal_game(lambda X: X[:, 0] * X[:, 1], X, background)
    >>> game(np.array([[False, False], [True, False], [True, True]]))
    array([[ 4.,  6., 15.]])
    >>> exact_shap(game, X).values
    array([[6., 5.]])
    """
    most = check_integer("n_background", n_background, 1, None, "100 rows are a good start")
    generator, rows = make_generator(random_state), read_table(background)
    if len(rows) > most:
        rows = rows.iloc[np.sort(generator.choice(len(rows), most, replace=False))]
    model = BlackBox(predict, X, rows)

    def value(masks: Masks) -> Floats:
        found = _values(model, masks, verbose)
        return found[..., 0] if model.one_output else found

    return value


def _values(model: BlackBox, masks: Masks, verbose: bool) -> Floats:
    """Return v(S) of every row, in tables of bounded size: (m, d) → (n, m, K)."""
    m, n, d = len(masks), model.n_rows, model.n_features
    background = model.n_rows + np.arange(model.n_background)
    size = max(1, CELLS_AT_ONCE // (d * model.n_background))  # (row, coalition) pairs at once
    found = []
    bar = tqdm(total=n * m, desc="marginal game", disable=not verbose, leave=False)
    with bar:
        for start in range(0, n * m, size):
            row, mask = np.divmod(np.arange(start, min(start + size, n * m)), m)
            known = masks[mask][:, None, :]  # (pairs, 1, d)
            picks = np.where(known, row[:, None, None], background[:, None])  # (pairs, B, d)
            predicted = model(picks.reshape(-1, d))
            found.append(predicted.reshape(len(row), len(background), -1).mean(axis=1))
            bar.update(len(row))
    return np.concatenate(found).reshape(n, m, -1)
