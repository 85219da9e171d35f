"""The teacher: labels of unseen rows only, expectations kept, and how clear the labels are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sasanet import SASANetClassifier
from sasanet.estimator import soft_labels
from sasanet.estimator.soft_labels import TeacherSettings, soften_labels

LEVELS = (None, None, 3)


def settings(task="regression", share=0.5, time_limit=np.inf):
    return TeacherSettings(task, share, time_limit, n_threads=1, seed=0)


@pytest.fixture
def table():
    """Two numbers, one of them with holes, and a category; the truth is known."""
    random = np.random.RandomState(0)
    cells = np.column_stack([random.rand(600), random.rand(600), random.randint(0, 3, 600)])
    truth = 2 * cells[:, 0] + (cells[:, 2] == 1)
    cells[random.rand(600) < 0.1, 1] = np.nan
    return cells.astype(np.float32), truth, truth + random.randn(600), np.ones(600)


def test_mixed_labels_are_closer_to_the_truth(table):
    cells, truth, labels, weights = table
    found = soften_labels(cells, labels, weights, LEVELS, settings())
    assert found.labels.shape == labels.shape
    assert np.mean((found.labels - truth) ** 2) < 0.5 * np.mean((labels - truth) ** 2)


def check_no_row_teaches_itself(labels_of, labels):
    """A row's mixed label may depend on its own label only through the label's share."""
    moved = labels.copy()
    moved[7] += 100.0
    difference = labels_of(moved)[7] - labels_of(labels)[7]
    assert difference == pytest.approx(0.5 * 100.0, rel=1e-6)


def test_no_row_is_marked_by_trees_that_saw_it(table):
    cells, _, labels, weights = table
    check_no_row_teaches_itself(
        lambda y: soften_labels(cells, y, weights, LEVELS, settings()).labels, labels
    )


def test_trees_that_saw_the_row_are_noticed(table, monkeypatch):
    cells, _, labels, weights = table

    def fit_on_all(trees, *_, **__):
        return original(trees, *everything)

    original = soft_labels.HistGradientBoostingRegressor.fit
    monkeypatch.setattr(soft_labels.HistGradientBoostingRegressor, "fit", fit_on_all)
    monkeypatch.setitem(soft_labels._TREES, "early_stopping", False)
    monkeypatch.setitem(soft_labels._TREES, "max_iter", 60)
    monkeypatch.setitem(soft_labels._TREES, "min_samples_leaf", 1)
    everything = [cells, labels]

    def labels_of(y):
        everything[1] = y
        return soften_labels(cells, y, weights, LEVELS, settings()).labels

    with pytest.raises(AssertionError):
        check_no_row_teaches_itself(labels_of, labels)


def test_two_classes_get_a_probability(table):
    cells, truth, labels, weights = table
    classes = (labels > 1).astype(float)
    found = soften_labels(cells, classes, weights, LEVELS, settings("binary", 0.5))
    assert ((found.labels >= 0) & (found.labels <= 1)).all()
    assert (np.abs(found.labels - classes) <= 0.5).all()
    assert np.corrcoef(found.labels, truth)[0, 1] > np.corrcoef(classes, truth)[0, 1]


def test_more_classes_get_one_each_even_a_rare_one(table):
    cells, _, labels, weights = table
    classes = np.digitize(labels, [0.5, 1.5]).astype(float)
    classes[:2] = 3  # two rows: some folds' trees never see this class
    found = soften_labels(cells, classes, weights, LEVELS, settings("multiclass")).labels
    assert found.shape == (600, 4)
    np.testing.assert_allclose(found.sum(1), 1)
    assert (found[np.arange(600), classes.astype(int)] >= 0.5).all()


def test_the_clarity_is_the_share_that_can_be_foreseen(table):
    cells, truth, labels, weights = table
    clean = soften_labels(cells, truth, weights, LEVELS, settings()).clarity
    noisy = soften_labels(cells, labels, weights, LEVELS, settings()).clarity
    noise = np.random.RandomState(1).randn(600)
    assert 0.9 < clean <= 0.99
    assert abs(noisy - truth.var() / labels.var()) < 0.1
    assert soften_labels(cells, noise, weights, LEVELS, settings()).clarity < 0.05


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_the_clarity_of_classes_is_of_their_entropy(table, task):
    cells, truth, _, weights = table
    classes = (truth > 1).astype(float) + (task == "multiclass") * (truth > 2)
    assert soften_labels(cells, classes, weights, LEVELS, settings(task)).clarity > 0.7
    shuffled = np.random.RandomState(0).permutation(classes)
    assert soften_labels(cells, shuffled, weights, LEVELS, settings(task)).clarity < 0.05


def test_rows_without_weight_do_not_teach(table):
    cells, _, labels, weights = table
    light = weights.copy()
    light[300:] = 0
    wild = labels.copy()
    wild[300:] = 1e3
    calm = soften_labels(cells, labels, light, LEVELS, settings()).labels[:300]
    np.testing.assert_allclose(
        soften_labels(cells, wild, light, LEVELS, settings()).labels[:300], calm
    )


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_too_few_rows_or_no_share_leave_labels_as_they_are(table, share):
    cells, _, labels, weights = (part[:30] if share else part for part in table)
    found = soften_labels(cells, labels, weights, LEVELS, settings(share=share))
    assert found.labels is labels
    assert found.clarity == 0


def test_one_row_of_a_class_is_not_enough(table):
    cells, _, _, weights = table
    classes = (np.arange(600) == 5).astype(float)
    assert soften_labels(cells, classes, weights, LEVELS, settings("binary")).labels is classes


def test_without_time_labels_stay(table):
    cells, _, labels, weights = table
    assert soften_labels(cells, labels, weights, LEVELS, settings(time_limit=0.0)).labels is labels


def test_time_that_runs_out_leaves_the_rest_unmarked(table, monkeypatch):
    cells, _, labels, weights = table
    now = iter(range(100))
    monkeypatch.setattr(soft_labels.time, "monotonic", lambda: float(next(now)))
    # Every fold looks at this clock five times: two of the five begin in time.
    found = soften_labels(cells, labels, weights, LEVELS, settings(time_limit=8.0))
    assert np.mean(found.labels != labels) == pytest.approx(0.4)
    assert 0 < found.clarity < 1


def test_one_seed_gives_equal_labels(table):
    cells, _, labels, weights = table
    first, again = (
        soften_labels(cells, labels, weights, LEVELS, settings()).labels for _ in range(2)
    )
    np.testing.assert_array_equal(first, again)


def test_a_taught_model_keeps_no_tree(table):
    cells, _, labels, _ = table
    model = SASANetClassifier(random_state=0, max_epochs=2).fit(cells, labels > 1)
    assert not any("Gradient" in type(value).__name__ for value in vars(model).values())
    base, values = model.base_value_[0], model.explain(cells).values
    np.testing.assert_allclose(base + values.sum(1), model.decision_function(cells), atol=1e-5)


def test_one_class_alone_teaches_nothing(table):
    cells, _, _, weights = table
    same = np.zeros(600)
    assert soften_labels(cells, same, weights, LEVELS, settings("binary")).labels is same


def test_several_threads_give_the_same_labels(table, monkeypatch):
    cells, _, labels, weights = table
    alone = soften_labels(cells, labels, weights, LEVELS, settings()).labels
    monkeypatch.setattr(soft_labels, "_LARGE", 100)
    together = soften_labels(
        cells, labels, weights, LEVELS, replace(settings(), n_threads=3)
    ).labels
    np.testing.assert_array_equal(alone, together)


def test_trees_that_foresee_nothing_teach_nothing(table):
    cells, _, labels, weights = table
    noise = np.random.RandomState(1).randn(len(labels))
    found = soften_labels(cells, noise, weights, LEVELS, settings())
    assert found.clarity == 0
    assert np.array_equal(found.labels, noise)


@pytest.fixture
def rare():
    """Return 20,000 rows of which 49 are of the second class, and foreseeable."""
    random = np.random.RandomState(0)
    cells = random.randn(20_000, 8).astype(np.float32)
    labels = (cells[:, 0] + cells[:, 1] + 0.5 * random.randn(20_000) > 4.2).astype(float)
    return cells, labels, np.ones(20_000), (None,) * 8, settings("binary")


def test_a_rare_class_does_not_make_the_trees_run_wild(rare):
    assert soften_labels(*rare).clarity > 0.5


def test_trees_without_restraint_run_wild_and_do_not_teach(rare, monkeypatch):
    monkeypatch.setitem(soft_labels._TREES, "l2_regularization", 0)
    assert soften_labels(*rare).clarity == 0
