"""An explanation as a notebook shows it: some rows, each with its strongest attributions as bars.

The size is bounded whatever the table: a few rows, a few features of each, texts cut short. What is
left out is counted and summed, so that the numbers of a row still add up to its prediction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.explanation.notebook import MOST_CHARACTERS, Html, element, framed
from sasanet.explanation.wording import cell_text, compact, short_names, shorten, signed

if TYPE_CHECKING:
    from sasanet.explanation.explanation import Explanation

MOST_ROWS, MOST_FEATURES = 10, 12
_OPEN_ROWS = 4  # the others unfold by a click
_NAME, _CELL = 40, 28  # characters


@dataclass(frozen=True)
class _Row:
    """One row with one number per feature: of several classes, the predicted one's."""

    label: str
    output: str
    base: float
    prediction: float | None
    values: Floats
    errors: Floats | None
    cells: list[Any]

    def by_strength(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which features get a bar of their own, and which share the last one."""
        order = np.argsort(-np.abs(self.values), kind="stable")
        return order[:MOST_FEATURES], order[MOST_FEATURES:]

    def reach(self) -> float:
        """Return the length of the longest bar."""
        shown, rest = self.by_strength()
        lengths = np.abs([*self.values[shown], self.values[rest].sum()])
        return float(lengths[np.isfinite(lengths)].max(initial=0.0))


def explanation_html(e: Explanation) -> str:
    """Return an explanation as HTML without a script, at most 10 rows × 12 features."""
    rows = _rows(e[:MOST_ROWS])
    names, longest = short_names(e.feature_names, _NAME), max(map(_Row.reach, rows), default=0.0)
    cards = [_card(row, names, longest, i < _OPEN_ROWS) for i, row in enumerate(rows)]
    left = len(e) - len(rows)
    more = [element("p", f"… and {_count(left, 'more row')}", css="line muted")] if left else []
    return framed(*_header(e), element("div", *cards, css="rows"), *more)


def _header(e: Explanation) -> list[Html]:
    title = f"Explanation of {_count(len(e), 'row')} × {_count(e.shape[1], 'feature')}"
    units = element("span", f" in {shorten(e.units, MOST_CHARACTERS)}", css="muted")
    words = ["A prediction is the base value plus the attributions of all features."]
    if not e.complete:
        words = ["Some features were left out: these attributions do not add up to a prediction."]
    elif e.output_names:
        words.append("Attributions are those of the predicted class.")
    if e.error_std is not None:
        words.append("± is one standard error.")
    words.append("Bars share one scale.")
    return [
        element("div", title, units, css="title"),
        element("p", " ".join(words), css="line muted"),
    ]


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _rows(e: Explanation) -> list[_Row]:
    n, values, base, errors = np.arange(len(e)), e.values, e.base_values, e.error_std
    predictions = e.prediction if e.complete else None
    outputs = [""] * len(e)
    if e.output_names:
        # Without a prediction: the class that the remaining features say most about.
        strength = np.abs(values).sum(axis=1) if predictions is None else predictions
        top = strength.argmax(axis=1)
        outputs = [e.output_names[c] for c in top]
        values, base = values[n, :, top], base[n, top]
        errors = None if errors is None else errors[n, :, top]
        predictions = None if predictions is None else predictions[n, top]
    cells = [column.tolist() for _, column in e.data.items()]
    return [
        _Row(
            label=str(label),
            output=outputs[i],
            base=float(base[i]),
            prediction=None if predictions is None else float(predictions[i]),
            values=values[i],
            errors=None if errors is None else errors[i],
            cells=[column[i] for column in cells],
        )
        for i, label in enumerate(e.data.index)
    ]


def _card(row: _Row, names: list[str], longest: float, is_open: bool) -> Html:
    shown, rest = row.by_strength()
    lines = [_line(row, int(j), names[j], longest) for j in shown]
    if len(rest):
        lines.append(_rest_line(row, rest, longest))
    table = element("table", *lines, css="table")
    return element("details", _summary(row), table, css="row", is_open=is_open)


def _summary(row: _Row) -> Html:
    parts: list[str] = [element("b", shorten(f"row {row.label}", _NAME))]
    if row.output:
        arrow = " → " if row.prediction is not None else " · for "
        parts += [arrow, element("b", shorten(row.output, _NAME))]
    if row.prediction is not None:
        parts += [" · prediction ", element("b", _number(row.prediction))]
    base = element("span", " · base value ", _number(row.base), css="muted")
    return element("summary", *parts, base)


def _line(row: _Row, j: int, name: str, longest: float) -> Html:
    cell, value = row.cells[j], float(row.values[j])
    if _is_missing(cell):
        what = element("span", " missing", css="missing")
    else:
        text = cell_text(cell)
        title = shorten(text, MOST_CHARACTERS)
        what = element("span", f" = {shorten(text, _CELL)}", css="muted", title=title)
    error = "" if row.errors is None else f" ± {compact(float(row.errors[j]))}"
    figure = (_number(value, signed(value)), element("span", error, css="muted"))
    return _table_line(element("td", name, what, css="name"), value, longest, figure)


def _rest_line(row: _Row, rest: NDArray[np.intp], longest: float) -> Html:
    missing = sum(_is_missing(row.cells[j]) for j in rest)
    gone = f", {missing:,} of them missing" if missing else ""
    total = float(row.values[rest].sum())
    words = element("td", f"… and {len(rest):,} more{gone}: together", css="name muted")
    return _table_line(words, total, longest, (_number(total, signed(total)),))


def _table_line(label: Html, value: float, longest: float, figure: tuple[Html, ...]) -> Html:
    bar = element("td", _bar(value, longest))
    return element("tr", label, bar, element("td", *figure, css="number"))


def _bar(value: float, longest: float) -> Html:
    """Return a bar from the middle: to the right for what raises the output, else to the left."""
    half = 50 * abs(value) / longest if longest > 0 and np.isfinite(value) else 0.0
    if half == 0:
        return element("span", css="bar from-middle")
    place = f"left:{50 - half if value < 0 else 50:.2f}%;width:{half:.2f}%"
    inside = element("span", css="up" if value > 0 else "down", style=place)
    return element("span", inside, css="bar from-middle")


def _number(value: float, text: str = "") -> Html:
    """Return a number in a few digits, with all of them in the tooltip."""
    return element("span", text or signed(value).removeprefix("+"), title=repr(value))


def _is_missing(cell: Any) -> bool:
    return pd.api.types.is_scalar(cell) and bool(pd.isna(cell))
