"""Which fits are warned of, and which have learned enough."""

import warnings
from dataclasses import replace

import pytest

from sasanet.errors import ShortFitWarning
from sasanet.estimator.fitting.checks import warn_if_short
from sasanet.training.loop import History, Phase

PHASE = Phase(name="value", loss=None, steps=20_000, batch_size=2_048, learning_rate=1e-3)


def ended_after(steps: int, n_rows: int, phase: Phase = PHASE) -> None:
    history = History([{"phase": "value", "steps": steps}])
    warn_if_short(history, phase, n_rows, time_limit=60.0)


def test_two_thousand_steps_are_enough_though_not_every_row_was_seen():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ended_after(2_000, n_rows=10**7)  # of 4,883 for every row once
        ended_after(20, n_rows=1_000, phase=replace(PHASE, steps=20))  # the end
    with pytest.warns(ShortFitWarning, match="after 1999 of 20000 steps, when 41% of the rows"):
        ended_after(1_999, n_rows=10**7)


def test_a_small_table_must_have_been_seen_once():
    with pytest.warns(ShortFitWarning, match="has hardly learned"):
        ended_after(90, n_rows=204_800, phase=replace(PHASE, steps=800))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ended_after(100, n_rows=204_800, phase=replace(PHASE, steps=800))
