"""Plots of explanations and audits: what is drawn, on which axes, and what is refused."""

import inspect

import numpy as np
import pandas as pd
import pytest

from made_explanations import make
from sasanet import Explanation, plots
from sasanet.audit import Audit, Bin, SizeCalibration
from sasanet.errors import InvalidInputError, MissingPackageError
from sasanet.plots import (
    audit_data,
    calibration_data,
    calibration_error_data,
    drift_data,
    plot_audit,
    plot_calibration,
    plot_calibration_error,
    plot_drift,
    plot_value_curve,
    plot_waterfall,
    value_curve_data,
    waterfall_data,
)


@pytest.fixture
def explanation():
    values = np.array([[0.5, -2.0, 0.1, 0.0], [1.0, 0.2, -0.3, 0.4]])
    data = pd.DataFrame({"a": [1.5, 2.0], "b": ["x", "y" * 80], "c": [None, 3.0], "d": [1, 2]})
    return Explanation(values, np.array([1.0, 1.0]), data, tuple("abcd"), ())


def test_bars_lead_from_the_base_value_to_the_prediction(explanation):
    bars = waterfall_data(explanation, row=0, top=2)
    assert bars["label"].tolist() == ["b = x", "a = 1.5", "2 other features"]
    assert bars["start"].tolist() == [1.0, -1.0, -0.5]
    end = bars["start"].iloc[-1] + bars["change"].iloc[-1]
    assert end == pytest.approx(explanation.prediction[0])


def test_it_draws_on_the_given_axes_and_returns_them(explanation):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, ax = pyplot.subplots()
    assert plot_waterfall(explanation, row=1, ax=ax) is ax
    assert len(ax.patches) == 4
    figure.canvas.draw()
    pyplot.close(figure)
    pyplot.close(plot_waterfall(explanation).figure)


def test_several_outputs_are_refused_with_the_call_to_make(explanation):
    values = np.repeat(explanation.values[..., None], 2, axis=2)
    many = Explanation(values, np.ones((2, 2)), explanation.data, tuple("abcd"), ("u", "v"))
    with pytest.raises(InvalidInputError, match=r"explanation\.output"):
        waterfall_data(many)


def test_without_matplotlib_it_says_what_to_install(explanation, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"sasanet\[plots\]"):
        plot_waterfall(explanation)


DRAWN = [plot_audit, plot_calibration, plot_calibration_error, plot_value_curve]


def one_size(features, loss):
    bins = tuple(Bin(p, p + 0.01, p - 0.05, min(1.0, p + 0.06), 30) for p in (0.1, 0.5, 0.99))
    rest = {"gain": 0.1, "gain_low": 0.0, "gain_high": 0.2, "slope": np.nan}
    rest |= {"slope_low": np.nan, "slope_high": np.nan, "noise": 0.01, "bins": bins}
    rest["noise_high"] = 0.015
    error = {"error": 0.02, "error_low": 0.0, "error_high": 0.04}
    return SizeCalibration(features, 90, loss, loss - 0.1, loss + 0.1, 0.7, **error, **rest)


@pytest.fixture
def audited():
    sizes = tuple(one_size(n, 0.7 - n / 20) for n in (0, 1, 3, 5, 6))
    return Audit((), sizes, 90, 0, 1.0, "log-odds", task="binary")


def test_the_value_curve_shows_losses_interval_and_base_value(audited):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, ax = pyplot.subplots()
    assert plot_value_curve(audited, ax=ax) is ax
    curve, base = ax.lines
    assert curve.get_xdata().tolist() == [0, 1, 3, 5, 6]
    np.testing.assert_allclose(curve.get_ydata(), [0.7, 0.65, 0.55, 0.45, 0.4])
    assert base.get_ydata()[0] == pytest.approx(0.7)
    band = ax.collections[0].get_paths()[0].get_extents()
    assert (band.y0, band.y1) == pytest.approx((0.3, 0.8))
    assert "nats" in ax.get_ylabel()
    figure.canvas.draw()
    pyplot.close(figure)


def test_calibration_lines_differ_without_colour(audited):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = plot_calibration(audited)
    drawn = [container.lines[0] for container in ax.containers]
    assert [text.get_text()[:7] for text in ax.get_legend().get_texts()[1:]] == [
        "1 known",
        "5 known",
        "6 known",
    ]
    assert len({line.get_linestyle() for line in drawn}) == 3
    assert len({line.get_marker() for line in drawn}) == 3
    pyplot.close(ax.figure)
    only = plot_calibration(audited, features=[3])
    assert len(only.containers) == 1
    pyplot.close(only.figure)
    with pytest.raises(InvalidInputError, match="one to three of"):
        plot_calibration(audited, features=[2])


def test_errors_are_drawn_beside_what_chance_makes_of_them(audited):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    data = calibration_error_data(audited)
    assert data["features"].tolist() == [0, 1, 3, 5, 6]
    assert (data["noise_high"] == 0.015).all()
    figure, ax = pyplot.subplots()
    assert plot_calibration_error(audited, ax=ax) is ax
    band = ax.collections[0].get_paths()[0].get_extents()
    assert (band.y0, band.y1) == pytest.approx((0, 0.015))
    chance = ax.lines[0]
    assert chance.get_ydata().tolist() == [0.01] * 5
    assert ax.containers[0].lines[0].get_ydata().tolist() == [0.02] * 5
    figure.canvas.draw()
    pyplot.close(figure)


def test_an_audit_draws_both_side_by_side(audited):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    left, right = audited.plot()
    assert left.figure is right.figure
    left.figure.canvas.draw()
    pyplot.close(left.figure)
    figure, axes = pyplot.subplots(1, 2)
    assert plot_audit(audited, axes) == tuple(axes)
    pyplot.close(figure)


@pytest.mark.parametrize("draw", DRAWN)
def test_without_labels_there_is_nothing_to_draw(draw):
    with pytest.raises(InvalidInputError, match=r"call model\.audit\(X, y\)"):
        draw(Audit((), (), 90, 0, 1.0))


@pytest.mark.parametrize("draw", DRAWN)
def test_audit_plots_say_what_to_install(draw, audited, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"sasanet\[plots\]"):
        draw(audited)


def test_what_is_drawn_of_an_audit_is_there_as_tables(audited):
    curve, calibration = audit_data(audited)
    pd.testing.assert_frame_equal(curve, value_curve_data(audited))
    pd.testing.assert_frame_equal(calibration, calibration_data(audited))
    assert curve["features"].tolist() == [0, 1, 3, 5, 6]
    np.testing.assert_allclose(curve["high"] - curve["low"], 0.2)
    assert calibration["features"].tolist() == [1] * 3 + [5] * 3 + [6] * 3
    one = calibration_data(audited, features=[3])
    assert one["predicted"].tolist() == [0.1, 0.5, 0.99]
    assert one["count"].tolist() == [30] * 3


@pytest.mark.parametrize(
    "tell", [audit_data, calibration_data, calibration_error_data, value_curve_data]
)
def test_without_labels_there_are_no_tables_either(tell):
    with pytest.raises(InvalidInputError, match=r"call model\.audit\(X, y\)"):
        tell(Audit((), (), 90, 0, 1.0))


def arguments(function):
    """Return the names of a function's arguments but those of the axes."""
    return [name for name in inspect.signature(function).parameters if name not in ("ax", "axes")]


@pytest.mark.parametrize("name", [n for n in plots.__all__ if n.startswith("plot_")])
def test_every_plot_has_its_data_function_and_takes_axes(name):
    draw = getattr(plots, name)
    tell = getattr(plots, f"{name.removeprefix('plot_')}_data")
    last = list(inspect.signature(draw).parameters.values())[-1]
    assert last.name == ("axes" if name == "plot_audit" else "ax")
    assert last.default is None
    # What only thins out a picture ("top") need not be an argument of the table.
    assert [one for one in arguments(draw) if one != "top"] == [
        one for one in arguments(tell) if one != "top"
    ]
    assert set(arguments(tell)) <= set(arguments(draw))


def test_the_room_has_nothing_but_plots_and_their_data():
    drawn = {name.removeprefix("plot_") for name in plots.__all__ if name.startswith("plot_")}
    assert set(plots.__all__) == {f"plot_{n}" for n in drawn} | {f"{n}_data" for n in drawn}


# --- drift -----------------------------------------------------------------------------------


def test_the_drift_plot_shows_what_its_table_holds():
    e, other = make(), make()[6:]
    ax = plot_drift(e, other, top=3)
    data = drift_data(e, other, top=3)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [str(name) + " *" * moved for name, moved in data["drifted"].items()]
    for line, prefix in zip(ax.lines, ("", "other_"), strict=False):
        np.testing.assert_array_equal(line.get_xdata(), data[f"{prefix}mean"])
    for lines, prefix in zip(ax.collections, ("", "other_"), strict=True):
        drawn = np.array([segment[:, 0] for segment in lines.get_segments()])
        np.testing.assert_array_equal(drawn, data[[f"{prefix}from", f"{prefix}to"]])
    assert not np.allclose(data["mean"], data["other_mean"])  # the two are told apart
