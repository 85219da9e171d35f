"""How the attribution of one feature depends on its value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.wording import MISSING, cell_text, shorten
from sasanet.intervals import Z
from sasanet.plots.axes import DARK, LIGHT, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BINS = 20
_FEWEST_ROWS = 5  # in a bin
_OTHERS = "(other levels)"
_COLUMNS = ["label", "x", "mean", "low", "high", "from", "to", "count"]


def dependence_data(
    explanation: Explanation,
    feature: str,
    *,
    top: int = 12,
    as_levels: bool | None = None,
) -> pd.DataFrame:
    """Return the attribution of one feature by its value: one line per bin or level.

    Parameters
    ----------
    explanation : Explanation
        Of one output.
    feature : str
        The feature's name.
    top : int
        How many levels of a category to show, the most frequent first; the rest is one line.
    as_levels : bool, optional
        Whether numbers are codes; by default a column of numbers or of times is cut into bins of
        equal count.

    Returns
    -------
    DataFrame
        ``label``; ``x``, the mean value in the bin (NaN for levels and missing cells); the ``mean``
        attribution with its 95 % interval, ``low`` and ``high``; the middle 80 % of the rows,
        ``from`` and ``to`` (how much the other features matter); ``count``.

    Examples
    --------
    >>> rows = pd.DataFrame({"job": ["cook", "cook", "clerk", None]})
    >>> e = Explanation([[1.0], [2.0], [-1.0], [0.0]], np.zeros(4), rows, ("job",))
    >>> dependence_data(e, "job")[["label", "mean", "count"]].values.tolist()
    [['cook', 1.5, 2], ['clerk', -1.0, 1], ['(missing)', 0.0, 1]]
    """
    if explanation.values.ndim != 2:
        raise InvalidInputError(
            "A dependence plot shows one output, got an explanation of "
            f"{explanation.values.shape[2]}; choose one with explanation.output(name)"
        )
    one = explanation[:, feature]
    column = one.data.iloc[:, 0].infer_objects()
    values = one.values[:, 0]
    present = column.notna().to_numpy()
    times = column.dtype.kind == "M"
    if as_levels is None:
        as_levels = not (_is_number(column) or times)
    if times and not as_levels:
        lines = _time_lines(column[present], values[present])
    elif as_levels:
        # A categorical column lists levels that no row has: only the cells themselves count.
        lines = _level_lines(column[present].astype(object).map(str), values[present], top)
    else:
        lines = _number_lines(column[present].to_numpy(dtype=np.float64), values[present])
    if not present.all():
        lines.append(_line(MISSING, np.nan, values[~present]))
    return pd.DataFrame(lines, columns=_COLUMNS)


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def plot_dependence(
    explanation: Explanation,
    feature: str,
    *,
    top: int = 12,
    as_levels: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how one feature's attribution depends on its value.

    Parameters
    ----------
    explanation, feature, top, as_levels
        As for :func:`dependence_data`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        The mean with its 95 % interval as error bars over the middle 80 % of the rows; missing
        cells, whose attribution is zero, at the end.

    Examples
    --------
    >>> rows = pd.DataFrame({"job": ["cook", "cook", "clerk", None]})
    >>> e = Explanation([[1.0], [2.0], [-1.0], [0.0]], np.zeros(4), rows, ("job",))
    >>> ax = plot_dependence(e, "job")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['cook (2)', 'clerk (1)', '(missing) (1)']
    """
    data = dependence_data(explanation, feature, top=top, as_levels=as_levels)
    numbers = data["x"].notna().any()
    if ax is None:
        ax = new_axes((6.0, 4.2 if numbers else 0.32 * len(data) + 1.5))
    name = shorten(feature, 60)
    if numbers:
        _draw_numbers(ax, data)
        ax.set_xlabel(name + _missing_note(data))
        ax.set_ylabel(f"attribution ({explanation.units})")
    else:
        _draw_levels(ax, data)
        ax.set_title(name, fontsize=10)
        ax.set_xlabel(f"attribution ({explanation.units})")
    return tidy(ax)


def _draw_numbers(ax: Axes, data: pd.DataFrame) -> None:
    curve = data[data["x"].notna()]
    x, mean = curve["x"].to_numpy(), curve["mean"].to_numpy()
    ax.fill_between(x, curve["from"], curve["to"], color=LIGHT, alpha=0.5, lw=0)
    ax.errorbar(
        x, mean, yerr=_interval_arms(curve), color=DARK, marker="o", ms=3.5, lw=1.4, capsize=2
    )
    ax.axhline(0.0, color="0.5", lw=0.8, ls="--")


def _draw_levels(ax: Axes, data: pd.DataFrame) -> None:
    heights = np.arange(len(data))[::-1]
    mean = data["mean"].to_numpy()
    ax.hlines(heights, data["from"], data["to"], color=LIGHT, lw=7)
    ax.errorbar(
        mean, heights, xerr=_interval_arms(data), color=DARK, marker="o", ms=5, ls="", capsize=2
    )
    ax.axvline(0.0, color="0.5", lw=0.8, ls="--")
    counts = zip(data["label"], data["count"], strict=True)
    ax.set_yticks(heights, [f"{shorten(label, 36)} ({count:,})" for label, count in counts])
    ax.set_ylim(-0.6, len(data) - 0.4)


def _interval_arms(data: pd.DataFrame) -> Floats:
    """Return how far the interval of the mean extends down and up: (2, lines)."""
    return np.stack([data["mean"] - data["low"], data["high"] - data["mean"]])


def _missing_note(data: pd.DataFrame) -> str:
    missing = int(data.loc[data["x"].isna(), "count"].sum())
    return f"  ({missing:,} of {int(data['count'].sum()):,} cells missing)" if missing else ""


def _number_lines(numbers: Floats, values: Floats) -> list[list[object]]:
    """Return one line per bin of similar numbers."""
    codes = _bin_codes(numbers)
    lines = []
    for code in np.unique(codes):
        inside = codes == code
        low = cell_text(numbers[inside].min())
        high = cell_text(numbers[inside].max())
        label = low if low == high else f"{low} to {high}"
        lines.append(_line(label, _middle(numbers[inside]), values[inside]))
    return lines


def _time_lines(times: pd.Series, values: Floats) -> list[list[object]]:
    """Return one line per bin of neighbouring times, in order."""
    codes, lines = _bin_codes(np.asarray(times.astype(np.int64), dtype=np.float64)), []
    for code in np.unique(codes):
        inside = times[codes == code]
        low, high = cell_text(inside.min()), cell_text(inside.max())
        label = low if low == high else f"{low} to {high}"
        lines.append(_line(label, np.nan, values[codes == code]))
    return lines


def _middle(numbers: Floats) -> float:
    """Return the mean of finite numbers, whose sum may exceed the largest float."""
    with np.errstate(over="ignore"):
        mean = float(numbers.mean())
    return mean if np.isfinite(mean) else float((numbers / len(numbers)).sum())


def _bin_codes(numbers: Floats) -> NDArray[np.intp]:
    """Return the bin of every number: bins of equal count, but a dominating value has its own."""
    distinct, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    if len(distinct) <= _BINS:
        return np.asarray(place)
    heavy = counts > len(numbers) / _BINS
    light = np.where(heavy, 0, counts)
    step = max(_FEWEST_ROWS, light.sum() / max(1, _BINS - heavy.sum()))
    # A new bin starts where the light values have filled one, and on both sides of a heavy one.
    filled = (np.cumsum(light) - light) // step
    starts = np.diff(filled, prepend=0) > 0
    starts |= heavy | np.append(False, heavy[:-1])
    return np.asarray(np.cumsum(starts)[place])


def _level_lines(names: pd.Series, values: Floats, top: int) -> list[list[object]]:
    """Return the most frequent levels, then all others together."""
    frequent = list(names.value_counts(sort=True).index[:top])
    lines = [_line(name, np.nan, values[(names == name).to_numpy()]) for name in frequent]
    rest = ~names.isin(frequent).to_numpy()
    return [*lines, _line(_OTHERS, np.nan, values[rest])] if rest.any() else lines


def _line(label: str, x: float, values: Floats) -> list[object]:
    mean = float(values.mean())
    half = Z * float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    low, high = np.quantile(values, [0.1, 0.9])
    return [label, x, mean, mean - half, mean + half, float(low), float(high), len(values)]
