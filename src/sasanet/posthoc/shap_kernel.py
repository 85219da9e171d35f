"""A value function in, the KernelSHAP of the ``shap`` package out, as an Explanation.

Sizes: n rows (one game each), d features, m coalitions, K outputs.

``shap.KernelExplainer`` hides features behind background rows. Here the game hides them, and shap
gets masks: its "row" is (1, …, 1), its "background" (0, …, 0). The same code then plays any game,
and no column needs a code. All rows share their coalitions, as n·K outputs of one model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from sasanet.arrays import Floats
from sasanet.errors import need_package
from sasanet.explanation.explanation import Explanation
from sasanet.posthoc.to_explanation import as_explanation
from sasanet.shapley.game import Game, ValueFunction
from sasanet.table.reading import read_table
from sasanet.validation import check_integer

_COALITIONS_A_TICK = 64  # of the progress bar


def kernel_shap(
    value: ValueFunction,
    X: Any,
    n_samples: int | None = None,
    output_names: Sequence[Any] = (),
    units: str = "model output",
    random_state: int = 0,
    verbose: bool = False,
) -> Explanation:
    """Return KernelSHAP attributions of a game, by ``shap.KernelExplainer`` with ``l1_reg=False``.

    shap's own default keeps ten features and sets the others to zero, which is no Shapley value;
    here every feature is kept. For the same estimator without shap, and with other ways to draw
    coalitions, see :func:`kernel_shapley`.

    Parameters
    ----------
    value : value function
        ``marginal_game(predict, X, background)`` for any model, which is the game shap plays by
        itself; ``game_of(model, X)`` for SASANet's own; or any function of masks.
    X : table (n, d)
        The rows the game is about.
    n_samples : int, optional
        Coalitions to value, 2d + 2048 by default (shap's "auto"); 2^d − 2 or more means all of
        them, and the result is exact.
    output_names : sequence
        Names of the outputs, such as ``model.classes_``; by default their positions.
    units : str
        What one unit of the values means.
    random_state : int
        Seed of the coalitions.
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    Explanation
        ``base_values + values.sum(axis=1)`` is v(N).

    Examples
    --------
    >>> from sasanet.posthoc import marginal_game
    >>> X = [[3.0, 5.0, 1.0]]
    >>> background = [[0.0, 0.0, 0.0], [2.0, 4.0, 6.0]]
    >>> game = marginal_game(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X, background)
    >>> kernel_shap(game, X).values.round(9)
    array([[ 6.,  5., -2.]])
    """
    shap = need_package("shap", "shap")
    d = read_table(X).shape[1]
    seed = check_integer("random_state", random_state, 0, 2**32 - 1, "give a fixed seed such as 0")
    most = 2 * d + 2**11
    if n_samples is not None:
        most = check_integer("n_samples", n_samples, 1, None, "leave it out for 2d + 2048")
    game = Game(value, d)
    bar = tqdm(desc="KernelSHAP", unit="coalitions", disable=not verbose)

    def worth(rows: NDArray[Any]) -> Floats:
        """Return v(S) − v(∅) of masks given as numbers, all games side by side: (m, n·K)."""
        found = []
        for start in range(0, len(rows), _COALITIONS_A_TICK):
            part = game(rows[start : start + _COALITIONS_A_TICK].astype(bool))
            found.append(part.transpose(1, 0, 2).reshape(part.shape[1], -1))
            bar.update(part.shape[1])
        return np.concatenate(found)

    with bar, _legacy_seed(seed):
        explainer = shap.KernelExplainer(worth, np.zeros((1, d)))
        phi = explainer.shap_values(np.ones((1, d)), nsamples=most, l1_reg=False, silent=True)
    n, outputs = game.empty.shape
    values = np.asarray(phi).reshape(d, n, outputs).transpose(1, 0, 2)
    return as_explanation(game.shaped(values), value, X, output_names, units)


@contextmanager
def _legacy_seed(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator, which shap draws from, and put it back as it was."""
    before = np.random.get_state()  # noqa: NPY002 - shap knows no other
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
