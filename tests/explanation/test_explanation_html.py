"""What a notebook shows of an explanation: true numbers, bounded, and nothing that runs."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from made_explanations import CLASSES, NAMES, make, table
from parsed_html import Parsed, is_harmless
from sasanet.explanation import notebook
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.html import MOST_FEATURES, MOST_ROWS

POISON = "<script>alert('x')</script><img src=x onerror=alert(1)>\"'&amp;</table>"


def numbers(text: str) -> list[float]:
    found = re.findall(r"[+-]?\d[\d.]*(?:e[+-]\d+)?", text.replace("−", "-"))
    return [float(part) for part in found]


def poisoned() -> Explanation:
    cells = {POISON: [POISON], "half": pd.Series(["\ud800"], [POISON], dtype=object)}
    data = pd.DataFrame(cells, index=[POISON])
    values = np.array([[[1.0, 2.0], [0.0, 0.0]]])
    outputs = (f"{POISON} no", f"{POISON} yes")
    return Explanation(values, [[0.0, 0.0]], data, tuple(data.columns), outputs, units=POISON)  # type: ignore[arg-type]


@pytest.mark.parametrize("outputs", [(), CLASSES])
def test_every_number_is_the_explanations_own(outputs: tuple[str, ...]) -> None:
    e = make(outputs)
    e = replace(e, error_std=np.abs(e.values) / 7)
    page = Parsed(e._repr_html_())
    for i, summary in enumerate(page.summaries):
        best = e.output(outputs[int(e.prediction[i].argmax())]) if outputs else e
        prediction, base = numbers(summary.split("prediction")[1])
        assert prediction == pytest.approx(best.prediction[i], rel=5e-3)
        assert base == pytest.approx(best.base_values[i], rel=5e-3)
        shown = {}
        for name, _, figure in page.lines[4 * i : 4 * i + 4]:
            shown[name.split()[0]] = numbers(figure)
        assert best.error_std is not None
        for j, feature in enumerate(NAMES):
            value, error = shown[feature]
            assert value == pytest.approx(best.values[i, j], rel=5e-3)
            assert error == pytest.approx(best.error_std[i, j], rel=5e-3)


def test_the_strongest_stand_first_and_missing_cells_are_marked(one: Explanation) -> None:
    page = Parsed(one._repr_html_())
    for i in range(MOST_ROWS):
        lines = page.lines[4 * i : 4 * i + 4]
        sizes = [abs(numbers(figure)[0]) for _, _, figure in lines]
        assert sizes == sorted(sizes, reverse=True)
        marked = {name.split()[0] for name, _, _ in lines if name.endswith(" missing")}
        assert marked == {name for name in NAMES if one.data[name].isna().iloc[i]}
        assert all(" = " in name for name, _, _ in lines if not name.endswith(" missing"))


def test_bars_are_as_long_as_attributions_and_share_one_scale(one: Explanation) -> None:
    shown = np.abs(one.values[:MOST_ROWS])
    lengths = []
    for tag, given in Parsed(one._repr_html_()).elements:
        if tag == "span" and given.get("style"):
            left, width = numbers(given["style"])
            rises = given["class"] == "sasanet-up"
            assert left == pytest.approx(50 if rises else 50 - width, abs=0.011)
            lengths.append(width)
    want = np.sort(shown[shown > 0] / shown.max() * 50)
    np.testing.assert_allclose(np.sort(lengths), want, atol=0.0051)


def test_the_predicted_class_is_named(multi: Explanation) -> None:
    for row, summary in enumerate(Parsed(multi._repr_html_()).summaries):
        assert f"→ {CLASSES[int(multi.prediction[row].argmax())]} ·" in summary


def test_a_cut_explanation_claims_no_prediction(one: Explanation, multi: Explanation) -> None:
    for e in (one, multi):
        page = Parsed(e[:, ["age", "job"]]._repr_html_())
        assert "left out" in page.text
        assert not any("prediction" in summary or "→" in summary for summary in page.summaries)


def test_large_tables_stay_small_and_what_is_left_out_is_counted() -> None:
    n, d = 100, 300
    data = pd.DataFrame(np.full((n, d), "x" * 5000, dtype=object))
    data.columns = pd.Index([f"{'long' * 100}{j}" for j in range(d)])
    data.iloc[:, ::3] = None
    values = np.random.default_rng(0).normal(size=(n, d)) / 100
    e = Explanation(values, np.zeros(n), data, tuple(data.columns))
    page = Parsed(e._repr_html_())
    assert len(e._repr_html_()) < 120_000
    assert page.count("details") == MOST_ROWS
    assert len(page.lines) == MOST_ROWS * (MOST_FEATURES + 1)
    assert "… and 90 more rows" in page.text
    for i in range(MOST_ROWS):
        lines = page.lines[(MOST_FEATURES + 1) * i : (MOST_FEATURES + 1) * (i + 1)]
        assert lines[-1][0].startswith("… and 288 more, ")
        missing = int(re.findall(r"(\d+) of them missing", lines[-1][0])[0])
        assert missing + sum("missing" in line[0] for line in lines[:-1]) == 100
        total = sum(numbers(figure)[0] for _, _, figure in lines)
        assert total == pytest.approx(e.prediction[i], abs=1e-3)


def test_few_rows_and_features_are_shown_whole() -> None:
    page = Parsed(make(data=table(12).iloc[:1])._repr_html_())
    assert "1 row ×" in page.text
    assert "more" not in page.text
    assert "Explanation of 0 rows" in Parsed(make()[[]]._repr_html_()).text


def test_nothing_to_draw_is_no_error() -> None:
    e = make(data=table()[["age"]])
    for values in (np.zeros(e.shape), np.full(e.shape, np.nan), np.full(e.shape, np.inf)):
        assert is_harmless(replace(e, values=values)._repr_html_())


@pytest.mark.parametrize("outputs", [(), CLASSES])
def test_it_is_well_formed_and_needs_nothing_from_elsewhere(outputs: tuple[str, ...]) -> None:
    assert is_harmless(make(outputs)._repr_html_())


def test_names_cells_classes_labels_and_units_are_escaped() -> None:
    page = poisoned()._repr_html_()
    assert is_harmless(page)
    page.encode("utf-8")  # half of a surrogate pair has no bytes
    assert Parsed(page).text.count("<script>") >= 4


def test_the_check_of_escaping_notices_a_page_that_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notebook, "escape", notebook.Html)
    with pytest.raises(AssertionError):
        assert is_harmless(poisoned()._repr_html_())
