"""How one feature's attribution depends on its value and on a partner it interacts with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sasanet.explanation.wording import MISSING, cell_text, shorten
from sasanet.plots.axes import new_axes, tidy
from sasanet.plots.interactions import one_output
from sasanet.table.reading import read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sasanet.estimator.sasanet import SASANetModel

_LEVELS = 8  # of a partner that is a category, the most frequent first
_OTHERS = "(other levels)"


def partner_data(
    model: SASANetModel,
    X: Any,
    feature: str,
    partner: str | None = None,
    output: str | None = None,
) -> pd.DataFrame:
    """Return one feature's attribution in every row, beside the partner it interacts with most.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        A fitted model.
    X : table (n, d)
        Rows; all of their pairs are computed.
    feature : str
        The feature's name.
    partner : str, optional
        Another feature; by default the one with the largest mean absolute interaction.
    output : str, optional
        Which class, or which quantile, where a model has several.

    Returns
    -------
    DataFrame
        One line per row: ``value`` of the feature, its ``attribution``, ``partner_value`` and the
        ``interaction`` of the two, which is part of the attribution by half. The partner's name is
        in ``attrs["partner"]``.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> partner_data(model, X[:20], "bill_length_mm", "sex", output="Gentoo").shape
    (20, 4)
    """
    table = read_table(X)
    e = model.explain(table)
    e = e if output is None else e.output(output)
    place = e.feature_names.index(e[:, feature].feature_names[0])
    pairs = 2 * one_output(model, model.interactions(table), output)[:, place]
    pairs[:, place] = 0.0
    if partner is None:
        other = int(np.abs(pairs).mean(axis=0).argmax())
    else:
        other = e.feature_names.index(e[:, partner].feature_names[0])
    found = pd.DataFrame(
        {
            "value": e.data.iloc[:, place],
            "attribution": e.values[:, place],
            "partner_value": e.data.iloc[:, other],
            "interaction": pairs[:, other],
        }
    )
    found.attrs["partner"] = e.feature_names[other]
    return found


def plot_partner(
    model: SASANetModel,
    X: Any,
    feature: str,
    partner: str | None = None,
    output: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one feature's attribution by its value, coloured by its strongest partner.

    Parameters
    ----------
    model, X, feature, partner, output
        As for :func:`partner_data`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        One point per row in which the feature is known. Points of one height and different colours
        do not interact; where the colours part, the partner changes what the feature adds.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> plot_partner(model, X[:20], "bill_length_mm", output="Gentoo").get_xlabel()
    'bill_length_mm'
    """
    found = partner_data(model, X, feature, partner, output)
    data, name = found[found["value"].notna()], shorten(found.attrs["partner"], 40)
    ax = new_axes((6.4, 4.2)) if ax is None else ax
    x = _places(ax, data["value"])
    if _is_number(data["partner_value"]):
        known = data["partner_value"].notna().to_numpy()
        ax.scatter(x[~known], data["attribution"][~known], s=12, color="0.7")
        colours = data["partner_value"][known].to_numpy(dtype=np.float64)
        points = ax.scatter(x[known], data["attribution"][known], c=colours, s=14, cmap="viridis")
        ax.figure.colorbar(points, ax=ax, label=name)
    else:
        _scatter_levels(ax, x, data, name)
    ax.axhline(0.0, color="0.5", lw=0.8, ls="--")
    ax.set_xlabel(shorten(feature, 60))
    ax.set_ylabel(f"attribution ({model.target_.units})")
    return tidy(ax)


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _places(ax: Axes, values: pd.Series) -> Any:
    """Return where to draw values along the horizontal axis; levels are spread a little."""
    if _is_number(values):
        return values.to_numpy(dtype=np.float64)
    codes, levels = pd.factorize(values.map(cell_text), sort=True)
    ax.set_xticks(range(len(levels)), [shorten(str(level), 20) for level in levels], rotation=30)
    return codes + np.random.default_rng(0).uniform(-0.25, 0.25, len(codes))


def _scatter_levels(ax: Axes, x: Any, data: pd.DataFrame, name: str) -> None:
    """Draw the points of every level of the partner in a colour of its own."""
    missing = data["partner_value"].isna()
    levels = data["partner_value"].map(cell_text).astype(object).where(~missing, MISSING)
    kept = levels.value_counts().index[:_LEVELS]
    levels = levels.where(levels.isin(kept), _OTHERS)
    for level in dict.fromkeys([*kept, *levels]):
        part = (levels == level).to_numpy()
        if part.any():
            ax.scatter(x[part], data["attribution"][part], s=14, label=shorten(str(level), 24))
    ax.legend(title=name, frameon=False, fontsize=8)
