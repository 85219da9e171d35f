"""Plots that ask the model: profiles, arrivals, dependence, history. Compute and draw apart."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reported import credit, masses, penguins
from sasanet import Explanation
from sasanet.errors import InvalidInputError, MissingPackageError
from sasanet.plots import (
    arrival_data,
    dependence_data,
    history_data,
    plot_arrival,
    plot_dependence,
    plot_history,
    plot_profile,
    profile_data,
)


@pytest.fixture
def axes():
    """Return new axes, drawn and closed at the end: what cannot be drawn fails here."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, ax = pyplot.subplots()
    yield ax
    figure.canvas.draw()
    pyplot.close("all")


def features(pair):
    model, table = pair
    return model, table[list(model.encoder_.names)]


# --- profiles ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [credit, penguins, masses])
def test_the_mean_over_positions_is_the_attribution(make):
    model, X = features(make())
    X = X[X.notna().all(axis=1)]
    profiles, d = model.profiles(X), X.shape[1]
    # Position k of d lies at k / (d − 1) of the way; between two points the profile is straight.
    at = np.linspace(0, profiles.shape[2] - 1, d)
    low = np.minimum(at.astype(int), profiles.shape[2] - 2)
    part = (at - low).reshape(-1, *[1] * (profiles.ndim - 3))
    by_position = (1 - part) * profiles[:, :, low] + part * profiles[:, :, low + 1]
    values = model.explain(X).values
    close = 1e-5 * model.target_.scale  # float32
    np.testing.assert_allclose(by_position.mean(axis=2), values, atol=close)
    assert np.abs(profiles[:, :, 0] - values).max() > 10 * close


def test_the_ends_of_a_profile_are_values_of_the_model():
    model, X = features(masses())
    X = X[X.notna().all(axis=1)][:5]
    profiles, eye = model.profiles(X), np.eye(X.shape[1], dtype=bool)
    alone = model.value(X, np.broadcast_to(eye, (5, *eye.shape))) - model.base_value_[0]
    last = model.value(X, np.ones_like(eye[0])) [:, None] - model.value(
        X, np.broadcast_to(~eye, (5, *eye.shape))
    )  # fmt: skip
    # A profile is moved as a whole to have the attribution as its mean: its rise is what stays. Of
    # numbers between two knots v({i}) is read as a mixture, so only categories are exact.
    words = ~np.array(model.encoder_.is_number)
    found, expected = (profiles[:, :, -1] - profiles[:, :, 0])[:, words], (last - alone)[:, words]
    np.testing.assert_allclose(found, expected, atol=1e-5 * model.target_.scale)
    assert np.abs(expected).max() > 1


def test_profiles_are_sorted_and_of_one_row_as_they_are():
    model, X = features(credit())
    data = profile_data(model, X, row=3)
    assert data.columns.tolist()[:2] == ["attribution", 0.0]
    values = model.explain(X).values[3]
    assert data["attribution"].abs().is_monotonic_decreasing
    np.testing.assert_allclose(data.loc["age", "attribution"], values[X.columns.get_loc("age")])
    assert (profile_data(model, X)["attribution"] >= 0).all()


def test_missing_cells_have_no_profile():
    model, X = features(penguins())
    assert not model.profiles(X)[X.isna().to_numpy()].any()


def test_a_profile_of_several_classes_needs_one_of_them(axes):
    model, X = features(penguins())
    with pytest.raises(InvalidInputError, match="output="):
        profile_data(model, X)
    assert plot_profile(model, X, output="Gentoo", top=3, ax=axes) is axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(
        profile_data(model, X, output="Gentoo").index[:3]
    )
    assert "4 weaker features" in axes.get_xlabel()


# --- arrivals ---------------------------------------------------------------------------------


def test_arrivals_lead_from_the_base_value_to_the_prediction():
    model, X = features(credit())
    data = arrival_data(model, X, row=2)
    values = model.explain(X).values[2]
    assert data["value"].iloc[0] == model.base_value_[0]
    assert data["value"].iloc[-1] == pytest.approx(model.decision_function(X)[2], abs=1e-5)
    strongest = X.columns[np.abs(values).argmax()]
    assert data["feature"].iloc[1] == strongest
    assert data["value"].iloc[1] == pytest.approx(model.value(X, [strongest])[2], abs=1e-5)
    assert data["certainty"].iloc[-1] == pytest.approx(model.predict_proba(X)[2].max(), abs=1e-5)


def test_missing_cells_never_arrive_and_certainty_is_the_predicted_class():
    model, X = features(penguins())
    row = int(np.flatnonzero(X.isna().any(axis=1))[0])
    data = arrival_data(model, X, row)
    assert len(data) == X.iloc[row].notna().sum() + 1
    assert data["certainty"].iloc[-1] == pytest.approx(model.predict_proba(X)[row].max(), abs=1e-5)


def test_late_arrivals_are_one_step_and_numbers_have_no_certainty(axes):
    model, X = features(masses())
    assert arrival_data(model, X)["certainty"].isna().all()
    assert plot_arrival(model, X, top=2, ax=axes) is axes
    words = [label.get_text() for label in axes.get_yticklabels()]
    assert words[0] == "nothing known"
    assert words[-1] == f"+ {int(X.iloc[0].notna().sum()) - 2} other features"


# --- dependence -------------------------------------------------------------------------------


@pytest.fixture
def explained():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "gain": np.where(random.random(1000) < 0.97, 0.0, random.exponential(100, 1000)),
            "job": random.choice(["cook", "clerk", "pilot"], size=1000, p=[0.6, 0.3, 0.1]),
            "age": np.where(random.random(1000) < 0.1, np.nan, random.normal(40, 9, 1000)),
        }
    )
    values = np.column_stack([frame["gain"], frame["job"] == "cook", frame["age"] / 10 - 4])
    return Explanation(np.nan_to_num(values), np.zeros(1000), frame, ("gain", "job", "age"))


def test_a_dominating_value_has_a_bin_of_its_own(explained):
    data = dependence_data(explained, "gain")
    assert data["label"].iloc[0] == "0"
    assert data["count"].iloc[0] == (explained.data["gain"] == 0).sum()
    assert len(data) >= 4
    assert data["count"].sum() == 1000
    assert data["x"].is_monotonic_increasing
    np.testing.assert_allclose(data["mean"], data["x"])  # here a cell's attribution is its value


def test_bins_are_of_equal_count_and_missing_cells_stand_at_the_end(explained):
    data = dependence_data(explained, "age")
    there = explained.data["age"].notna().sum()
    assert data["label"].iloc[-1] == "(missing)"
    assert data["mean"].iloc[-1] == 0
    bins = data.iloc[:-1]
    assert len(bins) == 20
    assert bins["count"].between(there / 20 - 1, there / 20 + 1).all()
    assert (bins["low"] <= bins["mean"]).all()
    assert (bins["from"] <= bins["mean"]).all()


def test_rare_levels_are_one_line(explained):
    data = dependence_data(explained, "job", top=1)
    assert data["label"].tolist() == ["cook", "(other levels)"]
    assert data["mean"].tolist() == [1.0, 0.0]
    codes = dependence_data(explained, "gain", top=2, as_levels=True)
    assert codes["x"].isna().all()


def test_levels_that_no_row_has_are_left_out(explained, axes):
    """A `category` column lists levels that may be absent here: of no rows there is no mean."""
    job = explained.data["job"].astype(pd.CategoricalDtype(["pilot", "cook", "clerk", "nurse"]))
    categorical = replace(explained, data=explained.data.assign(job=job))
    data = dependence_data(categorical, "job")
    pd.testing.assert_frame_equal(data, dependence_data(explained, "job"))
    assert "nurse" not in data["label"].tolist()
    assert plot_dependence(categorical, "job", ax=axes) is axes


@pytest.mark.parametrize("feature", ["gain", "job", "age"])
def test_dependence_draws_on_the_given_axes(explained, feature, axes):
    assert plot_dependence(explained, feature, ax=axes) is axes
    assert ("missing" in axes.get_xlabel()) == (feature == "age")


def test_dependence_of_several_outputs_is_refused(multi):
    with pytest.raises(InvalidInputError, match=r"explanation\.output"):
        dependence_data(multi, "age")


# --- history, long names, missing package -----------------------------------------------------


class Trained:
    """A model of which only the history is known."""

    history_ = [  # noqa: RUF012 - plain data of a test
        {"phase": "value", "train_loss": 3.0, "validation_loss": 4.0},
        {"phase": "value", "train_loss": 2.0, "validation_loss": 2.5},
        {"phase": "value", "train_loss": 1.0, "validation_loss": 3.0},
        {"phase": "attribution", "train_loss": 0.5, "validation_loss": 0.6},
    ]


def test_history_rings_the_epochs_that_were_kept(axes):
    assert history_data(Trained())["train_loss"].tolist() == [3.0, 2.0, 1.0, 0.5]
    assert plot_history(Trained(), ax=axes) is axes
    rings = next(line for line in axes.lines if line.get_label() == "kept")
    assert sorted(rings.get_xdata()) == [2, 4]
    assert len({line.get_linestyle() for line in axes.lines}) > 2  # told apart in grey


def test_long_names_and_many_features_keep_the_picture_small(axes):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    names = [f"a_long_name_of_a_survey_question_with_many_words_{j}_in_it" for j in range(85)]
    rows = pd.DataFrame(np.zeros((4, 85)), columns=names)

    class Wide:
        class target_:
            units, labels = "log-odds", ("no", "yes")

        def explain(self, X):
            values = np.linspace(1, 2, 85) * np.ones((4, 1))
            return Explanation(values, np.zeros(4), X, tuple(names))

        def profiles(self, X):
            return np.ones((len(X), 85, 8))

        def value(self, X, known):
            return known.sum(axis=2) * np.ones((len(X), 1))

    for draw in (plot_profile, plot_arrival):
        ax = draw(Wide(), rows)
        assert ax.figure.get_figheight() < 9
        assert max(len(label.get_text()) for label in ax.get_yticklabels()) <= 50
        ax.figure.canvas.draw()
        pyplot.close(ax.figure)
    assert axes is not None


@pytest.mark.parametrize(
    "draw",
    [lambda: plot_history(Trained()), lambda: plot_dependence(credit_explained(), "age")],
    ids=["history", "dependence"],
)
def test_they_say_what_to_install(draw, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"sasanet\[plots\]"):
        draw()


def credit_explained():
    model, X = features(credit())
    return model.explain(X[:5])
