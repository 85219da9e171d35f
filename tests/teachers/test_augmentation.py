"""Rows mixed from two: what they are made of, and what teachers say of them."""

from __future__ import annotations

import numpy as np
import pytest

from sasanet.teachers import TeacherSettings, soften_labels
from sasanet.teachers.augmentation import by_row, how_many, mix_rows, mixed_share

RANDOM = np.random.default_rng(0)
CELLS = RANDOM.normal(size=(300, 5)).astype(np.float32)
CELLS[RANDOM.random(CELLS.shape) < 0.1] = np.nan


def check_mixed(mixed, cells):
    """Every row holds cells of its own row and of one other, each in its own column."""
    for place, row in enumerate(mixed):
        same = (row == cells) | (np.isnan(row) & np.isnan(cells))
        own = same[place % len(cells)]
        assert (own | same).all(1).any()


def test_a_mixed_row_has_cells_of_its_own_row_and_of_one_other():
    mixed = mix_rows(CELLS, 2, seed=0)
    assert mixed.shape == (600, 5)
    check_mixed(mixed, CELLS)
    own = mixed == np.tile(CELLS, (2, 1))
    assert 0.45 < own[~np.isnan(mixed)].mean() < 0.62
    shifted = mixed.copy()
    shifted[:, 1] = mixed[:, 2]  # the twin: a cell of another column
    with pytest.raises(AssertionError):
        check_mixed(shifted, CELLS)


def check_columns_stay_whole(mixed):
    """Both cells of the first column, the first and the last, come from one row."""
    np.testing.assert_array_equal(mixed[:, 0], mixed[:, -1])


def test_the_cells_of_a_column_go_together():
    cells = np.concatenate([CELLS, CELLS[:, :1]], axis=1)
    check_columns_stay_whole(mix_rows(cells, 2, seed=0, owners=[0]))
    with pytest.raises(AssertionError):  # the twin: as if it were a column of its own
        check_columns_stay_whole(mix_rows(cells, 2, seed=0))


def test_one_seed_mixes_the_same_rows():
    np.testing.assert_array_equal(mix_rows(CELLS, 1, seed=3), mix_rows(CELLS, 1, seed=3))
    assert not np.array_equal(
        mix_rows(CELLS, 1, seed=3), mix_rows(CELLS, 1, seed=4), equal_nan=True
    )


def test_the_rows_of_a_row_stand_together():
    grouped = by_row(np.tile(CELLS, (3, 1)), len(CELLS))
    assert grouped.shape == (300, 3, 5)
    np.testing.assert_array_equal(grouped[7], CELLS[[7, 7, 7]])


@pytest.mark.parametrize(
    ("shape", "count"),
    [((100, 4), 8), ((9_000, 4), 8), ((9_000, 400), 4), ((10_000, 4), 0), ((900, 20_000), 0)],
)
def test_large_tables_and_very_wide_ones_get_none(shape, count):
    assert how_many(np.broadcast_to(np.float32(0), shape)) == count


def test_mixed_rows_count_less_where_there_are_more_rows():
    assert mixed_share(500) == mixed_share(2_500) == 0.5
    assert mixed_share(10_000) == 0.25


SETTINGS = TeacherSettings("regression", None, np.inf, 1, 0)


def test_the_teachers_of_all_rows_label_the_mixed_ones():
    """Of a sum of columns they know the value of any combination of cells."""
    cells = RANDOM.uniform(-1, 1, (400, 2)).astype(np.float32)
    soft = soften_labels(cells, cells.sum(1).astype(float), np.ones(400), (None, None), SETTINGS)
    assert soft.mixed_cells.shape == (400, 8, 2)
    truth = soft.mixed_cells.sum(2)
    wrong = soft.mixed_labels - truth
    assert wrong.std() < 0.05 * truth.std()
    assert (soft.mixed_labels[::-1] - truth).std() > 0.5 * truth.std()  # other rows' labels


def test_classes_get_probabilities_of_each():
    classes = np.digitize(CELLS[:, 0], [-0.5, 0.5]).astype(float)
    settings = TeacherSettings("multiclass", None, np.inf, 1, 0)
    soft = soften_labels(CELLS, classes, np.ones(300), (None,) * 5, settings)
    assert soft.mixed_labels.shape == (300, 8, 3)
    np.testing.assert_allclose(soft.mixed_labels.sum(2), 1)


def test_without_time_there_are_none():
    hasty = TeacherSettings("regression", None, 1e-9, 1, 0)
    soft = soften_labels(CELLS, CELLS[:, 0] * 0 + 1.0, np.ones(300), (None,) * 5, hasty)
    assert soft.mixed_cells is None
