"""The panel: labels of unseen rows only, expectations kept, and how clear the labels are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sasanet import SASANetClassifier
from sasanet.teachers import TeacherSettings, linear, panel, soften_labels, trees
from sasanet.teachers.data import TeacherData

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


def out_of_fold(cells, labels, weights):
    data = TeacherData(cells, labels, weights, LEVELS, 0)
    everything = np.ones(len(labels), dtype=bool)
    teachers = panel._make_panel(data)
    return panel._Rehearsal(data, everything, teachers, settings(), np.inf).out_of_fold()


def check_no_row_teaches_itself(cells, labels, weights):
    """No teacher's prediction of a row may depend on the row's own label."""
    moved = labels.copy()
    moved[7] += 100.0
    before, after = out_of_fold(cells, labels, weights), out_of_fold(cells, moved, weights)
    assert len(before) == 5
    for one, other in zip(before, after, strict=True):
        assert one[7] == other[7]
        assert not np.array_equal(one, other)  # of the others' labels it may


def test_no_row_is_predicted_by_teachers_that_saw_it(table):
    cells, _, labels, weights = table
    check_no_row_teaches_itself(cells, labels, weights)


@pytest.mark.parametrize("kind", [trees.Trees, panel.Linear, panel.Kernel])
def test_teachers_that_saw_the_row_are_noticed(table, monkeypatch, kind):
    cells, _, labels, weights = table
    original = kind.predict

    def learn_from_all(self, data, seen, unseen, seed, end=np.inf):
        return original(self, data, seen | unseen, unseen, seed, end)

    monkeypatch.setattr(kind, "predict", learn_from_all)
    with pytest.raises(AssertionError):
        check_no_row_teaches_itself(cells, labels, weights)


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


class Late:
    """A teacher that has no time for the rows after the first so many."""

    name, is_rough = "late", True

    def __init__(self, in_time):
        self.in_time = in_time

    def predict(self, data, seen, unseen, seed, end=np.inf):
        del seen, seed, end
        found = data.labels[unseen] * 0.5
        found[np.flatnonzero(unseen) >= self.in_time] = np.nan
        return found


def test_rows_without_a_prediction_in_time_keep_their_label(table, monkeypatch):
    cells, _, labels, weights = table
    monkeypatch.setattr(panel, "_make_panel", lambda _: [Late(240), Late(100)])
    found = soften_labels(cells, labels, weights, LEVELS, settings())
    assert (found.labels[:240] != labels[:240]).all()
    assert np.array_equal(found.labels[240:], labels[240:])
    assert len(found.panel) == 1  # the other one has fewer rows


def test_one_seed_gives_equal_labels(table):
    cells, _, labels, weights = table
    first, again = (
        soften_labels(cells, labels, weights, LEVELS, settings()).labels for _ in range(2)
    )
    np.testing.assert_array_equal(first, again)


def test_a_taught_model_keeps_no_tree(table):
    cells, _, labels, _ = table
    model = SASANetClassifier(random_state=0, max_epochs=2).fit(cells, labels > 1)
    assert not any("Booster" in type(value).__name__ for value in vars(model).values())
    base, values = model.base_value_[0], model.explain(cells).values
    np.testing.assert_allclose(base + values.sum(1), model.decision_function(cells), atol=1e-5)


def test_one_class_alone_teaches_nothing(table):
    cells, _, _, weights = table
    same = np.zeros(600)
    assert soften_labels(cells, same, weights, LEVELS, settings("binary")).labels is same


def test_several_threads_give_the_same_labels(table, monkeypatch):
    cells, _, labels, weights = table
    monkeypatch.setattr(panel, "_LARGE", 100)
    alone, together = (
        soften_labels(cells, labels, weights, LEVELS, replace(settings(), n_threads=n)).labels
        for n in (1, 3)
    )
    np.testing.assert_array_equal(alone, together)


def test_teachers_that_foresee_nothing_teach_nothing(table):
    cells, _, labels, weights = table
    noise = np.random.RandomState(1).randn(len(labels))
    found = soften_labels(cells, noise, weights, LEVELS, settings())
    assert found.clarity < 0.05


class Curve:
    """A teacher whose error is known: so much with all rows, twice as much with half of them."""

    name, is_rough = "curve", True

    def __init__(self, truth, error):
        self.truth, self.error = truth, error

    def predict(self, data, seen, unseen, seed, end=np.inf):
        del end
        scale = self.error * len(data.labels) * 0.8 / max(1, seen.sum())
        noise = np.random.RandomState(seed).randn(len(data.labels))
        return (self.truth + np.sqrt(scale) * noise)[unseen]


def weight_of(error, noise, n_rows=4000):
    random = np.random.RandomState(1)
    truth = random.randn(n_rows)
    labels, cells = truth + np.sqrt(noise) * random.randn(n_rows), random.randn(n_rows, 1)
    data = TeacherData(cells, labels, np.ones(n_rows), (None,), 0)
    everything = np.ones(n_rows, dtype=bool)
    teachers = [Curve(truth, error)]
    rehearsal = panel._Rehearsal(data, everything, teachers, settings(share=None), np.inf)
    return rehearsal.weight(rehearsal.out_of_fold(), [0], np.ones(1))


def test_the_weight_follows_noise_and_error():
    assert weight_of(error=0.0, noise=1.0) == 0.9
    assert weight_of(error=0.3, noise=0.01) == 0.4
    between = [weight_of(error, noise=1.0) for error in (0.05, 0.1, 0.2)]
    assert 0.9 > between[0] > between[1] > between[2] > 0.4
    # The formula itself, at the error that is there and the loss that it makes.
    error, own = 0.1 / 0.6, 4000 / 1300
    expected = (1.1 - error) / (1.1 - error + own * error)
    assert between[1] == pytest.approx(expected, abs=0.05)


def test_the_more_rows_the_more_the_labels_count():
    assert weight_of(0.1, 1.0, n_rows=8000) < weight_of(0.1, 1.0, n_rows=4000)


def test_a_weight_of_the_users_own_is_taken(table):
    cells, _, labels, weights = table
    found = soften_labels(cells, labels, weights, LEVELS, settings(share=None))
    assert 0.4 <= found.weight <= 0.9
    assert soften_labels(cells, labels, weights, LEVELS, settings(share=0.2)).weight == 0.2


def test_a_smooth_table_is_foreseen_by_smooth_teachers():
    random = np.random.RandomState(0)
    cells = random.randn(1500, 4).astype(np.float32)
    smooth = cells.sum(1) + random.randn(1500)
    rough = np.where((cells[:, 0] > 0) ^ (cells[:, 1] > 0.5), 4.0, 0) + 0.3 * random.randn(1500)

    def roughness(labels):
        return soften_labels(cells, labels, np.ones(1500), (None,) * 4, settings()).roughness

    assert roughness(smooth) < 0.2
    assert roughness(rough) > 0.8


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
    monkeypatch.setitem(trees._SETTINGS, "lambda_l2", 0.0)
    monkeypatch.setattr(panel, "_make_panel", lambda _: [trees.Trees(31, 0.1)])
    assert soften_labels(*rare).clarity < 0.5


def panel_error(knots):
    """Return the panel's error on products of normal columns whose cells are places."""
    random = np.random.RandomState(0)
    values = random.randn(3000, 3)
    truth = values[:, 0] * values[:, 1] + values[:, 2] ** 2
    rulers = np.quantile(values, np.linspace(0, 1, 64), axis=0).T
    places = [np.interp(v, ruler, np.arange(64)) for v, ruler in zip(values.T, rulers, strict=True)]
    labels = truth + random.randn(3000)
    given = (np.stack(places, 1), labels, np.ones(3000), (None,) * 3, settings(share=0.9))
    found = soften_labels(*given, rulers if knots else ())
    expected = (found.labels - 0.1 * labels) / 0.9
    return np.sqrt(np.mean((expected - truth) ** 2))


def test_products_are_of_values_and_not_of_places():
    assert panel_error(knots=True) < 0.5 * panel_error(knots=False)


def labels_with_judges(table, monkeypatch, share):
    """Return the soft labels before and after the label of one row, a judge by right, moves."""
    cells, _, labels, weights = table
    monkeypatch.setattr(panel, "_FEWEST_JUDGES", 10)
    monkeypatch.setattr(panel._Rehearsal, "weight", lambda *_: 0.5)
    judge = panel._judges(weights > 0, settings().seed)[0]
    moved = labels.copy()
    moved[judge] += 0.5
    found = [
        soften_labels(cells, y, weights, LEVELS, settings(share=share)) for y in (labels, moved)
    ]
    return found, judge


def test_the_network_never_learns_the_label_of_a_judge(table, monkeypatch):
    (before, after), judge = labels_with_judges(table, monkeypatch, share=None)
    assert judge in before.judges
    assert before.labels[judge] == before.foreseen[judge]
    # Only the weights of the teachers, which all rows choose together, move.
    assert after.labels[judge] == pytest.approx(before.labels[judge], abs=0.05)


def test_a_weight_of_the_users_own_leaves_no_judges(table, monkeypatch):
    (before, after), judge = labels_with_judges(table, monkeypatch, share=0.5)
    assert before.judges is None
    assert after.labels[judge] - before.labels[judge] == pytest.approx(0.25, abs=0.05)


def test_few_rows_judge_nobody():
    assert panel._judges(np.ones(999, dtype=bool), 0) is None
    assert len(panel._judges(np.ones(1_000, dtype=bool), 0)) == 100
    assert len(panel._judges(np.ones(50_000, dtype=bool), 0)) == 2_000


def test_trees_alone_teach_a_table_of_very_many_columns():
    def names(n_columns):
        cells = np.zeros((50, n_columns), dtype=np.float32)
        data = TeacherData(cells, np.zeros(50), np.ones(50), [None] * n_columns, 0)
        return [teacher.name for teacher in panel._make_panel(data)]

    assert names(501) == ["trees of 31 leaves"]
    assert "splines" in names(500)


def pairs_of_levels():
    """Return codes of four categories, and labels that only pairs of levels tell."""
    random = np.random.RandomState(0)
    cells = random.randint(1, 4, (900, 4)).astype(np.float32)
    truth = (cells[:, 0] == cells[:, 1]) - 1.0 * (cells[:, 2] == cells[:, 3])
    return cells, truth, truth + 0.5 * random.randn(900)


def error_of(teacher):
    cells, truth, labels = pairs_of_levels()
    data = TeacherData(cells, labels, np.ones(900), (4, 4, 4, 4), 0)
    seen = np.arange(900) < 700
    return np.mean((teacher.predict(data, seen, ~seen, 0) - truth[~seen]) ** 2)


def test_products_are_of_levels_too(monkeypatch):
    with_pairs, without = (error_of(panel.Linear(with_products=flag)) for flag in (True, False))
    assert with_pairs < 0.25 * without
    monkeypatch.setattr(linear, "_MOST_FACTORS", 11)  # twelve levels are too many
    assert error_of(panel.Linear(with_products=True)) == without
