"""The package ``shap``'s own KernelSHAP on any game, to compare with.

Sizes: n rows (one game each), d features, m coalitions, K outputs.

``shap.KernelExplainer`` replaces hidden features by those of background rows. Here the game hides
them, and shap sees masks only: its row is (1, …, 1), its background (0, …, 0). This way it explains
any game, and no column needs a numeric code. All rows share their coalitions, as n·K outputs of one
model.
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
from sasanet.shapley.game import CheckedGame, ValueFunction
from sasanet.table.reading import read_table
from sasanet.validation import check_integer

_COALITIONS_PER_UPDATE = 64  # of the progress bar


def shap_kernel_explainer(
    value: ValueFunction,
    X: Any,
    n_coalitions: int | None = None,
    *,
    output_names: Sequence[Any] = (),
    units: str = "model output",
    random_state: int = 0,
    verbose: bool = False,
) -> Explanation:
    """Explain rows by the KernelSHAP of the package ``shap``, to compare with.

    It runs ``shap.KernelExplainer`` with ``l1_reg=False``: the default of shap sets all but ten
    features to zero, and the values are then no Shapley values. The same estimator without shap is
    :func:`~sasanet.posthoc.kernel_shap`.

    Parameters
    ----------
    value : value function
        The game of these rows: ``marginal_game(predict, X, background)``, which is the game of shap
        itself, ``game_of(model, X)`` or any function of masks.
    X : table (n, d)
        The rows that the game explains.
    n_coalitions : int, optional
        Coalitions to evaluate, the same ones for all rows; by default 2d + 2048, the "auto" of
        shap. 2^d − 2 or more means all of them, and the result is exact.
    output_names : sequence
        Names of the outputs, such as ``model.classes_``; by default their positions.
    units : str
        Unit of the values, such as "log-odds".
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
    >>> shap_kernel_explainer(game, X).values.round(9)
    array([[ 6.,  5., -2.]])
    """
    shap = need_package("shap", "shap")
    d = read_table(X).shape[1]
    seed = check_integer("random_state", random_state, 0, 2**32 - 1, "give a fixed seed such as 0")
    most = 2 * d + 2**11
    if n_coalitions is not None:
        most = check_integer("n_coalitions", n_coalitions, 1, None, "omit it for 2d + 2048")
    game = CheckedGame(value, d)
    bar = tqdm(desc="KernelSHAP", unit="coalitions", disable=not verbose)

    def gains(rows: NDArray[Any]) -> Floats:
        """Return v(S) − v(∅) for masks of 0 and 1, all games side by side: (m, d) → (m, n·K)."""
        found = []
        for start in range(0, len(rows), _COALITIONS_PER_UPDATE):
            part = game(rows[start : start + _COALITIONS_PER_UPDATE].astype(bool))
            found.append(part.transpose(1, 0, 2).reshape(part.shape[1], -1))
            bar.update(part.shape[1])
        return np.concatenate(found)

    with bar, _legacy_seed(seed):
        explainer = shap.KernelExplainer(gains, np.zeros((1, d)))
        phi = explainer.shap_values(np.ones((1, d)), nsamples=most, l1_reg=False, silent=True)
    n, outputs = game.empty.shape
    values = np.asarray(phi).reshape(d, n, outputs).transpose(1, 0, 2)
    phi = game.shaped(values)
    return as_explanation(phi, value, X, output_names=output_names, units=units)


@contextmanager
def _legacy_seed(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator, which shap draws from, and restore it afterwards."""
    before = np.random.get_state()  # noqa: NPY002 - shap uses no other
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
