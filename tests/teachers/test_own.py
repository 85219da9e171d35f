"""Teachers of the user's own: what they see, how they join, what is refused."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from sasanet import Architecture, SASANetClassifier, SASANetRegressor, load
from sasanet.errors import InvalidInputError, ShortFitWarning
from sasanet.table.target import read_classes, read_quantities
from sasanet.teachers import TeacherSettings, make_teachers, read_teachers, soften_labels
from sasanet.teachers.data import TeacherData
from sasanet.teachers.own import OwnTeacher

TINY = Architecture(width=8, marginal_layers=(8,), n_knots=8)
QUICK = {"random_state": 0, "max_epochs": 2}
N = 120


@pytest.fixture
def table():
    """A number, another with holes, and words; labels as numbers and as words."""
    random = np.random.RandomState(0)
    X = pd.DataFrame(
        {"size": random.rand(N), "age": random.rand(N), "town": random.choice(["a", "b"], N)}
    )
    X.loc[::10, "age"] = np.nan
    y = 50 + 20 * X["size"] + 5 * (X["town"] == "b") + random.randn(N)
    return X, y


def words_and_numbers(last):
    columns = (OneHotEncoder(handle_unknown="ignore"), ["town"]), (StandardScaler(), ["size"])
    return make_pipeline(make_column_transformer(*columns), last)


class Watcher(RegressorMixin, BaseEstimator):
    """A regressor that notes what it is given."""

    seen: list = []  # noqa: RUF012 - copies of it share what they saw
    predicted: list = []  # noqa: RUF012

    def fit(self, X, y):
        self.seen.append((X, y))
        return self

    def predict(self, X):
        self.predicted.append(X)
        return np.full(len(X), 60.0)


def soft(estimators, X, y, weights=None, with_panel=False, **fields):
    """Return softened labels of the size column, as the user's units have them."""
    weights = np.ones(len(y)) if weights is None else weights
    classes = y.dtype == object or y.dtype == bool
    target = (read_classes if classes else read_quantities)(y, weights)
    own = make_teachers(estimators, (X, y), np.ones(len(y), dtype=bool), target, weights)
    settings = {"weight": 0.5, "time_limit": np.inf, "n_threads": 1, "seed": 0} | fields
    teaching = TeacherSettings(task=target.task, own=own, with_panel=with_panel, **settings)
    cells = X[["size"]].to_numpy(dtype=np.float32)
    return target, soften_labels(cells, target.numbers, weights, (None,), teaching)


def test_the_labels_are_mixed_with_out_of_fold_predictions(table):
    X, y = table
    target, found = soft([words_and_numbers(LinearRegression())], X, y)
    truth = 50 + 20 * X["size"] + 5 * (X["town"] == "b")
    labels = target.to_raw(found.labels)
    assert np.mean((labels - truth) ** 2) < 0.5 * np.mean((y - truth) ** 2)
    assert [name for name, _ in found.panel] == ["Pipeline of LinearRegression"]


def check_no_row_teaches_itself(X, y):
    """No copy of a teacher predicts a row that it has learned from."""
    Watcher.seen.clear()
    Watcher.predicted.clear()
    soft([Watcher()], X, y)
    for (learned, _), predicted in zip(Watcher.seen, Watcher.predicted, strict=True):
        assert not set(learned.index) & set(predicted.index)
    assert sorted(i for rows in Watcher.predicted for i in rows.index) == list(X.index)


def test_no_row_is_predicted_by_a_teacher_that_saw_it(table):
    check_no_row_teaches_itself(*table)


def test_a_teacher_that_saw_the_row_is_noticed(table, monkeypatch):
    original = OwnTeacher.predict

    def learn_from_all(self, data, seen, unseen, seed, end=np.inf):
        return original(self, data, seen | unseen, unseen, seed, end)

    monkeypatch.setattr(OwnTeacher, "predict", learn_from_all)
    with pytest.raises(AssertionError):
        check_no_row_teaches_itself(*table)


def test_it_sees_the_users_table_and_labels(table):
    X, y = table
    Watcher.seen.clear()
    SASANetRegressor(TINY, teachers=Watcher(), teacher_weight=0.5, **QUICK).fit(X, y)
    rows, labels = Watcher.seen[0]
    assert list(rows.columns) == list(X.columns)
    pd.testing.assert_frame_equal(rows, X.loc[rows.index])
    np.testing.assert_array_equal(labels, y[rows.index])
    assert len(Watcher.seen) == 5
    assert all(len(rows) == N * 4 // 5 for rows, _ in Watcher.seen)


def test_a_table_without_names_stays_an_array(table):
    X, y = table
    Watcher.seen.clear()
    model = SASANetRegressor(TINY, teachers=Watcher(), teacher_weight=0.5, **QUICK)
    model.fit(X[["size", "age"]].to_numpy(), y)
    assert isinstance(Watcher.seen[0][0], np.ndarray)


def test_rows_that_stop_the_training_do_not_teach(table):
    X, y = table
    Watcher.seen.clear()
    fits = QUICK | {"validation_fraction": 0.25, "teacher_weight": 0.5}
    SASANetRegressor(TINY, teachers=Watcher(), **fits).fit(X, y)
    learned = set().union(*(rows.index for rows, _ in Watcher.seen))
    assert len(learned) == N * 3 // 4


def test_counts_stay_counts(table):
    """Counts that came back from standard scores would be slightly negative: Poisson refuses."""
    X, _ = table
    counts = np.random.RandomState(0).poisson(0.7, N)
    teacher = words_and_numbers(PoissonRegressor())
    SASANetRegressor(TINY, teachers=teacher, **QUICK).fit(X, counts)


def test_classes_by_their_labels_in_any_order(table):
    X, y = table
    words = np.where(y > y.median(), "Aye", "nay").astype(object)
    weighted = LogisticRegression(class_weight={"Aye": 1.0, "nay": 1.0})
    target, found = soft([words_and_numbers(weighted)], X, words)
    assert target.labels == ("Aye", "nay")
    assert np.corrcoef(found.labels, y)[0, 1] < np.corrcoef(words == "nay", y)[0, 1] < 0


class Backwards(ClassifierMixin, BaseEstimator):
    """A classifier that knows the middle class only, under classes in an order of its own."""

    def fit(self, X, y):
        del X
        self.classes_ = np.unique(y)[::-1]
        return self

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(1)]

    def predict_proba(self, X):
        return np.tile((self.classes_ == "b") * 0.8 + 0.1 * (self.classes_ != "b"), (len(X), 1))


def test_probabilities_go_to_the_classes_they_are_of(table):
    X, _ = table
    words = np.array(["a", "b", "b", "b", "c"], dtype=object)[np.arange(N) % 5]
    everything, ones = np.ones(N, dtype=bool), np.ones(N)
    target = read_classes(words, ones)
    teacher = make_teachers([Backwards()], (X, words), everything, target, ones)[0]
    data = TeacherData(np.zeros((N, 1)), target.numbers, ones, (None,), 3)
    found = teacher.predict(data, words != "c", everything, seed=0)
    np.testing.assert_allclose(found, np.tile([0.1, 0.8, 0.0], (N, 1)))  # it never saw a "c"


def test_the_panel_and_the_users_own_join(table):
    X, y = table
    _, found = soft([LinearRegression()], X[["size"]], y, with_panel=True)
    names = [name for name, _ in found.panel]
    assert names[-1] == "LinearRegression"
    assert "splines" in names
    assert soft([LinearRegression()], X[["size"]], y)[1].panel[0][1] == pytest.approx(1, abs=0.2)


def test_a_useless_teacher_gets_no_weight(table):
    X, y = table
    _, found = soft([DummyRegressor(), LinearRegression()], X[["size"]], y)
    weights = dict(found.panel)
    assert weights["LinearRegression"] > 0.8
    alone = soft([LinearRegression()], X[["size"]], y)[1]
    np.testing.assert_allclose(found.labels, alone.labels, atol=0.05)


def test_open_seeds_follow_the_fits(table):
    X, y = table
    forest = RandomForestRegressor(n_estimators=3)
    one, again, other = (soft([forest], X[["size"]], y, seed=seed)[1].labels for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_weights_reach_the_last_step_of_a_pipeline(table):
    X, y = table
    wild, weights = y.copy(), np.ones(N)
    wild[:20] += 1000
    weights[:20] = 1e-9
    weights[20] = 2.0
    teacher = make_pipeline(StandardScaler(), LinearRegression())
    calm, moved = (
        target.to_raw(found.labels)[30:]
        for target, found in (soft([teacher], X[["size"]], part, weights) for part in (y, wild))
    )
    np.testing.assert_allclose(calm, moved, atol=1e-3)


def test_clone_parameters_and_grid_search(table):
    X, y = table
    model = SASANetRegressor(TINY, teachers=words_and_numbers(LinearRegression()), **QUICK)
    assert "teachers__linearregression__fit_intercept" in model.get_params()
    copy = clone(model.set_params(teachers__linearregression__fit_intercept=False))
    assert copy.teachers is not model.teachers
    assert copy.teachers.steps[-1][1].fit_intercept is False
    both = clone(SASANetRegressor(teachers=["auto", LinearRegression()]))
    assert both.teachers[0] == "auto"
    search = GridSearchCV(model, {"teachers": ["auto", words_and_numbers(DummyRegressor())]}, cv=2)
    assert len(search.fit(X, y).cv_results_["params"]) == 2


def test_a_model_is_saved_without_its_teachers(table, tmp_path):
    X, y = table
    teachers = ["auto", words_and_numbers(LogisticRegression())]
    model = SASANetClassifier(TINY, teachers=teachers, **QUICK).fit(X, y > y.median())
    assert not hasattr(model.teachers[1].steps[-1][1], "coef_")  # what was fitted was a copy
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.teachers == "auto"
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_the_paper_network_is_taught_when_asked_to(table):
    X, y = table
    Watcher.seen.clear()
    network = Architecture(marginal="sequence", attribution="none", numbers="mlp", width=4)
    SASANetRegressor(network, teachers=Watcher(), **QUICK).fit(X[["size"]], y)
    assert Watcher.seen


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("trees", "must be 'auto', an estimator"),
        ([], "must be 'auto', an estimator"),
        (["auto", "auto"], "once"),
        (None, "must be scikit-learn estimators, got None"),
        ([3], "must be scikit-learn estimators, got 3"),
        (LinearRegression, "got the class LinearRegression"),
        (LogisticRegression(), "must be regressors, got LogisticRegression"),
    ],
)
def test_what_cannot_teach_is_refused(table, given, words):
    X, y = table
    with pytest.raises(InvalidInputError, match=words):
        SASANetRegressor(TINY, teachers=given, **QUICK).fit(X, y)


@pytest.mark.parametrize("given", [LinearRegression(), LinearSVC()])
def test_classes_need_probabilities(table, given):
    X, y = table
    with pytest.raises(InvalidInputError, match="classifiers with predict_proba"):
        SASANetClassifier(TINY, teachers=given, **QUICK).fit(X, y > 60)


def test_teachers_that_would_be_left_out_are_refused(table):
    X, y = table
    with pytest.raises(InvalidInputError, match="teacher_weight=0"):
        SASANetRegressor(TINY, teachers=[DummyRegressor()], teacher_weight=0, **QUICK).fit(X, y)


def test_weights_that_a_teacher_cannot_take_are_refused(table):
    X, y = table
    model = SASANetRegressor(TINY, teachers=KNeighborsRegressor(), **QUICK)
    with pytest.raises(InvalidInputError, match="KNeighborsRegressor; give another"):
        model.fit(X[["size"]], y, np.arange(N) + 1.0)
    model.fit(X[["size"]], y, np.full(N, 2.0))


def test_a_failure_names_the_teacher_and_the_remedy(table):
    X, y = table
    with pytest.raises(InvalidInputError, match=r"a LinearRegression that raised .*in a pipeline"):
        SASANetRegressor(TINY, teachers=LinearRegression(), **QUICK).fit(X, y)


class Unsure(Watcher):
    def predict(self, X):
        return np.full(len(X), np.nan)


class Wide(Watcher):
    def predict(self, X):
        return np.zeros((len(X), 2))


@pytest.mark.parametrize(("teacher", "words"), [(Unsure(), "NaN"), (Wide(), r"shape \(24, 2\)")])
def test_predictions_of_no_use_are_refused(table, teacher, words):
    X, y = table
    with pytest.raises(InvalidInputError, match=words):
        SASANetRegressor(TINY, teachers=teacher, **QUICK).fit(X, y)


def test_teachers_without_rows_or_time_are_warned_of(table):
    X, y = table
    model = SASANetClassifier(TINY, teachers=DummyClassifier(), **QUICK)
    with pytest.warns(ShortFitWarning, match="taught nothing"):
        model.fit(X[:30], y[:30] > 60)


def test_reading_keeps_the_order():
    one, two = DummyRegressor(), LinearRegression()
    assert read_teachers([one, "auto", two]) == (True, (one, two))
    assert read_teachers(one) == (False, (one,))


def test_without_time_a_fit_does_not_begin(table):
    X, y = table
    Watcher.seen.clear()
    everything, ones = np.ones(N, dtype=bool), np.ones(N)
    target = read_quantities(y, ones)
    teacher = make_teachers([Watcher()], (X, y), everything, target, ones)[0]
    data = TeacherData(np.zeros((N, 1)), target.numbers, ones, (None,), 0)
    found = teacher.predict(data, everything, everything, seed=0, end=time.monotonic() - 1)
    assert np.isnan(found).all()
    assert not Watcher.seen


def test_under_a_time_limit_the_users_own_are_timed(table):
    X, y = table
    Watcher.seen.clear()
    Watcher.predicted.clear()
    soft([Watcher()], X, y, time_limit=100.0)
    assert len(Watcher.seen[0][0]) == N  # the trial
    assert len(Watcher.seen) == 6


def test_the_network_may_teach_itself(table):
    X, y = table
    first = SASANetRegressor(TINY, teacher_weight=0, max_epochs=2)
    model = SASANetRegressor(TINY, teachers=["auto", first], **QUICK).fit(X, y)
    assert "SASANetRegressor" in model._repr_html_()
    base, values = model.base_value_[0], model.explain(X).values
    np.testing.assert_allclose(base + values.sum(1), model.predict(X), atol=1e-4)
