"""A cell means the same whatever stands in the rows beside it: True is not 1."""

import itertools

import numpy as np
import pandas as pd
import pytest

from sasanet.table import reading
from sasanet.table.encoder import TableEncoder

MIXED = (True, 1, False, 0, "a", 1.0, np.True_, None)


def column(cells):
    return pd.DataFrame({"x": pd.Series(list(cells), dtype=object)})


def places_alone(encoder):
    return [encoder.transform(column([cell]), warn=False)[0, 0] for cell in MIXED]


def every_order_reads_alike():
    encoder = TableEncoder().fit(column([True, 1, "a", 0, False, "b"]))
    alone = places_alone(encoder)
    for order in itertools.islice(itertools.permutations(range(len(MIXED))), 0, None, 997):
        together = encoder.transform(column(MIXED[i] for i in order), warn=False)[:, 0]
        if not np.array_equal(together, [alone[i] for i in order], equal_nan=True):
            return False
    return True


def test_a_truth_or_a_number_is_read_alike_beside_any_other_cell():
    assert every_order_reads_alike()


def test_a_reader_that_takes_the_first_of_equal_cells_is_noticed(monkeypatch):
    monkeypatch.setattr(
        reading, "_tell_truth_from_numbers", lambda _, codes, values: (codes, values)
    )
    assert not every_order_reads_alike()


@pytest.mark.parametrize("cells", [[True, 1, "a"], [1, True, "a"], ["a", 1, True]])
def test_training_keeps_both_whichever_comes_first(cells):
    assert TableEncoder().fit(column(cells)).columns[0].levels == ("1", "True", "a")
