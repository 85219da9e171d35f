import numpy as np
import pandas as pd
import pytest

from sasanet import Explanation
from sasanet.errors import InvalidInputError, MissingPackageError
from sasanet.plots import waterfall, waterfall_data


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
    assert waterfall(explanation, row=1, ax=ax) is ax
    assert len(ax.patches) == 4
    figure.canvas.draw()
    pyplot.close(figure)
    pyplot.close(waterfall(explanation).figure)


def test_several_outputs_are_refused_with_the_call_to_make(explanation):
    values = np.repeat(explanation.values[..., None], 2, axis=2)
    many = Explanation(values, np.ones((2, 2)), explanation.data, tuple("abcd"), ("u", "v"))
    with pytest.raises(InvalidInputError, match=r"explanation\.output"):
        waterfall_data(many)


def test_without_matplotlib_it_says_what_to_install(explanation, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"sasanet\[plots\]"):
        waterfall(explanation)
