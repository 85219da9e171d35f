"""Explanation: what holds for the result object, and what it refuses."""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sasanet.errors import InvalidInputError, MissingPackageError, SasanetError, SavedFileError
from sasanet.explanation import Explanation, SelectionError

NAMES = ("age", "job", "flag", "income")
CLASSES = ("setosa", "versicolor", "virginica")


def table(n: int = 12) -> pd.DataFrame:
    """Numbers, text, categories and nullable integers, each with a missing cell."""
    frame = pd.DataFrame(
        {
            "age": np.arange(n) * 1.5,
            "job": [["clerk", "cook", "pilot"][i % 3] for i in range(n)],
            "flag": pd.Categorical([i % 2 for i in range(n)], categories=[2, 1, 0]),
            "income": pd.array([1000 * i for i in range(n)], dtype="Int64"),
        },
        index=[f"row{i}" for i in range(n)],
    )
    for column, row in enumerate((1, 2, 3, 4)):
        frame.iloc[row, column] = None
    return frame


def make(outputs: tuple[str, ...] = (), data: pd.DataFrame | None = None) -> Explanation:
    """An explanation of random numbers in which missing cells get no attribution."""
    data = table() if data is None else data
    tail = (len(outputs),) if outputs else ()
    values = np.random.default_rng(0).normal(size=data.shape + tail)
    values[data.isna().to_numpy()] = 0.0
    base = np.broadcast_to(np.arange(len(outputs)) if outputs else 0.5, (len(data), *tail))
    return Explanation(values, base, data, tuple(data.columns), outputs)


one = pytest.fixture(lambda: make(), name="one")
multi = pytest.fixture(lambda: make(CLASSES), name="multi")


def one_kind_of_missing(column: pd.Series) -> pd.Series:
    """None and NaN among Python objects mean the same, and files do not tell them apart."""
    return column.where(column.notna(), None) if column.dtype == object else column


def assert_same(a: Explanation, b: Explanation) -> None:
    np.testing.assert_array_equal(a.values, b.values, strict=True)
    np.testing.assert_array_equal(a.base_values, b.base_values, strict=True)
    pd.testing.assert_frame_equal(*(e.data.apply(one_kind_of_missing) for e in (a, b)))
    assert (a.error_std is None) == (b.error_std is None)
    if a.error_std is not None and b.error_std is not None:
        np.testing.assert_array_equal(a.error_std, b.error_std, strict=True)
    for name in ("feature_names", "output_names", "units", "complete"):
        assert getattr(a, name) == getattr(b, name)


# --- the object itself ---------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [(), CLASSES])
def test_prediction_is_base_value_plus_all_attributions(outputs: tuple[str, ...]) -> None:
    e = make(outputs)
    for i in range(len(e)):
        by_hand = e.base_values[i] + sum(e.values[i, j] for j in range(4))
        np.testing.assert_allclose(e.prediction[i], by_hand, rtol=0, atol=1e-12)


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "flat values": ({"values": np.zeros(12)}, r"values must be .* shape \(12,\)"),
    "scalar base": ({"base_values": 0.5}, r"base_values must have shape \(12,\), however: \(\)"),
    "short base": ({"base_values": np.zeros(11)}, r"base_values .* \(12,\), however: \(11,\)"),
    "base per class": ({"base_values": np.zeros((12, 3))}, "base_values must have shape"),
    "short errors": ({"error_std": np.zeros((12, 3))}, r"error_std must have shape \(12, 4\)"),
    "missing name": ({"feature_names": NAMES[:3]}, "columns are feature_names"),
    "swapped names": ({"feature_names": NAMES[::-1]}, "columns are feature_names"),
    "stray class": ({"output_names": ("a",)}, "output_names must number 0, however: 1"),
    "fewer rows": ({"data": table(11)}, r"data must have shape \(12, 4\), however: \(11, 4\)"),
    "array as data": ({"data": np.zeros((12, 4))}, "data must be a table"),
}


@pytest.mark.parametrize(("change", "sentence"), BROKEN.values(), ids=BROKEN.keys())
def test_parts_that_do_not_fit_are_refused(
    one: Explanation, change: dict[str, Any], sentence: str
) -> None:
    replace(one)  # the sound twin passes
    with pytest.raises(InvalidInputError, match=sentence):
        replace(one, **change)


def test_names_must_be_different(multi: Explanation) -> None:
    with pytest.raises(InvalidInputError, match="different output_names must number 3, however: 2"):
        replace(multi, output_names=("a", "a", "b"))
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InvalidInputError, match="different feature_names must number 2"):
        Explanation(np.zeros((1, 2)), np.zeros(1), twice, ("a", "a"))


def test_a_feature_may_be_called_like_a_class() -> None:
    e = make(("age", "other"))
    assert e.output("age")[:, "age"].shape == (12, 1)


def test_column_numbers_become_names() -> None:
    e = Explanation(np.zeros((1, 2)), np.zeros(1), pd.DataFrame([[1, 2]]), (0, 1))  # type: ignore[arg-type]
    assert e.feature_names == ("0", "1")
    assert list(e.data.columns) == ["0", "1"]


def test_later_changes_of_the_inputs_do_not_reach_it() -> None:
    values, base, data = np.ones((2, 1)), np.ones(2), pd.DataFrame({"a": [1, 2]})
    e = Explanation(values, base, data, ("a",))
    values[:], base[:], data.loc[0, "a"] = 9, 9, 9
    assert e.prediction.tolist() == [2, 2]
    assert e.data["a"].tolist() == [1, 2]


def test_it_is_frozen(one: Explanation) -> None:
    with pytest.raises(FrozenInstanceError):
        one.units = "euro"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        one.values[0, 0] = 1


def test_repr_says_shape_outputs_and_units(one: Explanation, multi: Explanation) -> None:
    assert repr(one) == "<Explanation: 12 rows × 4 features, one output, in log-odds>"
    text = repr(replace(multi, error_std=np.zeros(multi.shape))[0, "age"])
    for part in ("1 rows × 1 features", "versicolor", "standard errors", "cut away"):
        assert part in text


# --- cutting -------------------------------------------------------------------------------------

CUTS: list[tuple[Any, list[int], list[int]]] = [
    (3, [3], [0, 1, 2, 3]),
    (-1, [11], [0, 1, 2, 3]),
    (np.int64(3), [3], [0, 1, 2, 3]),
    (slice(2, 5), [2, 3, 4], [0, 1, 2, 3]),
    ([1, 2], [1, 2], [0, 1, 2, 3]),
    ([], [], [0, 1, 2, 3]),
    (np.arange(12) > 9, [10, 11], [0, 1, 2, 3]),
    (pd.Series(np.arange(12) > 9), [10, 11], [0, 1, 2, 3]),
    ((slice(None), "job"), list(range(12)), [1]),
    ((slice(0, 2), ["income", "age"]), [0, 1], [3, 0]),
    ((5, "age"), [5], [0]),
    ((5, 3), [5], [3]),
    ((slice(2), slice(1, 4)), [0, 1], [1, 2, 3]),
    ((slice(2), pd.Index(["flag"])), [0, 1], [2]),
    ((slice(2), [False, True, True, False]), [0, 1], [1, 2]),
]


@pytest.mark.parametrize("outputs", [(), CLASSES])
@pytest.mark.parametrize(("key", "rows", "columns"), CUTS)
def test_a_cut_takes_every_part_along(
    outputs: tuple[str, ...], key: Any, rows: list[int], columns: list[int]
) -> None:
    full = make(outputs)
    full = replace(full, error_std=np.abs(full.values) / 10)
    assert full.error_std is not None
    want = Explanation(
        full.values[rows][:, columns],
        full.base_values[rows],
        full.data.iloc[rows, columns],
        tuple(NAMES[j] for j in columns),
        outputs,
        full.error_std[rows][:, columns],
        complete=len(columns) == 4,
    )
    assert_same(full[key], want)


def test_an_unknown_feature_is_named_with_close_matches(one: Explanation) -> None:
    for key in ((slice(None), "incme"), (0, ["age", "incme"])):
        with pytest.raises(SelectionError) as caught:
            one[key]
        assert str(caught.value) == "There is no feature 'incme'; did you mean one of ['income']?"
        assert isinstance(caught.value, KeyError)
        assert isinstance(caught.value, SasanetError)


@pytest.mark.parametrize(
    "key", [12, -13, "age", [0, 12], [True] * 11, 1.5, None, (0, 4), (0, 1, 2), (0, None)]
)
def test_what_is_not_there_cannot_be_cut(one: Explanation, key: Any) -> None:
    with pytest.raises(IndexError, match=r"e\[rows, features\] has (12 rows|4 features), however"):
        one[key]


def test_a_loop_over_rows_ends(one: Explanation) -> None:
    rows: Any = one  # by Python's old protocol: 0, 1, 2, … until IndexError
    assert [row.data.index[0] for row in rows] == list(one.data.index)


def test_a_cut_explanation_gives_no_prediction(one: Explanation) -> None:
    assert one[2:4].prediction.tolist() == one.prediction[2:4].tolist()
    reordered = one[:, NAMES[::-1]]
    np.testing.assert_allclose(reordered.prediction, one.prediction, atol=1e-12)
    part = one[:, ["age", "job", "flag"]]
    for cut in (part, part[:, ["job", "age", "flag"]]):
        with pytest.raises(InvalidInputError, match="needs all features, however: some were cut"):
            _ = cut.prediction


def test_one_class_of_many(multi: Explanation) -> None:
    e = replace(multi, error_std=np.abs(multi.values)).output("virginica")
    assert e.shape == (12, 4)
    assert e.output_names == ()
    assert e.units == "log-odds of virginica"
    assert e.error_std is not None
    assert e.error_std.shape == (12, 4)
    np.testing.assert_array_equal(e.prediction, multi.prediction[:, 2])
    with pytest.raises(KeyError, match=r"no output 'virginca'; did you mean one of \['virginica'"):
        multi.output("virginca")


def test_classes_that_were_numbers_are_found_by_number() -> None:
    assert make(("0", "1")).output(1).units == "log-odds of 1"


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
    with pytest.raises(InvalidInputError, match="must differ"):
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
    values = [[0.5312, -2.25, 0.0, 1234.5, 1e-5, 0.0]]
    return Explanation(values, [0.0], data, tuple(data.columns), **changes)  # type: ignore[arg-type]


def test_reasons_are_sentences_strongest_first() -> None:
    assert sentences().reasons(0) == [
        "n = 4 raises the log-odds by 1234",
        "amount = 1169 lowers the log-odds by 2.25",
        "status = 'A11' raises the log-odds by 0.531",
        "ok = True raises the log-odds by 1e-05",
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


def test_reasons_need_one_row_and_a_number(one: Explanation) -> None:
    rows: Any = [1, 2]
    with pytest.raises(TypeError):
        one.reasons(rows)
    with pytest.raises(IndexError):
        one.reasons(12)
    with pytest.raises(InvalidInputError, match="k must be at least 1, however: k=0"):
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


# --- files ---------------------------------------------------------------------------------------

KEPT: dict[str, Any] = {
    "text": pd.Series(["a", None, "b"]),
    "objects": pd.Series(["a", None, np.nan], dtype=object),
    "objects of numbers": pd.Series([2**60 + 1, None, 3], dtype=object),
    "objects of booleans": pd.Series([True, None, False], dtype=object),
    "nothing": pd.Series([None, None, None], dtype=object),
    "int8": pd.Series([1, 2, 3], dtype="int8"),
    "float32": pd.Series([0.1, np.nan, 3], dtype="float32"),
    "Int64": pd.Series([1, None, 3], dtype="Int64"),
    "boolean": pd.Series([True, None, False], dtype="boolean"),
    "bool": pd.Series([True, False, False]),
    "string": pd.Series(["a", None, ""], dtype="string"),
    "ordered": pd.Categorical(["x", None, "y"], ["unused", "y", "x"], ordered=True),
    "number levels": pd.Categorical([3, None, 1], [3, 2, 1]),
    "boolean levels": pd.Categorical([True, None, False]),
    "value.0": pd.Series([1.0, 2.0, 3.0]),  # names like those inside the file
    "data.0.text": pd.Series([1.0, 2.0, 3.0]),
    "number.0": pd.Series([1.0, 2.0, 3.0]),
    "__index_level_0__": pd.Series([1.0, 2.0, 3.0]),
}
INDEXES = {
    "range": pd.RangeIndex(3),
    "text": pd.Index(["x", "y", "y"], name="number.0"),
    "levels": pd.MultiIndex.from_tuples(
        [("a", 1), ("a", 2), ("b", 1)], names=["data.0.text", None]
    ),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES.keys())
@pytest.mark.parametrize("outputs", [(), ("a",), CLASSES])
def test_what_was_saved_comes_back(
    tmp_path: Path, index: pd.Index, outputs: tuple[str, ...]
) -> None:
    e = make(outputs, pd.DataFrame(KEPT).set_index(index))
    e = replace(e, error_std=np.abs(e.values) / 7, units="€")
    for saved in (e, replace(e, error_std=None), e[:, "int8"], e[1]):
        saved.save(tmp_path / "e.parquet")
        assert_same(Explanation.load(str(tmp_path / "e.parquet")), saved)
    assert [path.name for path in tmp_path.iterdir()] == ["e.parquet"]


def test_no_rows_come_back_as_no_rows(tmp_path: Path, one: Explanation, multi: Explanation) -> None:
    for saved in (one[[]], multi[[]]):
        saved.save(tmp_path / "e.parquet")
        assert_same(Explanation.load(tmp_path / "e.parquet"), saved)


REFUSED: dict[str, Any] = {
    "mixed": pd.Series([1, "a"], dtype=object),
    "dicts": pd.Series([{"a": 1}, {"b": 2}]),  # would come back as {"a": 1, "b": None}
    "complex": pd.Series([1j, 2]),
    "mixed levels": pd.Categorical([1, "a"]),
    "huge": pd.Series([2**70, 1], dtype=object),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_column_that_would_change_is_refused_by_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "e.parquet"
    path.write_bytes(b"what was here before")
    e = make(data=pd.DataFrame({"fine": [1, 2], name: REFUSED[name]}))
    with pytest.raises(InvalidInputError, match=f"every cell, however: column .*'{name}'"):
        e.save(path)
    assert path.read_bytes() == b"what was here before"
    assert list(tmp_path.iterdir()) == [path]


def test_row_labels_that_would_change_are_refused(tmp_path: Path, one: Explanation) -> None:
    mixed = replace(one, data=one.data.set_index(pd.Index([*range(11), "a"], dtype=object)))
    with pytest.raises(InvalidInputError, match="keep every cell"):
        mixed.save(tmp_path / "e.parquet")


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, one: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "e.parquet"
    one.save(path)

    def full_disk(table: Any, file: Any, **_: Any) -> None:  # noqa: ARG001
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(pq, "write_table", full_disk)
    with pytest.raises(OSError, match="no space left"):
        one[0].save(path)
    assert_same(Explanation.load(path), one)
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(name="saved")
def saved_file(tmp_path: Path, one: Explanation) -> Path:
    one.save(tmp_path / "e.parquet")
    return tmp_path / "e.parquet"


def test_a_truncated_file_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for part in (0, 3, len(whole) // 3, len(whole) - 9, len(whole) - 1):
        saved.write_bytes(whole[:part])
        with pytest.raises(SavedFileError, match=r"e\.parquet is no saved explanation"):
            Explanation.load(saved)


def test_a_foreign_file_is_refused(saved: Path) -> None:
    table().to_parquet(saved)
    with pytest.raises(SavedFileError, match="format number is None and only 1 is understood"):
        Explanation.load(saved)
    saved.write_text("row,feature\n")
    with pytest.raises(SavedFileError):
        Explanation.load(saved)


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Explanation.load(tmp_path / "nowhere.parquet")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": 2}, "format number is 2 and only 1 is understood"),
        ({"units": "target"}, "edited"),
        ({"feature_names": ["job", "age", "flag", "income"]}, "edited"),
        ({"feature_names": ["age"]}, "no saved"),
        ({"seal": "0" * 64}, "edited"),
    ],
)
def test_an_edited_note_is_noticed(saved: Path, change: dict[str, Any], sentence: str) -> None:
    stored = pq.read_table(saved)
    note = {**json.loads(stored.schema.metadata[b"sasanet"]), **change}
    for edited in (note, [note]):
        metadata = {**stored.schema.metadata, b"sasanet": json.dumps(edited)}
        pq.write_table(stored.replace_schema_metadata(metadata), saved)
        with pytest.raises(SavedFileError, match=sentence if edited is note else "no saved"):
            Explanation.load(saved)


def test_edited_numbers_are_noticed(saved: Path) -> None:
    stored = pq.read_table(saved)
    place = stored.schema.get_field_index("number.0")
    for column in (pa.array(np.zeros(12)), pa.array(["a"] * 12)):
        pq.write_table(stored.set_column(place, "number.0", column), saved)
        with pytest.raises(SavedFileError):
            Explanation.load(saved)
    pq.write_table(stored.drop_columns(["number.0"]), saved)
    with pytest.raises(SavedFileError):
        Explanation.load(saved)
    pq.write_table(stored, saved)  # the sound twin
    Explanation.load(saved)


def test_an_edited_cell_is_noticed(saved: Path) -> None:
    whole = saved.read_bytes()
    assert b"pilot" in whole
    saved.write_bytes(whole.replace(b"pilot", b"pirat"))
    with pytest.raises(SavedFileError):
        Explanation.load(saved)


def test_a_flipped_byte_never_gives_other_numbers(saved: Path, one: Explanation) -> None:
    whole = saved.read_bytes()
    refused = 0
    for place in range(4, len(whole), 61):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            assert Explanation.load(saved).values.tobytes() == one.values.tobytes()
        except SavedFileError:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("shap", "shap", lambda e, _: e.to_shap()),
        ("pyarrow", "parquet", lambda e, path: e.save(path)),
        ("pyarrow", "parquet", lambda _, path: Explanation.load(path)),
    ],
)
def test_a_package_that_is_not_there_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch,
    saved: Path,
    one: Explanation,
    package: str,
    extra: str,
    call: Any,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf"'{package}'.*sasanet\[{extra}\]"):
        call(one, saved)
