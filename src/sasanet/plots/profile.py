"""What features add when they come early or late in an order: a view of redundancy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.errors import InvalidInputError
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.wording import short_names
from sasanet.plots.axes import new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sasanet.estimator.sasanet import SASANetModel


def profile_data(
    model: SASANetModel, X: Any, output: str | None = None, row: int | None = None
) -> pd.DataFrame:
    """Return the position profile φ_{i,k} of every feature (Proposition 3.10), strongest first.

    A feature that others can replace adds much when it comes early and little when it comes late;
    one that works only together with others does the opposite.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        A fitted model.
    X : table (n, d)
        Rows.
    output : str, optional
        Which class, for multiclass.
    row : int, optional
        The position of one row; by default the mean over rows, each multiplied by the sign of its
        attribution (otherwise opposite rows would cancel).

    Returns
    -------
    DataFrame
        One line per feature: ``attribution``, and what it adds at positions from 0.0 (first) to
        1.0 (last) of an order.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(
    ...     X, y == "Gentoo"
    ... )
    >>> profile_data(model, X[:20]).shape
    (7, 9)
    """
    explanation, profiles = model.explain(X), model.profiles(X)
    if profiles.ndim == 4:
        explanation, k = _one_output(explanation, output)
        profiles = profiles[..., k]
    values = explanation.values
    if row is None:
        profiles = (profiles * np.sign(values)[..., None]).mean(axis=0)
        values = np.abs(values).mean(axis=0)
    else:
        one = explanation[row]  # refuses a row that does not exist
        values, profiles = one.values[0], profiles[row]
    positions = np.linspace(0, 1, profiles.shape[1]).round(3).tolist()
    data = pd.DataFrame(profiles, index=list(explanation.feature_names), columns=positions)
    data.insert(0, "attribution", values)
    return data.iloc[np.argsort(-np.abs(values), kind="stable")]


def _one_output(explanation: Explanation, output: str | None) -> tuple[Explanation, int]:
    if output is None:
        raise InvalidInputError(
            "A profile shows one output, got a model with the outputs "
            f"{list(explanation.output_names)}; choose one with output=…"
        )
    return explanation.output(output), explanation.output_names.index(str(output))


def plot_profile(
    model: SASANetModel,
    X: Any,
    output: str | None = None,
    row: int | None = None,
    top: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw what the strongest features add, from coming first to coming last.

    Parameters
    ----------
    model, X, output, row
        As for :func:`profile_data`.
    top : int
        How many features to show.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        A line of dots per feature: large and dark when it comes first, small and light when last;
        the vertical stroke is the attribution, their mean.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> ax = plot_profile(model, X[:20], output="Gentoo", top=3)
    >>> ax.get_xlabel().splitlines()[1]
    '4 weaker features are not shown'
    """
    data = profile_data(model, X, output, row)
    shown = data.iloc[:top]
    if ax is None:
        ax = new_axes((7.5, 0.36 * len(shown) + 1.5))
    heights = np.arange(len(shown))[::-1]
    _draw_points(ax, shown, heights)
    ax.axvline(0.0, color="0.5", lw=0.8, ls="--", zorder=0)
    ax.set_yticks(heights, short_names([str(name) for name in shown.index], 40))
    ax.set_ylim(-0.6, len(shown) - 0.4)
    rest = len(data) - len(shown)
    towards = "" if row is not None else ", towards its attribution"
    more = f"\n{rest} weaker features are not shown" if rest else ""
    ax.set_xlabel(f"what the feature adds{towards} ({model.target_.units}){more}")
    return tidy(ax, legend_above=True)


def _draw_points(ax: Axes, shown: pd.DataFrame, heights: NDArray[Any]) -> None:
    """Draw the points of every feature from first to last, and their mean."""
    points = shown.drop(columns="attribution").to_numpy()
    ax.hlines(heights, points.min(axis=1), points.max(axis=1), color="0.75", lw=1, zorder=1)
    ax.plot(shown["attribution"], heights, ls="", marker="|", ms=14, mew=1.6, color="black",
            zorder=2, label="attribution (their mean)")  # fmt: skip
    last = max(points.shape[1] - 1, 1)
    for k, column in enumerate(points.T):
        name = {0: "comes first", last: "comes last"}.get(k)
        ax.scatter(column, heights, s=60 - 46 * k / last, color=str(0.75 * k / last),
                   edgecolor="black", linewidth=0.5, zorder=3, label=name)  # fmt: skip
