"""Explanations as tables, sentences and shap's objects."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from made_explanations import CLASSES, NAMES, make, table
from sasanet.errors import InvalidInputError
from sasanet.explanation.explanation import Explanation

# --- tables and sentences ------------------------------------------------------------------------


def test_long_table_has_one_line_per_row_and_feature(one: Explanation) -> None:
    long = one.to_frame()
    assert list(long.columns) == ["row", "feature", "data", "attribution"]
    assert len(long) == 48
    line = long.iloc[4 * 5 + 1]  # sixth row, second feature
    assert (line["row"], line["feature"], line["data"]) == ("row5", "job", "pilot")
    assert line["attribution"] == one.values[5, 1]
    assert long["data"].dtype == object
    assert long["data"].isna().sum() == 4
    np.testing.assert_array_equal(
        long.groupby("row", sort=False)["attribution"].sum().index, one.data.index
    )


def test_long_table_names_classes_and_errors(multi: Explanation) -> None:
    e = replace(multi, error_std=np.abs(multi.values))
    long = e.to_frame().set_index(["row", "feature", "output"])
    assert len(long) == 12 * 4 * 3
    assert long.loc[("row7", "income", "versicolor"), "attribution"] == e.values[7, 3, 1]
    assert long.loc[("row7", "income", "versicolor"), "data"] == 7000
    assert (long["error_std"] == long["attribution"].abs()).all()


def test_wide_table_adds_up_by_itself(one: Explanation) -> None:
    wide = one.to_frame(wide=True)
    assert list(wide.columns) == [*NAMES, "base_value", "prediction"]
    assert wide.index.equals(one.data.index)
    total = wide[[*NAMES, "base_value"]].sum(axis=1)
    np.testing.assert_allclose(total, wide["prediction"], rtol=0, atol=1e-12)


def test_wide_table_of_classes(multi: Explanation) -> None:
    wide = multi.to_frame(wide=True)
    assert wide.shape == (12, 6 * 3)
    assert wide["job | setosa"].tolist() == multi.values[:, 1, 0].tolist()
    assert wide["prediction | virginica"].tolist() == multi.prediction[:, 2].tolist()


def test_wide_table_leaves_out_what_is_not_known(one: Explanation) -> None:
    assert list(one[:, "age"].to_frame(wide=True).columns) == ["age", "base_value"]


def test_wide_table_refuses_two_columns_of_one_name() -> None:
    e = make(data=pd.DataFrame({"prediction": [1.0]}))
    with pytest.raises(InvalidInputError, match="must have different names"):
        e.to_frame(wide=True)
    assert e.to_frame()["feature"].tolist() == ["prediction"]


def test_tables_keep_row_labels_of_any_kind(one: Explanation) -> None:
    index = pd.MultiIndex.from_product([["a", "b"], range(6)])
    e = replace(one, data=one.data.set_index(index))
    assert e.to_frame()["row"].iloc[-1] == ("b", 5)
    assert e.to_frame(wide=True).index.equals(index)


def sentences(**changes: Any) -> Explanation:
    cells = {"status": ["A11"], "amount": [1169.0], "rate": [0.123456], "n": [4], "ok": [True]}
    data = pd.DataFrame({**cells, "gone": [None]})
    values = [[0.5312, -2.25, 0.0, 1234.5, 0.01, 0.0]]
    return Explanation(values, [0.0], data, tuple(data.columns), **changes)  # type: ignore[arg-type]


def test_reasons_are_sentences_strongest_first() -> None:
    assert sentences().reasons(0) == [
        "n = 4 raises the log-odds by 1234",
        "amount = 1169 lowers the log-odds by 2.25",
        "status = 'A11' raises the log-odds by 0.531",
        "ok = True raises the log-odds by 0.01",
    ]
    assert len(sentences().reasons(0, k=2)) == 2


def test_reasons_carry_units_and_standard_errors() -> None:
    e = sentences(units="target", error_std=np.full((1, 6), 0.02))
    assert e.reasons(0)[2] == "status = 'A11' raises the target by 0.531 ± 0.02"


def test_a_missing_cell_is_never_a_reason(one: Explanation) -> None:
    assert not any(text.startswith("age") for text in one.reasons(1))
    loud = replace(one, values=np.ones(one.shape))  # not even when the numbers are wrong
    assert not any(text.startswith("age") for text in loud.reasons(1))
    assert any(text.startswith("age") for text in loud.reasons(2))


def test_reasons_describe_the_likeliest_class(multi: Explanation) -> None:
    for row in range(len(multi)):
        name = CLASSES[int(multi.prediction[row].argmax())]
        assert multi.reasons(row) == multi.output(name).reasons(row)
        assert f"the log-odds of {name} by" in multi.reasons(row)[0]


@pytest.mark.parametrize("kind", ["one", "multi"])
def test_reasons_of_all_rows_are_those_of_each(kind: str, request: pytest.FixtureRequest) -> None:
    e: Explanation = request.getfixturevalue(kind)
    said = e.all_reasons(2)
    assert said == [e.reasons(row, k=2) for row in range(len(e))]
    assert said != [said[0]] * len(e)


def test_reasons_need_one_row_and_a_number(one: Explanation) -> None:
    rows: Any = [1, 2]
    with pytest.raises(TypeError):
        one.reasons(rows)
    with pytest.raises(IndexError):
        one.reasons(12)
    with pytest.raises(InvalidInputError, match="k must be at least 1, got k=0"):
        one.reasons(0, k=0)


@pytest.mark.parametrize("outputs", [(), CLASSES])
def test_importance_is_the_mean_absolute_attribution(outputs: tuple[str, ...]) -> None:
    e = make(outputs)
    importance = e.importance()
    assert importance.is_monotonic_decreasing
    for j, name in enumerate(NAMES):
        assert importance[name] == pytest.approx(np.mean(np.abs(e.values[:, j])), abs=1e-12)


# --- shap ----------------------------------------------------------------------------------------


@pytest.fixture(name="shap")
def shap_and_no_screen() -> Any:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    with warnings.catch_warnings():
        # shap 0.51 builds its colour maps with a call that matplotlib 3.11 is going to deprecate.
        warnings.filterwarnings("ignore", r"The set_\w+ function", PendingDeprecationWarning)
        shap = pytest.importorskip("shap")
    yield shap
    matplotlib.pyplot.close("all")


PLOTS = ["bar", "bar of one row", "beeswarm", "waterfall of one row", "scatter", "heatmap"]


@pytest.mark.parametrize("columns", [["age", "income"], list(NAMES)], ids=["numbers", "text too"])
@pytest.mark.parametrize("plot", PLOTS)
def test_shap_draws_it(shap: Any, plot: str, columns: list[str]) -> None:
    from matplotlib import pyplot

    draw = getattr(shap.plots, plot.split()[0])
    for e in (make((), table()[columns]).to_shap(), make(CLASSES).to_shap()[:, :, "setosa"]):
        parts = [e]
        if "row" in plot:
            parts = [e[1], e[2]]  # a missing number, a missing text
        elif plot == "scatter":
            parts = [e[:, name] for name in columns]
        for part in parts:
            draw(part, show=False)
            pyplot.gcf().canvas.draw()
            pyplot.close("all")


def test_shap_labels_the_levels_of_text(shap: Any, one: Explanation) -> None:
    from matplotlib import pyplot

    for seed in range(4):  # shap shuffles with the global generator and looks at the first cell
        np.random.seed(seed)  # noqa: NPY002
        shap.plots.scatter(one[1:4].to_shap()[:, "job"], show=False)
        labels = pyplot.gcf().axes[0].get_xticklabels()
        assert {"clerk", "cook"} <= {label.get_text() for label in labels}
        pyplot.close("all")


def test_shap_gets_codes_to_colour_by_and_text_to_show(shap: Any, one: Explanation) -> None:
    e = replace(one, error_std=np.abs(one.values)).to_shap()
    assert isinstance(e, shap.Explanation)
    assert e.feature_names == list(NAMES)
    assert e.base_values.shape == (12,)
    assert e.data.dtype == np.float64
    np.testing.assert_array_equal(np.isnan(e.data), one.data.isna().to_numpy())
    np.testing.assert_array_equal(e.data[:4, 1], [0, 1, np.nan, 0])  # clerk, cook, missing, clerk
    assert e.display_data[:3, 1].tolist() == ["clerk", "cook", "(missing)"]
    np.testing.assert_array_equal(e.data[:3, 2], [2, 1, 2])  # the order of the categories
    assert e.display_data[:2, 2].tolist() == ["0 ", "1"]
    np.testing.assert_array_equal(e.values.sum(axis=1) + e.base_values, one.prediction)
    np.testing.assert_array_equal(e.error_std, np.abs(e.values))


def test_shap_does_not_shorten_levels_that_end_in_zeros(shap: Any) -> None:
    from matplotlib import pyplot

    data = pd.DataFrame({"status": ["A300", "A3"]})
    shap.plots.bar(make(data=data).to_shap()[0], show=False)
    labels = [label.get_text() for label in pyplot.gca().get_yticklabels()]
    assert any(label.startswith("A300 ") for label in labels)


def test_shap_gets_classes_by_name(shap: Any, multi: Explanation) -> None:  # noqa: ARG001
    e = multi.to_shap()
    assert e.base_values.shape == (12, 3)
    np.testing.assert_array_equal(e[:, "job", "virginica"].values, multi.values[:, 1, 2])


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        ([True, False, None], [1, 0, np.nan]),
        ([3, "b", None, "a"], [0, 2, np.nan, 1]),
        ([3, None, 1.5], [3, np.nan, 1.5]),
    ],
)
def test_python_objects_become_numbers_for_shap(
    shap: Any,  # noqa: ARG001
    cells: list[Any],
    codes: list[float],
) -> None:
    data = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    np.testing.assert_array_equal(make(data=data).to_shap().data[:, 0], codes)


def test_shap_cannot_draw_a_wrong_prediction(shap: Any, one: Explanation) -> None:
    cut = one[:, ["age", "job"]].to_shap()
    assert cut.base_values is None
    shap.plots.beeswarm(cut, show=False)
    with pytest.raises(TypeError):
        shap.plots.waterfall(cut[0], show=False)
