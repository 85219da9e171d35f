"""Cohorts keep every row once; differences between two of them add up to that of their scores."""

import numpy as np
import pandas as pd
import pytest

from made_explanations import CLASSES, make, table
from sasanet.errors import InvalidInputError
from sasanet.explanation.cohorts import holm
from sasanet.explanation.explanation import Explanation


def test_every_row_is_in_one_cohort():
    e = make()
    found = e.cohorts("job")
    assert {name: len(part) for name, part in found.items()} == {
        "clerk": 4,
        "cook": 4,
        "pilot": 3,
        "(missing)": 1,
    }
    labels = [label for part in found.values() for label in part.data.index]
    assert sorted(labels) == sorted(e.data.index)
    assert (found["cook"].data["job"] == "cook").all()


def test_many_numbers_are_cut_at_their_quartiles():
    e = make(data=table(40))
    found = e.cohorts("age")
    assert sorted(map(len, found.values())) == [1, 9, 10, 10, 10]  # one is missing
    assert {name for name in found if name.startswith("0 to")}
    few = make(data=table(12).assign(age=[1.0, 2.0] * 6)).cohorts("age")
    assert {*few} == {"1", "2"}


@pytest.mark.parametrize("kind", ["datetime64[s]", "datetime64[ns, Europe/Rome]", "object"])
def test_many_dates_are_cut_at_their_quartiles_in_their_order(kind):
    days = pd.Series(pd.date_range("2026-01-30", periods=40, freq="12h"))
    zoned = days.dt.tz_localize("Europe/Rome") if "Rome" in kind else days
    dates = days.dt.date.astype(object) if kind == "object" else zoned.astype(kind)
    data = table(40)
    e = make(data=data.assign(age=dates[::-1].set_axis(data.index)).set_axis(["same"] * 40))
    found = e.cohorts("age")
    assert sorted(map(len, found.values())) == [10, 10, 10, 10]
    last = next(part for name, part in found.items() if " to 2026-02-18" in name)
    assert set(last.data["income"].fillna(4000)) == {1000 * i for i in range(10)}  # from the end
    few = make(data=data.assign(age=dates.iloc[:2].tolist() * 20)).cohorts("age")
    assert len(few) == (1 if kind == "object" else 2)  # the twin: each day is a cohort


def test_labels_of_ones_own():
    e = make()
    found = e.cohorts(np.arange(12) < 5)
    assert {name: len(part) for name, part in found.items()} == {"False": 7, "True": 5}
    np.testing.assert_array_equal(found["True"].values, e.values[:5])
    for by, says in (([1, 2], "one label for each of 12 rows"), (3, "one label for each")):
        with pytest.raises(InvalidInputError, match=says):
            e.cohorts(by)
    with pytest.raises(InvalidInputError, match="at most 100 cohorts"):
        make(data=table(120)).cohorts([f"id {i}" for i in range(120)])
    with pytest.raises(InvalidInputError, match="no feature 'jbo'"):
        e.cohorts("jbo")


def test_differences_add_up_to_that_of_the_predictions():
    e = make()
    one, other = e[:6], e[6:]
    found = one.compare(other)
    gap = one.prediction.mean() - other.prediction.mean()
    np.testing.assert_allclose(found["difference"].sum(), gap, atol=1e-12)
    with pytest.raises(AssertionError):  # the twin: importances do not
        np.testing.assert_allclose(found["importance"].sum(), gap, atol=1e-12)
    assert found["difference"].abs().is_monotonic_decreasing
    turned = other.compare(one).loc[found.index]
    np.testing.assert_allclose(turned["difference"], -found["difference"])
    np.testing.assert_allclose(turned["low"], -found["high"])


def test_intervals_hold_what_they_promise():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": np.zeros(40)})
    inside = 0
    for _ in range(400):
        values = rng.normal(size=(80, 1))
        values[:40] += 1.0
        e = make(data=pd.concat([data, data], ignore_index=True))
        e = type(e)(values, np.zeros(80), e.data, e.feature_names)
        found = e[:40].compare(e[40:]).loc["a"]
        inside += found["low"] <= 1.0 <= found["high"]
    assert 0.92 < inside / 400 < 0.98


def test_what_cannot_be_compared_is_refused():
    e = make()
    with pytest.raises(InvalidInputError, match="choose one with output"):
        make(CLASSES).compare(make(CLASSES))
    with pytest.raises(InvalidInputError, match="same features and units"):
        e.compare(e[:, ["job"]])
    with pytest.raises(InvalidInputError, match="Two rows or more"):
        e[:1].compare(e)
    gone = make(CLASSES).output(CLASSES[0])
    with pytest.raises(InvalidInputError, match="same features and units"):
        e.compare(gone)  # other units


# --- drift ------------------------------------------------------------------------------------


def of_values(values):
    data = pd.DataFrame(np.zeros(values.shape)).add_prefix("f")
    return Explanation(values, np.zeros(len(values)), data, tuple(data.columns))


def false_alarms(n_trials):
    """Return how often any of twenty unchanged features is called drifted, adjusted and raw."""
    rng = np.random.default_rng(0)
    tables = (rng.normal(size=(120, 20)) for _ in range(n_trials))
    found = [of_values(values[:60]).drift(of_values(values[60:])) for values in tables]
    return (np.mean([(drift[kind] <= 0.05).any() for drift in found])
            for kind in ("adjusted", "p_value"))  # fmt: skip


def test_unchanged_tables_are_rarely_called_drifted():
    adjusted, raw = false_alarms(60)
    assert adjusted < 0.107  # 0.05, and two standard errors of 60 trials
    assert raw > 0.4  # the twin: without care for twenty tests


def test_what_moved_is_found_and_its_shift_measured():
    values = np.random.default_rng(1).normal(size=(600, 4))
    one, other = of_values(values[:300]), of_values(values[300:] + np.eye(4)[1])
    found = one.drift(other)
    assert found.index[0] == "f1"
    assert found["drifted"].tolist() == [True, False, False, False]
    assert abs(found.loc["f1", "shift"] - 1) < 0.15
    turned = other.drift(one)
    np.testing.assert_allclose(turned["p_value"], found["p_value"])
    assert (one.drift(one)["p_value"] == 1).all()
    assert (found["adjusted"] >= found["p_value"]).all()
    for level in (0, 1.0, "0.05"):
        with pytest.raises(InvalidInputError, match="level must be"):
            one.drift(other, level)
    with pytest.raises(InvalidInputError, match="same features and units"):
        one.drift(other[:, ["f0"]])


def test_adjusted_p_values_are_those_of_holm():
    p_values = np.random.default_rng(0).random(30) ** 3
    order = np.argsort(p_values)
    steps = [min(1.0, (30 - i) * p_values[j]) for i, j in enumerate(order)]
    wanted = [max(steps[: i + 1]) for i in range(30)]
    np.testing.assert_allclose(holm(p_values)[order], wanted)
