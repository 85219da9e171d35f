"""One pass over a table: the columns that an encoder would learn from all of it, in any parts."""

import numpy as np
import pandas as pd
import pytest

from sasanet.errors import InvalidInputError, UniqueLevelsWarning
from sasanet.streaming import levels
from sasanet.streaming.survey import Survey
from sasanet.table.encoder import TableEncoder

RANDOM = np.random.default_rng(0)
N = 3_000
TABLE = pd.DataFrame(
    {
        "real": RANDOM.normal(size=N),
        "whole": RANDOM.integers(0, 9, N),
        "text": RANDOM.choice(["b", "a", "c"], N),
        "truth": RANDOM.random(N) < 0.5,
        "code": RANDOM.choice([3.0, 10.0, np.nan], N),
        "kind": pd.Categorical(RANDOM.choice(["low", "high"], N), ["low", "high", "never"]),
        "nothing": np.full(N, None),
    }
)
TABLE.loc[::3, "real"] = np.nan


def close(found, expected):
    """Two encoders are the same, but for the rounding of means over parts."""
    for mine, other in zip(found.columns, expected.columns, strict=True):
        pairs = [(c.name, c.kind, c.levels, c.seen, len(c.knots)) for c in (mine, other)]
        assert pairs[0] == pairs[1]
        np.testing.assert_allclose(mine.knots, other.knots, rtol=1e-12)
        np.testing.assert_allclose([mine.mean, mine.std], [other.mean, other.std], rtol=1e-9)
    assert found.named == expected.named


def surveyed(table, encoder, parts=7, labels=None):
    survey = Survey.begin(list(table.columns), encoder, 0)
    labels = pd.Series(np.arange(len(table)) % 3) if labels is None else labels
    for rows in np.array_split(np.arange(len(table)), parts):
        survey.add(table.iloc[rows], labels.iloc[rows], np.ones(len(rows)), int(rows[0]))
    return survey


@pytest.mark.parametrize("fields", [{}, {"min_level_count": 5}, {"n_knots": 16}])
def test_the_columns_are_those_an_encoder_learns_from_the_whole_table(fields):
    settings = {"n_knots": 64, "categorical_features": ["code"]} | fields
    whole = TableEncoder(**settings).fit(TABLE)
    survey = surveyed(TABLE, TableEncoder(**settings))
    close(survey.learn(TableEncoder(**settings)), whole)


def test_two_workers_find_what_one_finds():
    encoder = TableEncoder()
    one, two = surveyed(TABLE[:1000], encoder), surveyed(TABLE[1000:], encoder)
    one.merge(two)
    whole = TableEncoder().fit(TABLE)
    close(one.learn(TableEncoder()), whole)
    assert one.n_rows == N


def test_numbers_that_turn_out_to_be_text_are_read_as_a_whole_table_would_be():
    table = pd.DataFrame({"a": pd.Series([1, 2, 2, "x", "y", 3], dtype=object)})
    found = surveyed(table, TableEncoder(), parts=3).learn(TableEncoder())
    assert found.columns == TableEncoder().fit(table).columns


def test_text_after_many_numbers_is_refused():
    table = pd.DataFrame({"a": pd.Series([*RANDOM.random(20_000), "x"], dtype=object)})
    with pytest.raises(InvalidInputError, match="'a' must hold either numbers or text"):
        surveyed(table, TableEncoder(), parts=20)


def test_ids_that_never_repeat_keep_no_level(monkeypatch):
    monkeypatch.setattr(levels, "MOST_LEVELS", 100)
    table = pd.DataFrame({"id": [f"id {i}" for i in range(1_000)]})
    survey = surveyed(table, TableEncoder(), parts=20)
    with pytest.warns(UniqueLevelsWarning, match="'id' should have ids that repeat"):
        found = survey.learn(TableEncoder())
    assert [part.name for part in found.columns[0].parts] == ["hash 1", "hash 2"]


def test_labels_are_counted_by_class_and_numbers_by_their_moments():
    text = pd.Series(["no", "yes", "no", "no"] * 10)
    names, mass, rows = surveyed(TABLE[:40], TableEncoder(), 3, text).target.summary()
    assert dict(zip(names.tolist(), mass, strict=True)) == {"no": 30, "yes": 10}
    assert rows.tolist() == mass.tolist()
    real = pd.Series(RANDOM.normal(size=N))
    assert float(surveyed(TABLE, TableEncoder(), 3, real).target.moments.mean) == pytest.approx(
        real.mean()
    )
    with pytest.raises(InvalidInputError, match="y must not have missing labels"):
        surveyed(TABLE[:40], TableEncoder(), 3, pd.Series([None, "a"] * 20))


def test_too_many_classes_are_refused():
    many = pd.Series([f"class {i}" for i in range(10_500)])
    table = pd.DataFrame({"a": np.arange(10_500.0)})
    with pytest.raises(InvalidInputError, match="at most 10,000 classes"):
        surveyed(table, TableEncoder(), 3, many).target.summary()


def test_dates_are_learned_in_parts_by_any_number_of_workers():
    days = pd.Series(pd.date_range("2024-01-01", periods=900, freq="7h")).sample(
        900, random_state=0
    )
    table = pd.DataFrame({"day": days.reset_index(drop=True), "n": np.arange(900.0)})
    table.loc[::13, "day"] = pd.NaT
    whole = TableEncoder().fit(table)
    one, two = surveyed(table[:400], TableEncoder()), surveyed(table[400:], TableEncoder())
    one.merge(two)
    found = one.learn(TableEncoder())
    assert found.columns[0].kind == "dates"
    for part, other in zip(found.columns[0].parts, whole.columns[0].parts, strict=True):
        assert (part.name, set(part.levels)) == (other.name, set(other.levels))
        np.testing.assert_allclose(part.knots, other.knots, rtol=1e-9)
    plain = surveyed(table[:400].assign(day="x"), TableEncoder())
    with pytest.raises(InvalidInputError, match="'day' must hold one kind of cells"):
        plain.merge(surveyed(table[400:], TableEncoder()))
