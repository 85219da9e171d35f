"""The scikit-learn face: what users pass in, what they get back, and what is refused."""

import itertools
import signal
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sasanet import ARCHITECTURES, Architecture, SASANetClassifier, SASANetRegressor
from sasanet.errors import (
    InterruptedFitWarning,
    InvalidInputError,
    UniqueLevelsWarning,
    UnknownLevelWarning,
)
from sasanet.training import phases
from training_rows import briefly

QUICK = {"max_epochs": 3, "teacher_weight": 0, "random_state": 0}


def mixed_table(n_rows=240, seed=0):
    random = np.random.RandomState(seed)
    table = pd.DataFrame(
        {
            "age": random.randint(18, 80, n_rows),
            "income": random.lognormal(10, 1, n_rows),
            "city": random.choice(["Oslo", "Rome", "Bonn"], n_rows),
            "grade": pd.Categorical(random.choice(list("abc"), n_rows), ordered=True),
            "member": random.rand(n_rows) < 0.5,
            "visits": pd.array(random.randint(0, 9, n_rows), dtype="Int64"),
        }
    )
    score = (table["age"] > 45).astype(int) + (table["city"] == "Rome") + table["member"]
    holes = random.rand(*table.shape) < 0.1
    return table.mask(holes), (score + random.rand(n_rows) > 1.8).astype(int).to_numpy()


@pytest.fixture(scope="module")
def fitted():
    X, y = mixed_table()
    return SASANetClassifier(**QUICK).fit(X, y), X, y


def test_a_mixed_table_with_holes_is_learned_predicted_and_explained(fitted):
    model, X, y = fitted
    shares = model.predict_proba(X)
    assert shares.shape == (240, 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert model.score(X, y) > 0.6
    assert model.explain(X).values.shape == (240, 6)
    assert list(model.feature_names_in_) == list(X.columns)


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [3, 7], ["a", "b", "c"]])
def test_classes_come_back_as_the_user_named_them(labels):
    X, y = mixed_table()
    y = np.array(labels)[(y + np.arange(240)) % len(labels)]
    model = SASANetClassifier(**QUICK).fit(X, y)
    assert set(model.predict(X)) <= set(labels)
    assert model.classes_.tolist() == sorted(labels)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_regression_learns_at_any_scale_of_the_target(scale):
    X, _ = mixed_table(400)
    y = scale * (X["age"].fillna(50).to_numpy() + 1e3)
    model = SASANetRegressor(random_state=0, max_epochs=20, teacher_weight=0).fit(X, y)
    assert model.score(X, y) > 0.7
    assert model.explain(X).base_values[0] == pytest.approx(y.mean(), rel=0.02)


def test_one_seed_gives_equal_weights_and_another_does_not(fitted):
    model, X, y = fitted
    twin = SASANetClassifier(**QUICK).fit(X, y)
    other = SASANetClassifier(**{**QUICK, "random_state": 1}).fit(X, y)
    for name, weight in model.network_.state_dict().items():
        assert torch.equal(weight, twin.network_.state_dict()[name]), name
    assert (model.predict_proba(X) != other.predict_proba(X)).any()


def test_no_global_seed_or_thread_count_is_touched():
    X, y = mixed_table(60)
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002 - the global generator is what is watched here
    expected, expected_numpy = torch.rand(3), np.random.rand(3)  # noqa: NPY002
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    threads = torch.get_num_threads()
    SASANetClassifier(**QUICK).fit(X, y).explain(X)
    assert torch.equal(torch.rand(3), expected)
    assert (np.random.rand(3) == expected_numpy).all()  # noqa: NPY002
    assert torch.get_num_threads() == threads


def test_value_of_nothing_is_the_base_value_and_of_everything_the_prediction(fitted):
    model, X, _ = fitted
    d = X.shape[1]
    assert (model.value(X, np.zeros(d, bool)) == model.base_value_[0]).all()
    np.testing.assert_allclose(model.value(X, np.ones(d, bool)), model.decision_function(X))
    assert (model.value(X, []) == model.base_value_[0]).all()


def test_value_takes_masks_for_all_rows_per_row_and_several_per_row(fitted):
    model, X, _ = fitted
    masks = np.random.RandomState(0).rand(len(X), 3, X.shape[1]) < 0.5
    many = model.value(X, masks)
    assert many.shape == (len(X), 3)
    np.testing.assert_allclose(many[:, 1], model.value(X, masks[:, 1]), atol=1e-6)
    one = model.value(X[:1], masks[0, 2])
    np.testing.assert_allclose(one, many[:1, 2], atol=1e-6)
    names = [name for name, there in zip(X.columns, masks[0, 0], strict=True) if there]
    np.testing.assert_allclose(model.value(X[:1], names), many[:1, 0], atol=1e-6)


def test_a_missing_cell_is_the_same_as_an_absent_player(fitted):
    model, X, _ = fitted
    gone = X.assign(age=np.nan)
    mask = np.array([name != "age" for name in X.columns])
    np.testing.assert_allclose(model.decision_function(gone), model.value(X, mask), atol=1e-6)
    assert (model.explain(gone)[:, "age"].values == 0).all()


def test_a_row_with_nothing_present_predicts_the_base_value(fitted):
    model, X, _ = fitted
    empty = X[:2].mask(np.ones((2, X.shape[1]), bool))
    assert (model.decision_function(empty) == model.base_value_[0]).all()
    assert (model.explain(empty).values == 0).all()


def test_columns_in_another_order_are_repaired_by_name(fitted):
    model, X, _ = fitted
    turned = X[X.columns[::-1]]
    assert (model.predict_proba(turned) == model.predict_proba(X)).all()
    explained = model.explain(turned)
    assert explained.feature_names == tuple(X.columns)
    assert (explained.values == model.explain(X).values).all()


def test_an_unknown_level_warns_once_and_still_predicts(fitted):
    model, X, _ = fitted
    strange = X[:5].assign(city=["Paris", "Rome", "Paris", "Lima", "Oslo"])
    with pytest.warns(UnknownLevelWarning, match="Paris") as caught:
        model.predict_proba(strange)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X, y: (X.drop(columns="age"), y), None),
        (lambda X, y: (X, np.where(np.arange(len(y)) == 3, np.nan, y)), "NaN"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X, np.zeros(len(y))), "at least two classes"),
        (lambda X, y: (X.assign(age=np.inf), y), "infinity"),
        (lambda X, y: (X.assign(day=pd.Timedelta(days=1)), y), "durations"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (pd.concat([X, X[["age"]]], axis=1), y), "unique"),
        (lambda X, _: (X, None), "requires y to be passed"),
        (lambda X, y: (X, np.linspace(0, 1, len(y))), "Unknown label type"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_in_one_sentence(change, sentence):
    X, y = change(*mixed_table(60))
    model = SASANetClassifier(**QUICK)
    if sentence is None:
        model.fit(X, y)
        return
    with pytest.raises(ValueError, match=sentence) as caught:
        model.fit(X, y)
    assert "\n" not in str(caught.value).strip() or "Unknown label" in str(caught.value)
    assert not hasattr(model, "network_")


def test_wrong_columns_at_predict_show_a_diff_of_names(fitted):
    model, X, _ = fitted
    with pytest.raises(InvalidInputError, match=r"(?s)- age.*\+ Age") as caught:
        model.predict(X.rename(columns={"age": "Age"}))
    assert "city" not in str(caught.value)


@pytest.mark.parametrize(
    "bad",
    [
        {"network": "transformer"},
        {"learning_rate": 0},
        {"batch_size": 0},
        {"batch_size": "large"},
        {"max_epochs": 1.5},
        {"validation_fraction": 1.0},
        {"time_limit": 0},
        {"device": "abacus"},
        {"patience": True},
    ],
)
def test_a_bad_parameter_is_named_with_its_value_at_fit_not_before(bad):
    X, y = mixed_table(60)
    model = SASANetClassifier(**{**QUICK, **bad})
    (name, value) = next(iter(bad.items()))
    with pytest.raises(InvalidInputError, match=name) as caught:
        model.fit(X, y)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    "coalitions", [np.ones(6), np.ones(5, bool), np.ones((3, 6), bool), ["age", "shoe size"]]
)
def test_bad_coalitions_are_refused(fitted, coalitions):
    model, X, _ = fitted
    with pytest.raises(InvalidInputError, match="coalitions must"):
        model.value(X, coalitions)


def test_sample_weights_count_rows():
    X, y = mixed_table(400)
    favoured = np.where(y == 1, 20.0, 1.0)
    plain = SASANetClassifier(**QUICK).fit(X, y)
    heavy = SASANetClassifier(**QUICK).fit(X, y, sample_weight=favoured)
    assert heavy.base_value_[0] > plain.base_value_[0] + 2
    assert heavy.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.2
    with pytest.raises(InvalidInputError, match="sample_weight"):
        SASANetClassifier(**QUICK).fit(X, y, sample_weight=-favoured)


def test_a_validation_part_may_be_passed_in():
    X, y = mixed_table(300)
    model = SASANetClassifier(**QUICK).fit(X[:200], y[:200], validation=(X[200:], y[200:]))
    assert all("validation_loss" in r for r in model.history_ if r["phase"] == "value")
    with pytest.raises(InvalidInputError, match="classes"):
        SASANetClassifier(**QUICK).fit(X[:200], y[:200], validation=(X[200:], y[200:] + 5))


@pytest.mark.parametrize("validation", [(1, 2, 3), (1,), [], 0, "ab", np.eye(2)])
def test_validation_is_a_pair_and_nothing_else_is_taken_for_one(validation):
    X, y = mixed_table(50)
    if isinstance(validation, tuple) and len(validation) == 3:
        validation = (X, y, y)  # not weights
    with pytest.raises(InvalidInputError, match="validation must be a pair"):
        SASANetClassifier(**QUICK).fit(X, y, validation=validation)


def test_it_works_in_pipelines_searches_and_cross_validation():
    X, y = mixed_table(120)
    steps = make_pipeline(FunctionTransformer(), SASANetClassifier(**QUICK))
    assert len(cross_val_score(steps, X, y, cv=2, error_score="raise")) == 2
    search = GridSearchCV(
        SASANetClassifier(**QUICK),
        {"network": ["set", Architecture(width=32)], "learning_rate": [1e-3]},
        cv=2,
        error_score="raise",
    )
    assert search.fit(X, y).best_estimator_.predict(X).shape == (120,)


def test_clone_forgets_what_was_learned(fitted):
    model, _, _ = fitted
    assert not hasattr(clone(model), "network_")
    assert clone(model).get_params() == model.get_params()


def test_there_are_at_most_eighteen_constructor_parameters():
    classifier, regressor = SASANetClassifier().get_params(), SASANetRegressor().get_params()
    assert max(len(classifier), len(regressor)) <= 18
    of_classes = {"class_weight": None}  # all that only a classifier has
    of_numbers = {"objective": "squared", "quantile": 0.5}  # all that only a regressor has
    assert classifier | of_numbers == regressor | of_classes


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_every_named_architecture_fits_and_adds_up(name):
    X, y = mixed_table(60)
    model = SASANetClassifier(briefly(name, 2), max_epochs=1, teacher_weight=0, random_state=0)
    model.fit(X, y)
    np.testing.assert_allclose(model.explain(X).prediction, model.decision_function(X), rtol=1e-9)


def test_sasanet_d_predicts_and_refuses_to_explain():
    X, y = mixed_table(60)
    for marginal in ("set", "sequence"):
        shape = Architecture(marginal=marginal, attribution="none")
        model = SASANetClassifier(shape, **QUICK).fit(X, y)
        assert model.predict(X).shape == (60,)
        with pytest.raises(InvalidInputError, match="SASANet-d"):
            model.explain(X)


def test_control_c_leaves_a_usable_model_with_a_warning(monkeypatch):
    X, y = mixed_table(400)
    steps, loss = itertools.count(), phases.value_batch_loss

    def interrupted(*arguments, **settings):
        if next(steps) == 100:
            signal.raise_signal(signal.SIGINT)
        return loss(*arguments, **settings)

    monkeypatch.setattr(phases, "value_batch_loss", interrupted)
    # A process started in the background ignores Ctrl-C, and so would this test.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        settings = {"max_epochs": 10_000, "patience": 10_000, "teacher_weight": 0}
        model = SASANetClassifier(**settings, random_state=0)
        with pytest.warns(InterruptedFitWarning, match="best state so far"):
            model.fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    assert next(steps) == 101
    assert model.score(X, y) > 0.6
    np.testing.assert_allclose(model.explain(X).prediction, model.decision_function(X))


@pytest.mark.filterwarnings("ignore::sasanet.errors.ShortFitWarning")  # so much was asked for
def test_a_time_limit_is_kept():
    X, y = mixed_table(400)
    network = Architecture(attribution="context", attribution_steps=100_000)
    model = SASANetClassifier(network, max_epochs=100_000, time_limit=0.5)
    model.fit(X, y)
    assert {r["phase"] for r in model.history_} == {"value", "attribution"}
    assert sum({r["phase"]: r["seconds"] for r in model.history_}.values()) < 2


def test_wide_tables_and_columns_of_many_levels_work():
    random = np.random.RandomState(0)
    wide = random.randn(60, 1_000)
    y = (wide[:, 0] > 0).astype(int)
    model = SASANetClassifier(max_epochs=1, teacher_weight=0).fit(wide, y)
    assert model.explain(wide[:5]).values.shape == (5, 1_000)
    many = pd.DataFrame({"id": [f"user {i}" for i in range(20_000)], "x": random.randn(20_000)})
    y = (many["x"] > 0).astype(int)
    model = SASANetClassifier(max_epochs=1, teacher_weight=0, batch_size=8_192)
    with pytest.warns(UniqueLevelsWarning, match="min_level_count=2"):
        model.fit(many, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownLevelWarning)  # a tenth was held out
        assert model.explain(many[:5]).values.shape == (5, 2)
