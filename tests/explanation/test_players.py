"""Groups of columns become players; what cannot be a group is refused in one sentence."""

import numpy as np
import pandas as pd
import pytest

from made_explanations import NAMES, assert_same, make
from sasanet.errors import InvalidInputError
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.players import read_players

GROUPS = {"person": ["income", "age"], "flag": ["flag"]}


def test_a_group_stands_where_its_first_column_stood():
    players = read_players(GROUPS, NAMES)
    assert players.names == ("person", "job", "flag")
    assert players.members == ((0, 3), (1,), (2,))
    assert players.groups == {"person": ("age", "income")}  # "flag" is just that column
    assert players.membership.sum(axis=0).tolist() == [1, 1, 1, 1]


def test_without_groups_every_column_plays_for_itself():
    assert read_players(None, NAMES).names == NAMES
    assert read_players({}, NAMES).membership.tolist() == np.eye(4, dtype=bool).tolist()


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        (["age"], "dict of lists"),
        ({"person": "age"}, "lists of column names"),
        ({"person": []}, "one column or more"),
        ({1: ["age"]}, "text as names"),
        ({"person": ["agee"]}, "'agee' in 'person'"),
        ({"a": ["age"], "b": ["age"]}, "in 'a' and 'b'"),
        ({"a": ["age", "age"]}, "in 'a' and 'a'"),
        ({"job": ["age", "income"]}, "rename the group"),
    ],
)
def test_what_is_no_group_is_refused(groups, says):
    with pytest.raises(InvalidInputError, match=says):
        read_players(groups, NAMES)


def test_a_group_shows_its_known_cells_and_is_missing_without_any():
    table = pd.DataFrame({"zip": [1234, None, None], "street": ["Main", "Side", None], "n": 1})
    shown = read_players({"address": ["zip", "street"]}, ["zip", "street", "n"]).frame(table)
    assert shown["address"].tolist() == ["zip=1234, street=Main", "street=Side", None]
    assert shown["n"].dtype == table["n"].dtype


@pytest.mark.parametrize("outputs", [(), ("a", "b", "c")])
def test_sums_of_members_add_up_and_say_what_they_are(outputs):
    e = make(outputs)
    sums = e.sum_of_members(GROUPS)
    np.testing.assert_allclose(sums.prediction, e.prediction, atol=1e-12)
    np.testing.assert_allclose(sums.values[:, 0], e.values[:, 0] + e.values[:, 3], atol=1e-12)
    assert (sums.values[:, 1] == e.values[:, 1]).all()
    assert sums.units == "log-odds (sums of members)"
    assert sums.error_std is None


def test_groups_survive_selection_and_files(tmp_path):
    sums = make().sum_of_members(GROUPS)
    assert sums.groups == {"person": ("age", "income")}
    assert sums[:2, ["job"]].groups == {}
    sums.save(tmp_path / "e.parquet")
    again = Explanation.load(tmp_path / "e.parquet")
    assert_same(again, sums)
    assert again.groups == sums.groups
