"""What people decide by, of any kind of model: neither order, nor company, nor a file changes it.

The answers are tables of words and numbers, so the properties of ``test_every_question`` that make
sense of them are tested here: reasons, recourse, cohorts, drift, importances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import small_models
from sasanet import load

N = 14
ROUNDING = 2e-5
OUTPUT = {"classes": "b"}
THRESHOLD = {"binary": 0.4, "classes": 0.3, "number": 0.0, "rate": 1.0}
Decision = Callable[[Any, pd.DataFrame, str], pd.DataFrame]


def rows() -> pd.DataFrame:
    return small_models.rows(N)


def explained(model: Any, X: pd.DataFrame, kind: str) -> Any:
    found = model.explain(X)
    return found.output(OUTPUT[kind]) if kind in OUTPUT else found


def reasons(model: Any, X: pd.DataFrame, kind: str) -> pd.DataFrame:
    found = model.reasons(X, THRESHOLD[kind], k=2, exclude=["x1"], output=OUTPUT.get(kind))
    return found.drop(columns="reason")  # numbers in words


def recourse(model: Any, X: pd.DataFrame, kind: str) -> pd.DataFrame:
    change = {"x0": (-1, 1), "x2": (-1, 1)}
    found = model.recourse(X, THRESHOLD[kind], change, max_changes=1, output=OUTPUT.get(kind))
    ends = {end: pd.to_numeric(found[end]) for end in ("from", "to")}  # some rows have none
    return found.assign(**ends)


def cohorts(model: Any, X: pd.DataFrame, kind: str) -> pd.DataFrame:
    parts = explained(model, X, kind).cohorts("x0")
    names = sorted(parts)
    return parts[names[0]].compare(parts[names[1]]).sort_index()


def drift(model: Any, X: pd.DataFrame, kind: str) -> pd.DataFrame:
    e = explained(model, X, kind)
    odd = np.isin(X.index, rows().index[::2])
    return e[odd].drift(e[~odd]).sort_index()


def importances(model: Any, X: pd.DataFrame, kind: str) -> pd.DataFrame:
    del X, kind
    return pd.DataFrame({"importance": model.feature_importances_}, model.encoder_.names)


BY_ROW: dict[str, Decision] = {"reasons": reasons, "recourse": recourse}
OF_TABLES: dict[str, Decision] = {"cohorts": cohorts, "drift": drift, "importances": importances}
CASES = [(kind, name) for kind in THRESHOLD for name in BY_ROW | OF_TABLES]


def assert_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert len(expected)
    pd.testing.assert_frame_equal(found, expected, atol=ROUNDING, rtol=ROUNDING, check_dtype=False)


def check_order_of_columns(model: Any, kind: str, ask: Decision) -> None:
    X = rows()
    assert_same(ask(model, X[X.columns[::-1]], kind), ask(model, X, kind))


def check_company(model: Any, kind: str, ask: Decision) -> None:
    """Every row alone, and all of them from the end, have what they have together."""
    X, together = rows(), ask(model, rows(), kind)
    found = [ask(model, X[i : i + 1], kind) for i in range(N)]
    alone = pd.concat([part for part in found if len(part)], ignore_index=True)
    assert_same(alone, together)
    turned = ask(model, X[::-1], kind).sort_values("row", kind="stable", ignore_index=True)
    assert_same(turned, together)


def check_order_of_rows(model: Any, kind: str, ask: Decision) -> None:
    X = rows()
    assert_same(ask(model, X[::-1], kind), ask(model, X, kind))


def check_saving(model: Any, kind: str, ask: Decision, folder: Any) -> None:
    model.save(folder / "model")
    found = ask(load(folder / "model"), rows(), kind)
    pd.testing.assert_frame_equal(found, ask(model, rows(), kind), check_exact=True)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_what_must_hold(kind, name, tmp_path):
    model, ask = small_models.fitted(kind), (BY_ROW | OF_TABLES)[name]
    check_order_of_columns(model, kind, ask)
    (check_company if name in BY_ROW else check_order_of_rows)(model, kind, ask)
    check_saving(model, kind, ask, tmp_path)


def spoiled(ask: Decision, error: Callable[[Any, pd.DataFrame], float]) -> Decision:
    """Return a decision whose numbers are wrong by so much."""

    def wrong(model: Any, X: pd.DataFrame, kind: str) -> pd.DataFrame:
        found = ask(model, X, kind)
        numbers = found.select_dtypes("number").columns[-1]
        return found.assign(**{numbers: found[numbers] + error(model, X)})

    return wrong


@pytest.mark.parametrize("name", ["reasons", "drift"])
def test_the_checks_find_what_is_wrong(name, tmp_path):
    model, ask = small_models.fitted("binary"), (BY_ROW | OF_TABLES)[name]
    by_place = spoiled(ask, lambda _, X: 1e-3 * (X.columns[0] == "x0"))
    by_company = spoiled(ask, lambda _, X: 1e-3 * len(X))
    by_row = spoiled(ask, lambda _, X: 1e-3 * X.index[0])
    by_model = spoiled(ask, lambda asked, _: 1e-9 * (asked is model))
    with pytest.raises(AssertionError):
        check_order_of_columns(model, "binary", by_place)
    with pytest.raises(AssertionError):
        check_order_of_rows(model, "binary", by_row)
    with pytest.raises(AssertionError):
        check_saving(model, "binary", by_model, tmp_path)
    if name in BY_ROW:
        with pytest.raises(AssertionError):
            check_company(model, "binary", by_company)
