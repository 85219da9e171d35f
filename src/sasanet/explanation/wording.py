"""Numbers, cells and names as text: the one place that decides how many digits are shown.

Two kinds of numbers are told apart. An attribution or a cell is read beside others, so a few digits
do. A measurement may be undefined, or so close to 1 that a few digits would say "perfect".
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.table.bags.calendar_names import MONTHS, WEEKDAYS

MISSING = "(missing)"
_LONGEST_TEXT = 200  # characters of a cell in a sentence
_NEGLIGIBLE = 1e-6  # of a row's strongest attribution: what rounding leaves of nothing


def compact(number: float) -> str:
    """Return three significant digits, without an exponent for everyday large numbers.

    Examples
    --------
    >>> compact(0.53124), compact(52170.4), compact(2e12)
    ('0.531', '52170', '2e+12')
    """
    return f"{number:.0f}" if 1000 <= abs(number) < 1e9 else f"{number:.3g}"


def signed(number: float) -> str:
    """Return a compact number with its sign, the minus as wide as the plus.

    Examples
    --------
    >>> signed(0.53124), signed(-2.25), signed(0.0)
    ('+0.531', '−2.25', '0')
    """
    sign = "+" if number > 0 else ""
    return wide_minus(f"{sign}{compact(number + 0.0)}")  # + 0.0 takes the sign off zero


def wide_minus(number: str) -> str:
    """Return a number's text with the typographic minus, which pages want and files do not."""
    return number.replace("-", "−")


def measured(value: float | None, separator: str = "", exponent_from: float = 1e9) -> str:
    """Return three significant digits of a measurement, five next to 1.

    Parameters
    ----------
    value : float or None
        NaN and None, which stands for NaN in JSON, read "undefined".
    separator : str
        Between thousands.
    exponent_from : float
        Where numbers are written with an exponent; lower for narrow columns.

    Examples
    --------
    >>> measured(0.0012345), measured(0.99991), measured(None)
    ('0.00123', '0.99991', 'undefined')
    >>> measured(52170.4, separator=","), measured(2e6, exponent_from=1e6)
    ('52,170', '2e+06')
    """
    if value is None or math.isnan(value):
        return "undefined"
    if 0.99 < abs(value) < 1:
        return f"{value:.5g}"
    if 1000 <= abs(value) < exponent_from:
        return f"{value:{separator}.0f}"
    return f"{value:.3g}"


def cell_text(cell: Any) -> str:
    """Return a cell as it stands in a table, numbers in at most six significant digits.

    Examples
    --------
    >>> cell_text(0.1 + 0.2), cell_text("clerk"), cell_text(True)
    ('0.3', 'clerk', 'True')
    >>> cell_text(dt.datetime(2026, 11, 15)), cell_text(dt.datetime(2026, 11, 15, 14, 30))
    ('2026-11-15', '2026-11-15 14:30')
    """
    if isinstance(cell, dt.date) and cell == cell:  # NaT is a date that differs from itself
        return cell.isoformat()[:10] + _clock(cell)
    if isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        return _list_text(cell)
    return f"{cell:.6g}" if isinstance(cell, float | np.floating) else str(cell)


def _list_text(cells: Any) -> str:
    """Return tags one after another, and of a vector how long it is."""
    if len(cells) and not isinstance(next(iter(cells)), str):
        return f"a vector of {len(cells)} numbers"
    texts = sorted(cells) if isinstance(cells, set | frozenset) else cells
    return ", ".join(map(str, texts)) or "(none)"


def _clock(day: dt.date) -> str:
    """Return the time of day after a space; nothing at midnight, where days begin."""
    if not isinstance(day, dt.datetime) or not (day.hour or day.minute or day.second):
        return ""
    return f" {day:%H:%M:%S}" if day.second else f" {day:%H:%M}"


def cell_in_sentence(cell: Any) -> str:
    """Return a cell as part of a sentence: text in quotes, numbers compact, days by name.

    Examples
    --------
    >>> cell_in_sentence("clerk"), cell_in_sentence(1169.0), cell_in_sentence(4)
    ("'clerk'", '1169', '4')
    >>> cell_in_sentence(dt.datetime(2026, 11, 15, 14, 30))
    'Sunday 15 November 2026, 14:30'
    """
    if isinstance(cell, dt.date) and cell == cell:
        day = f"{WEEKDAYS[cell.weekday()]} {cell.day} {MONTHS[cell.month - 1]} {cell.year}"
        return day + _clock(cell).replace(" ", ", ")
    if isinstance(cell, str):
        return repr(cell)
    if isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        return _list_text(cell)
    return compact(float(cell)) if isinstance(cell, float | np.floating) else str(cell)


def reason(
    feature: str,
    cell: Any,
    value: float,
    units: str,
    error: float | None,
    words: Sequence[str] = (),
) -> str:
    """Return one attribution as a sentence, ± its standard error where that is known.

    Of a text the words that drove it are named, of a long one without any its beginning and end.

    Examples
    --------
    >>> reason("age", 31, -0.25, "log-odds", error=0.02)
    'age = 31 lowers the log-odds by 0.25 ± 0.02'
    >>> reason("review", "It came broken.", -0.25, "log-odds", None, ["broken"])
    "review with 'broken' lowers the log-odds by 0.25"
    """
    amount = compact(abs(value)) + ("" if error is None else f" ± {compact(error)}")
    verb = "raises" if value > 0 else "lowers"
    if words:
        return f"{feature} with {', '.join(map(repr, words))} {verb} the {units} by {amount}"
    said = shorten(cell, _LONGEST_TEXT) if isinstance(cell, str) else cell
    return f"{feature} = {cell_in_sentence(said)} {verb} the {units} by {amount}"


@dataclass(frozen=True)
class Told:
    """What the sentences about all rows share, and what finds the words that drove a text."""

    names: Sequence[str]
    units: str
    output_names: Sequence[str] = ()
    driving: Callable[[int, str, float, int], Sequence[str]] | None = None


def strongest_reasons(
    told: Told,
    cells: Sequence[Sequence[Any]],
    present: NDArray[np.bool_],
    values: Floats,
    raw: Floats | None,
    k: int,
    errors: Floats | None = None,
) -> list[list[str]]:
    """Return sentences on the strongest attributions of every row, of classes for the likeliest.

    Shape: d lists of n cells, present [n, d], values and errors [n, d] or [n, d, C], raw [n, C].

    Examples
    --------
    >>> told = Told(("job", "age"), "log-odds")
    >>> known, phi = np.array([[True, True]]), np.array([[0.5, -0.25]])
    >>> strongest_reasons(told, [["clerk"], [31]], known, phi, None, k=1)
    [["job = 'clerk' raises the log-odds by 0.5"]]
    """
    n, outputs, units = np.arange(len(values)), [0] * len(values), [told.units] * len(values)
    if values.ndim == 3:
        assert raw is not None
        outputs = (top := raw.argmax(axis=1)).tolist()
        units = [f"{told.units} of {told.output_names[c]}" for c in outputs]
        values, errors = values[n, :, top], None if errors is None else errors[n, :, top]
    strength = np.where(present, np.abs(values), 0.0)
    strongest = np.argsort(-strength, axis=1, kind="stable")[:, :k]
    sizes = np.take_along_axis(strength, strongest, axis=1)
    counts = (sizes > _NEGLIGIBLE * sizes.max(axis=1, initial=0.0, keepdims=True)).sum(axis=1)

    def sentence(i: int, j: int) -> str:
        error = None if errors is None else float(errors[i, j])
        name, value = told.names[j], float(values[i, j])
        words = () if told.driving is None else told.driving(i, name, value, outputs[i])
        return reason(name, cells[j][i], value, units[i], error, words)

    pairs = zip(strongest.tolist(), counts.tolist(), strict=True)
    return [[sentence(i, j) for j in row[:count]] for i, (row, count) in enumerate(pairs)]


def shorten(text: str, length: int) -> str:
    """Return the text, cut in its middle when it is longer: both ends of a name tell.

    Examples
    --------
    >>> shorten("a name with many words", 12)
    'a name …ords'
    """
    if len(text) <= length:
        return text
    front = (length - 1) * 2 // 3
    return f"{text[:front]}…{text[len(text) - (length - 1 - front) :]}"


def short_names(names: Sequence[str], length: int) -> list[str]:
    """Return names that fit, without their common beginning where cutting would make them equal.

    Examples
    --------
    >>> short_names(["age", "a name with many words"], 12)
    ['age', 'a name …ords']
    >>> short_names(["question_of_a_survey_1_of_2", "question_of_a_survey_2_of_2"], 12)
    ['…1_of_2', '…2_of_2']
    """
    short = [shorten(name, length) for name in names]
    if len({*short}) == len({*names}):
        return short
    signs = enumerate(zip(*names, strict=False))
    begin = next((i for i, column in signs if len({*column}) > 1), 0)
    return [shorten(f"…{name[begin:]}", length) for name in names]


def directions_text(names: Sequence[str], directions: Iterable[int]) -> str:
    """Return in which columns an output only rises or falls; nothing if it does in none.

    Examples
    --------
    >>> directions_text(("age", "sex", "income"), (1, 0, -1))
    'only rises with age, only falls with income'
    """
    words = {1: "only rises with", -1: "only falls with"}
    pairs = zip(names, map(int, directions), strict=True)
    return ", ".join(f"{words[direction]} {name}" for name, direction in pairs if direction)
