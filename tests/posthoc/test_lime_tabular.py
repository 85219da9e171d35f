"""LIME: the used feature first, mixed tables, the local model's own sum and no other."""

import sys

import numpy as np
import pytest

from people import people
from sasanet.errors import InvalidInputError, MissingPackageError
from sasanet.posthoc import lime

pytest.importorskip("lime")


USES = {
    "age": lambda t: (t["age"] > 50).to_numpy() * 1.0,
    "income": lambda t: t["income"].isna().to_numpy() * 1.0,
    "city": lambda t: (t["city"] == "Rome").to_numpy() * 1.0,
    "size": lambda t: (t["size"] == "L").to_numpy() * 1.0,
    "member": lambda t: t["member"].to_numpy() * 1.0,
}


@pytest.mark.parametrize("feature", USES)
def test_the_only_used_feature_comes_first_in_every_row(feature):
    table = people(300)
    e = lime(USES[feature], table[:10], table, n_samples=1000)
    strongest = np.abs(e.values).argmax(axis=1)
    assert (strongest == table.columns.get_loc(feature)).all()


def test_the_sum_is_the_local_models_and_not_the_models_prediction():
    table = people(300)

    def predict(t):
        return np.exp(t["age"].to_numpy() / 20) * (1 + (t["city"] == "Rome").to_numpy())

    e = lime(predict, table[:5], table)
    assert e.units == "local model's output"
    assert "local model's output" in e.reasons(0)[0]
    assert np.abs(e.prediction - predict(table[:5])).max() > 1.0
    # One column of two values is linear in "same or not": ridge takes 1 of some thousand weights.
    linear = lime(USES["member"], table[:5], table)
    assert np.abs(linear.prediction - USES["member"](table[:5])).max() < 0.005


def test_it_is_limes_own_answer_on_a_table_of_levels():
    from lime.lime_tabular import LimeTabularExplainer

    codes = np.random.default_rng(0).integers(0, 3, (200, 4)).astype(float)

    def predict(cells):
        return cells[:, 0] * cells[:, 1] + cells[:, 2]

    theirs = LimeTabularExplainer(
        codes,
        mode="regression",
        categorical_features=range(4),
        feature_selection="none",
        discretize_continuous=False,
        random_state=0,
    ).explain_instance(codes[0], predict)
    e = lime(predict, codes[:1], codes)
    np.testing.assert_allclose(e.values[0], [w for _, w in sorted(theirs.local_exp[1])], atol=1e-9)
    np.testing.assert_allclose(e.prediction, theirs.local_pred, atol=1e-9)


def test_classes_are_explained_side_by_side():
    table = people(300)

    def predict(t):
        rome = USES["city"](t)
        return np.stack([0.8 * rome, 1 - 0.8 * rome], axis=1)

    e = lime(predict, table[:4], table, n_samples=500, output_names=["yes", "no"])
    assert e.values.shape == (4, 5, 2)
    np.testing.assert_allclose(e.output("yes").values, -e.output("no").values, atol=1e-9)
    assert e.output("yes").importance().index[0] == "city"


def test_a_row_is_explained_alike_alone_and_among_others():
    table = people(100)
    together = lime(USES["age"], table[:3], table, n_samples=200)
    alone = lime(USES["age"], table[2:3], table, n_samples=200)
    np.testing.assert_array_equal(together.values[2], alone.values[0])
    other = lime(USES["age"], table[2:3], table, n_samples=200, random_state=1)
    assert np.abs(other.values - alone.values).max() > 1e-6


def test_a_bar_is_shown_only_when_asked_for(capsys):
    table = people(50)
    for verbose in (False, True):
        lime(USES["age"], table[:2], table, n_samples=20, verbose=verbose)
        assert ("LIME" in capsys.readouterr().err) is verbose


def test_outputs_that_are_no_probabilities_are_refused():
    table = people(50)
    with pytest.raises(InvalidInputError, match="add up to 1, got"):
        lime(lambda t: np.ones((len(t), 2)), table[:2], table)


def test_without_lime_one_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "lime", None)
    with pytest.raises(MissingPackageError, match=r"'lime'.*sasanet\[lime\]"):
        lime(USES["age"], people(3), people(5))
