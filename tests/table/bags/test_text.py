"""Free text is recognised, read in hashed words and pairs, and is one column like any other."""

import numpy as np
import pandas as pd
import pytest

from sasanet.errors import InvalidInputError
from sasanet.streaming.survey import Survey
from sasanet.table.bags import text
from sasanet.table.encoder import TableEncoder

WORDS = ["the", "lid", "came", "broken", "late", "we", "love", "this", "fine", "blue", "kettle"]


def letters(n=60, seed=0):
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(3, 9))) for _ in range(n)]


def frame(cells):
    return pd.DataFrame({"note": pd.Series(cells, dtype=object), "n": np.arange(len(cells))})


@pytest.fixture(scope="module")
def encoder():
    return TableEncoder().fit(frame([*letters(), None, ""]))


def test_a_column_of_sentences_is_text_and_one_of_levels_is_not(encoder):
    assert [column.kind for column in encoder.columns] == ["text", "number"]
    for cells in (
        ["unknown or none", "some or all"] * 40,  # long levels that repeat
        [f"id{j} b{j}" for j in range(80)],  # two words
        letters(12),  # too few rows to tell
        [*letters(), 5],
    ):
        assert TableEncoder().fit(frame(cells)).columns[0].kind == "category"
    categories = pd.DataFrame({"note": pd.Categorical(letters())})
    assert TableEncoder().fit(categories).columns[0].kind == "category"
    asked = TableEncoder(categorical_features=["note"]).fit(frame(letters()))
    assert asked.columns[0].kind == "category"


def test_words_and_pairs_have_cells_capitals_and_signs_do_not_matter(encoder):
    cells = encoder.transform(frame(["Love this KETTLE!", "love, this kettle", "kettle this love"]))
    np.testing.assert_array_equal(cells[0, 2:], cells[1, 2:])
    assert (np.isnan(cells[0]) != np.isnan(cells[2])).any()  # the twin: other pairs
    assert np.isfinite(cells[0, 2:]).sum() == len(text.buckets_of(["love", "this", "kettle"]))


def test_missing_empty_and_unseen_texts_differ(encoder):
    missing, empty, unseen = encoder.transform(frame([None, "", "xyzzy plugh frotz"]))
    assert np.isnan(missing[0])
    assert np.isnan(missing[2:]).all()
    assert empty[0] == 0
    assert np.isnan(empty[2:]).all()
    assert unseen[0] > 0
    with pytest.raises(InvalidInputError, match="must hold text as in training, got 5"):
        encoder.transform(frame([5]))


def test_a_row_alone_json_and_a_stream_give_the_same(encoder):
    cells = [*letters(), None, ""]
    again = TableEncoder.from_dict(encoder.to_dict())
    assert again.columns == encoder.columns
    whole = encoder.transform(frame(cells))
    rows = [again.transform_row([cell, j]) for j, cell in enumerate(cells)]
    np.testing.assert_array_equal(np.concatenate(rows), whole)
    survey = Survey.begin(["note", "n"], TableEncoder(), 0)
    other = Survey.begin(["note", "n"], TableEncoder(), 0)
    for one, part in ((survey, slice(0, 30)), (other, slice(30, None))):
        some = frame(cells)[part].reset_index(drop=True)
        one.add(some, pd.Series(np.ones(len(some))), np.ones(len(some)), 0)
    survey.merge(other)
    assert survey.learn(TableEncoder()).columns[0] == encoder.columns[0]


def test_rare_words_are_not_kept():
    cells = [*letters(), "a zebra in the kitchen"]
    kept = TableEncoder(min_level_count=2).fit(frame(cells)).columns[0]
    bucket = min(text.buckets_of(["zebra"]))
    assert bucket in text.known_buckets(TableEncoder().fit(frame(cells)).columns[0])
    assert bucket not in text.known_buckets(kept)


def test_what_is_lost_without_a_word():
    lost = text.without_each_word("not good not bad", 10)
    assert [*lost] == ["not", "good", "bad"]
    assert lost["good"] >= text.buckets_of(["good"])
    assert not lost["good"] & text.buckets_of(["not"])
    assert text.without_each_word(None, 10) == {}
