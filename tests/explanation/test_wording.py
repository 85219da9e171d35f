"""How numbers, cells and names read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sasanet.explanation import wording


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.12345, "-0.123"),
        (999.4, "999"),
        (1234.5, "1234"),
        (-123_456_789.0, "-123456789"),
        (1e9, "1e+09"),
        (1e-5, "1e-05"),
    ],
)
def test_attributions_have_three_digits(number: float, text: str) -> None:
    assert wording.compact(number) == text
    assert wording.signed(number).replace("−", "-").removeprefix("+") == text


@pytest.mark.parametrize("value", [0.9996, 0.99991, -0.9995])
def test_a_measurement_next_to_one_is_not_rounded_to_it(value: float) -> None:
    assert wording.measured(value) not in {"1", "-1"}
    assert wording.compact(value) in {"1", "-1"}  # three digits alone would


@pytest.mark.parametrize("value", [math.nan, None])
def test_an_undefined_measurement_says_so(value: float | None) -> None:
    assert wording.measured(value) == "undefined"


def test_large_measurements_follow_the_width_of_their_column() -> None:
    assert wording.measured(1234567.0) == "1234567"
    assert wording.measured(1234567.0, separator=",") == "1,234,567"
    assert wording.measured(1234567.0, exponent_from=1e6) == "1.23e+06"


@pytest.mark.parametrize(
    ("cell", "shown", "said"),
    [
        ("a'b", "a'b", '"a\'b"'),
        (np.float32(0.1), "0.1", "0.1"),
        (1234567.0, "1.23457e+06", "1234567"),
        (np.int64(7), "7", "7"),
        (np.True_, "True", "True"),
    ],
)
def test_cells_in_tables_and_in_sentences(cell: Any, shown: str, said: str) -> None:
    assert wording.cell_text(cell) == shown
    assert wording.cell_in_sentence(cell) == said


def test_short_names_stay_different() -> None:
    names = [f"answer_to_question_number_{i}_of_the_survey" for i in range(20)]
    short = wording.short_names(names, 12)
    assert len({*short}) == 20
    assert max(map(len, short)) <= 12
    assert len({wording.shorten(name, 12) for name in names}) == 1  # each for itself would not
