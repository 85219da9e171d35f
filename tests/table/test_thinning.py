"""Fewer knots: some of those there were, and cells as the thin encoder reads the table itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sasanet.table.encoder import TableEncoder
from sasanet.table.thinning import recode, thin_knots

RANDOM = np.random.RandomState(0)
TABLE = pd.DataFrame(
    {
        "smooth": RANDOM.randn(2000),
        "spiked": np.where(RANDOM.rand(2000) < 0.4, 0.1, RANDOM.rand(2000)),
        "few": RANDOM.randint(0, 5, 2000),
        "word": RANDOM.choice(["a", "b"], 2000),
        "huge": RANDOM.choice([-1.7e308, 1.7e308, 0.0], 2000) * RANDOM.rand(2000),
    }
)
TABLE.loc[::7, "smooth"] = np.nan


@pytest.fixture(scope="module")
def fine():
    encoder = TableEncoder("knots", 128)
    return encoder, encoder.fit(TABLE).transform(TABLE)


def test_cells_are_those_the_thin_encoder_reads(fine):
    encoder, cells = fine
    thin = thin_knots(encoder, cells, 16)
    np.testing.assert_allclose(recode(cells, encoder, thin), thin.transform(TABLE), atol=2e-4)
    assert np.array_equal(np.isnan(recode(cells, encoder, thin)), TABLE.isna())


def test_knots_are_some_of_those_before_and_a_dominating_value_keeps_its_own(fine):
    encoder, cells = fine
    thin = thin_knots(encoder, cells, 16)
    for before, after in zip(encoder.columns, thin.columns, strict=True):
        assert set(after.knots) <= set(before.knots)
        assert len(after.knots) <= 16
        assert after.levels == before.levels
    assert 0.1 in thin.columns[1].knots
    assert thin.columns[0].knots[0] == TABLE["smooth"].min()
    assert thin.columns[0].knots[-1] == TABLE["smooth"].max()
    assert thin.columns[2] == encoder.columns[2]  # few knots stay


def test_cells_in_the_wrong_ruler_are_noticed(fine):
    encoder, cells = fine
    thin = thin_knots(encoder, cells, 16)
    assert np.nanmax(np.abs(cells - thin.transform(TABLE))) > 1  # not recoded
