"""Which pairs of features add something together: a heat map, and a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.explanation.players import read_players
from sasanet.explanation.wording import short_names, signed
from sasanet.plots.axes import LIGHT, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sasanet.estimator.explaining import Groups
    from sasanet.estimator.sasanet import SASANetModel

_RED, _BLUE = "#b2182b", "#2166ac"
_WRITTEN = 12  # features, up to which every cell shows its number


def interactions_data(
    model: SASANetModel,
    X: Any,
    output: str | None = None,
    row: int | None = None,
    top: int = 12,
    groups: Groups | None = None,
) -> pd.DataFrame:
    """Return the interactions of the strongest features as a square table.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        A fitted model.
    X : table (n, d)
        Rows.
    output : str, optional
        Which class, or which quantile, where a model has several.
    row : int, optional
        The position of one row, shown with signs; by default the mean absolute value over rows.
    top : int
        How many features to show: those with the largest sum of absolute values.
    groups : dict of str to list of str, optional
        As in ``explain``: each group is one player among single columns.

    Returns
    -------
    DataFrame (top, top)
        Φ of ``model.interactions``: half of what a pair adds together off the diagonal, what a
        feature adds without any pair on it.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> interactions_data(model, X[:20], output="Gentoo", top=3).shape
    (3, 3)
    """
    values = one_output(model, model.interactions(X, groups=groups), output)
    players = read_players(groups, model.encoder_.names).names
    if row is None:
        values = np.abs(values).mean(axis=0)
    elif isinstance(row, int) and 0 <= row < len(values):
        values = values[row]
    else:
        raise InvalidInputError(f"row must be from 0 to {len(values) - 1}, got {row!r}.")
    shown = np.argsort(-np.abs(values).sum(axis=1), kind="stable")[:top]
    names = [players[j] for j in shown]
    return pd.DataFrame(values[np.ix_(shown, shown)], index=names, columns=names)


def one_output(model: SASANetModel, values: Floats, output: str | None) -> Floats:
    """Return the interactions of one output: (n, d, d)."""
    if values.ndim == 3:
        return values
    names = list(model.target_.output_names)  # classes, or quantiles
    if output is None or str(output) not in names:
        raise InvalidInputError(
            f"A plot of pairs shows one output, got output={output!r}; choose one of {names}"
        )
    return values[..., names.index(str(output))]


def plot_interactions(
    model: SASANetModel,
    X: Any,
    output: str | None = None,
    row: int | None = None,
    top: int = 12,
    groups: Groups | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw which pairs of features add something together, as a heat map.

    Parameters
    ----------
    model, X, output, row, top, groups
        As for :func:`interactions_data`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        One square per pair, the strongest features first. The diagonal is left white: what a
        feature adds without any pair would outshine the pairs.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> ax = plot_interactions(model, X[:20], output="Gentoo", top=3)
    >>> len(ax.get_yticklabels())
    3
    """
    data = interactions_data(model, X, output, row, top, groups)
    n = len(data)
    if ax is None:
        ax = new_axes((0.45 * n + 3.2, 0.45 * n + 2.2))
    pairs = data.to_numpy(copy=True)
    np.fill_diagonal(pairs, np.nan)
    largest = float(np.nanmax(np.abs(pairs), initial=0.0)) or 1.0
    low, colours = (0.0, "Blues") if row is None else (-largest, "RdBu_r")
    image = ax.imshow(pairs, cmap=colours, vmin=low, vmax=largest)
    names = short_names([str(name) for name in data.index], 24)
    ax.set_xticks(range(n), names, rotation=90)
    ax.set_yticks(range(n), names)
    if n <= _WRITTEN:
        _write_numbers(ax, pairs, largest)
    what = "mean absolute interaction" if row is None else "interaction"
    ax.figure.colorbar(image, ax=ax, label=f"half of the {what} ({model.target_.units})")
    return ax


def _write_numbers(ax: Axes, pairs: Floats, largest: float) -> None:
    """Write every number that is not small into its square."""
    for i, j in zip(*np.nonzero(np.abs(np.nan_to_num(pairs)) >= 0.2 * largest), strict=True):
        dark = abs(pairs[i, j]) > 0.6 * largest
        text = signed(pairs[i, j]).lstrip("+")
        ax.text(j, i, text, ha="center", va="center", fontsize=6, color="w" if dark else "k")


def interaction_network_data(
    model: SASANetModel,
    X: Any,
    output: str | None = None,
    row: int | None = None,
    top: int = 12,
    groups: Groups | None = None,
) -> pd.DataFrame:
    """Return the pairs that add most together, one line each, the strongest first.

    Parameters
    ----------
    model, X, output, row, groups
        As for :func:`interactions_data`.
    top : int
        How many pairs to show.

    Returns
    -------
    DataFrame
        ``feature``, ``other`` and ``interaction``: the whole Shapley interaction index, the mean
        absolute value over rows or, of one row, with its sign.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> interaction_network_data(model, X[:20], output="Gentoo", top=3).shape
    (3, 3)
    """
    square = interactions_data(model, X, output, row, len(model.encoder_.names), groups)
    first, second = np.triu_indices(len(square), 1)
    pairs = 2 * square.to_numpy()[first, second]
    order = np.argsort(-np.abs(pairs), kind="stable")[:top]
    names = square.index.to_numpy()
    found = {"feature": names[first[order]], "other": names[second[order]]}
    return pd.DataFrame({**found, "interaction": pairs[order]})


def plot_interaction_network(
    model: SASANetModel,
    X: Any,
    output: str | None = None,
    row: int | None = None,
    top: int = 12,
    groups: Groups | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the pairs that add most together as lines between features on a circle.

    Parameters
    ----------
    model, X, output, row, top, groups
        As for :func:`interaction_network_data`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        One line per pair, as wide as the pair is strong. Of one row red pairs raise the output and
        blue ones, dashed, lower it. Features without a line are left out.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> len(plot_interaction_network(model, X[:20], output="Gentoo", top=3).lines)
    3
    """
    data = interaction_network_data(model, X, output, row, top, groups)
    ax = new_axes((6.4, 5.2)) if ax is None else ax
    names = list(dict.fromkeys([*data["feature"], *data["other"]]))
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / max(1, len(names))
    places = dict(zip(names, np.stack([np.cos(angles), np.sin(angles)], 1), strict=True))
    largest = float(data["interaction"].abs().max()) or 1.0
    sizes = data["interaction"].to_numpy() / largest
    for i in range(len(data))[::-1]:  # the strongest lies on top
        size = float(sizes[i])
        colour = _BLUE if size < 0 else _RED if row is not None else LIGHT
        x, y = np.stack([places[data["feature"][i]], places[data["other"][i]]]).T
        style = "--" if size < 0 else "-"
        ax.plot(x, y, style, color=colour, lw=0.5 + 5.5 * abs(size), solid_capstyle="round")
    _write_names(ax, places)
    what = "mean absolute interaction" if row is None else "interaction of one row"
    width = f"{signed(largest).lstrip('+')} ({model.target_.units})"
    ax.set_title(f"widest line: {what} {width}", fontsize=9)
    return ax


def _write_names(ax: Axes, places: dict[str, Floats]) -> None:
    """Write every feature's name outside of its place on the circle."""
    for name, short in zip(places, short_names([*places], 24), strict=True):
        x, y = places[name]
        side = "center" if abs(x) < 0.2 else "left" if x > 0 else "right"
        ax.annotate(short, (1.08 * x, 1.08 * y), ha=side, va="center", fontsize=9)
    ax.set(xlim=(-1.9, 1.9), ylim=(-1.25, 1.25), aspect="equal")
    ax.set_axis_off()
