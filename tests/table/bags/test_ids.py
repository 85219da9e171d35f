"""Ids of more levels than a table of vectors should hold: hashed, in bounded memory."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sasanet.errors import UniqueLevelsWarning
from sasanet.streaming.survey import Survey
from sasanet.table.bags import ids
from sasanet.table.encoder import TableEncoder

N = 300


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Let a hundred levels be many."""
    monkeypatch.setattr(ids, "MOST_LEVELS", 100)
    monkeypatch.setattr(ids, "N_FREQUENT", 40)


def frame(n=N, often=30):
    """Return ids that come once, and some that come three times."""
    names = [f"shop {j}" for j in range(n)] + [f"shop {j}" for j in range(often)] * 2
    return pd.DataFrame({"shop": names, "x": np.arange(float(len(names)))})


def test_many_levels_are_two_hashes_and_the_frequent_ones():
    column = TableEncoder().fit(frame()).columns[0]
    assert column.kind == "ids"
    assert [part.name for part in column.parts] == ["hash 1", "hash 2", "id"]
    assert set(column.parts[2].levels) == {f"shop {j}" for j in range(30)}
    most = TableEncoder().fit(frame(often=90)).columns[0]
    assert len(most.parts[2].levels) == 40
    assert TableEncoder().fit(frame(n=90)).columns[0].kind == "category"  # the twin: not many
    with pytest.warns(UniqueLevelsWarning, match="'x'"):
        coded = TableEncoder(categorical_features=["x"]).fit(frame())
    assert coded.columns[1].kind == "ids"  # numbers read as levels too


def test_unseen_and_missing_ids():
    encoder = TableEncoder().fit(frame())
    some = pd.DataFrame({"shop": ["shop 3", "shop 200", "new", None], "x": 0.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a hash no id is unseen
        cells = encoder.transform(some)
    assert np.isnan(cells[3, [0, 2, 3]]).all()
    assert (cells[:3, 0] >= 1).all()
    assert np.isfinite(cells[0, 3])
    assert np.isnan(cells[1:3, 3]).all()
    assert (cells[1, [0, 2]] != cells[2, [0, 2]]).any()
    alone = [encoder.transform_row(row) for row in some.to_dict("records")]
    np.testing.assert_array_equal(np.concatenate(alone), cells)


def test_ids_that_never_repeat_are_warned_of():
    with pytest.warns(UniqueLevelsWarning, match="'shop' should have ids that repeat"):
        column = TableEncoder().fit(frame(often=0)).columns[0]
    assert len(column.parts) == 2
    with warnings.catch_warnings():  # the twin
        warnings.simplefilter("error")
        TableEncoder().fit(frame())


def test_a_stream_and_json_give_the_same():
    table = frame()
    encoder = TableEncoder().fit(table)
    assert TableEncoder.from_dict(encoder.to_dict()).columns == encoder.columns
    survey = Survey.begin(["shop", "x"], TableEncoder(), 0)
    for start in (0, 200):
        some = table[start : start + 200].reset_index(drop=True)
        survey.add(some, pd.Series(np.ones(len(some))), np.ones(len(some)), start)
    assert survey.learn(TableEncoder()).columns[0] == encoder.columns[0]


def test_hashes_spread_and_do_not_depend_on_each_other():
    first, second = np.array([ids.buckets_of(f"{j}") for j in range(20_000)]).T
    for hashed in (first, second):
        assert np.bincount(hashed, minlength=ids.N_BUCKETS).max() < 25  # 5 on average
    assert len({*zip(first.tolist(), second.tolist(), strict=True)}) > 19_900  # 12 fewer expected
    assert len({*zip(first.tolist(), first.tolist(), strict=True)}) <= ids.N_BUCKETS  # the twin
