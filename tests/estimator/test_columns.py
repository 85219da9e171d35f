"""One rule for columns in every method: by label where there are the labels of training."""

import numpy as np
import pandas as pd
import pytest

from sasanet import Architecture, SASANetClassifier
from sasanet.errors import InvalidInputError
from sasanet.table.reading import TableTypeError

TINY = Architecture(width=8, marginal_layers=(4,))
RANDOM = np.random.default_rng(0)
CELLS = RANDOM.normal(size=(200, 3))
Y = CELLS[:, 0] > CELLS[:, 1]


def fitted(labels):
    table = CELLS if labels is None else pd.DataFrame(CELLS, columns=labels)
    model = SASANetClassifier(TINY, random_state=0, max_epochs=20, teacher_weight=0)
    return model.fit(table, Y)


def answers(model, table):
    """Return what every method that reads a table says of it."""
    explanation = model.explain(table)
    d = CELLS.shape[1]
    return [
        model.predict_proba(table)[:, 1],
        model.decision_function(table),
        explanation.values,
        explanation.data.to_numpy(dtype=float),
        model.profiles(table),
        model.value(table, np.arange(d) < 2),
    ]


def check_same(model, table, other):
    for one, two in zip(answers(model, table), answers(model, other), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("labels", [list("abc"), [0, 1, 2], [5, 3, 9], ["0", "1", "2"]])
def test_a_changed_order_is_repaired_by_label(labels):
    model = fitted(labels)
    table = pd.DataFrame(CELLS, columns=labels)
    check_same(model, table, table.iloc[:, [2, 0, 1]])


def test_reading_by_position_where_there_are_labels_would_be_noticed():
    model, table = fitted([0, 1, 2]), pd.DataFrame(CELLS, columns=[0, 1, 2])
    with pytest.raises(AssertionError):
        check_same(model, table, table.iloc[:, [2, 0, 1]].to_numpy())


@pytest.mark.parametrize("labels", [None, [0, 1, 2], [5, 3, 9]])
def test_a_table_without_names_is_read_by_position(labels):
    model = fitted(labels)
    table = CELLS if labels is None else pd.DataFrame(CELLS, columns=labels)
    check_same(model, table, CELLS)
    check_same(model, table, pd.DataFrame(CELLS))


@pytest.mark.filterwarnings("ignore:X has feature names, but SASANetClassifier was fitted without")
def test_names_say_nothing_to_a_model_fitted_without():
    check_same(fitted(None), CELLS, pd.DataFrame(CELLS, columns=list("abc")))


@pytest.mark.parametrize("labels", [list("abd"), list("ab"), ["a", "b", "c", "d"], ["a", "b", "b"]])
def test_other_names_are_refused_by_every_method(labels):
    model, table = (
        fitted(list("abc")),
        pd.DataFrame(np.resize(CELLS, (200, len(labels))), columns=labels),
    )
    for ask in (model.predict, model.explain, model.profiles, lambda t: model.value(t, [])):
        with pytest.raises(InvalidInputError, match="feature names should match"):
            ask(table)


def test_labels_of_several_types_are_refused_before_training():
    with pytest.raises(TableTypeError, match="string names"):
        fitted(["x", 1, 2.5])


def test_another_number_of_columns_is_refused():
    for model in (fitted(None), fitted([5, 3, 9])):
        with pytest.raises(ValueError, match="expecting 3 features"):
            model.explain(CELLS[:, :2])
