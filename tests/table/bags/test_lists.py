"""Lists of text are tags, lists of as many numbers are vectors; others are refused."""

import numpy as np
import pandas as pd
import pytest

from sasanet.errors import InvalidInputError, SasanetError
from sasanet.explanation.wording import cell_in_sentence
from sasanet.table.encoder import TableEncoder

TAGS = [["new", "sale"], [], None, ("sale",), {"new"}]
VECTORS = [[0.5, 1], np.array([1.5, 2.0]), None, (2.5, 3.0), [0.0, 0.0]]


def learned(values):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object), "n": np.arange(len(values))})
    encoder = TableEncoder().fit(frame)
    return encoder, encoder.transform(frame)


def test_tags_are_a_bag_whatever_their_order():
    encoder, cells = learned(TAGS)
    assert (encoder.columns[0].kind, cells.shape) == ("tags", (5, 4))  # two buckets are in use
    assert np.isnan(cells[2, [0, 2, 3]]).all()
    assert cells[1, 0] == 0  # no tags are not a missing cell
    assert (cells[1, 2:] == 0).all()
    np.testing.assert_array_equal(cells[0, 2:], cells[3, 2:] + cells[4, 2:])
    frame = pd.DataFrame({"x": [["sale", "new", "new"]], "n": [0]})
    np.testing.assert_array_equal(encoder.transform(frame), cells[:1])
    assert (cells[3, 2:] != cells[4, 2:]).any()  # the twin: another tag is another bucket


def test_vectors_are_their_numbers():
    encoder, cells = learned(VECTORS)
    assert encoder.columns[0].kind == "vectors"
    assert [part.knots for part in encoder.columns[0].parts] == [(0, 0.5, 1.5, 2.5), (0, 1, 2, 3)]
    assert cells[:, 0].tolist()[:2] == [1, 2]
    assert cells[:, 2].tolist()[3:] == [3, 0]


@pytest.mark.parametrize("values", [TAGS, VECTORS], ids=["tags", "vectors"])
def test_they_are_read_alone_and_survive_json(values):
    encoder, cells = learned(values)
    again = TableEncoder.from_dict(encoder.to_dict())
    assert again.columns == encoder.columns
    rows = [again.transform_row([value, j]) for j, value in enumerate(values)]
    np.testing.assert_array_equal(np.concatenate(rows), cells)


@pytest.mark.parametrize(
    "values",
    [[[1.0], [1.0, 2.0]], [[1.0], ["a"]], [[[1.0]], [[2.0]]], [[], [1.0]], [["a"], ["b", None]]],
    ids=["lengths", "kinds", "nested", "empty", "gaps"],
)
def test_lists_that_are_neither_are_refused_with_both_ways_out(values):
    with pytest.raises(InvalidInputError, match=r"Column 'x' must hold lists of text, .* got \["):
        learned(values)
    learned([[1.0], [2.0], None])  # the twin: equally many numbers


@pytest.mark.parametrize(
    ("trained", "cell"),
    [(TAGS, "new"), (TAGS, [1.0]), (VECTORS, [1.0]), (VECTORS, ["a", "b"]), (VECTORS, [1, np.inf])],
)
def test_other_cells_than_in_training_are_refused(trained, cell):
    encoder, _ = learned(trained)
    frame = pd.DataFrame({"x": pd.Series([cell], dtype=object), "n": [0]})
    with pytest.raises(InvalidInputError, match=r"must hold lists of .* as in training, got"):
        encoder.transform(frame)


@pytest.mark.parametrize("values", [[[1.0], [1.0, 2.0]], [["a"], [1]], [["a"], 3], [{"a": 1}]])
def test_lists_of_anything_else_are_refused(values):
    with pytest.raises(SasanetError, match="Column 'x'"):
        learned(values)


def test_they_read_well():
    texts = [cell_in_sentence(cell) for cell in (["new", "sale"], [], np.zeros(3))]
    assert texts == ["new, sale", "(none)", "a vector of 3 numbers"]
