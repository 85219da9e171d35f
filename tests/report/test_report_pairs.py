"""The page names the pairs and groups that the model gives, or says why it cannot."""

import numpy as np
import pytest

from sasanet.report import write_report
from sasanet.report.pairs import group_importance, strongest_pairs
from sasanet.table.encoder import EncodedTable
from small_models import fitted, rows


def encoded(model):
    table, cells = model._encode(rows())
    return EncodedTable(table, cells.numpy()), model.explain(rows())


@pytest.mark.parametrize("kind", ["binary", "classes"])
def test_pairs_of_all_rows_and_of_single_ones_are_those_of_the_model(kind):
    model = fitted(kind)
    found = strongest_pairs(model, *encoded(model))
    values = 2 * model.interactions(rows()[: found["rows"]])
    names = list(rows().columns)
    sizes = np.abs(values).mean(axis=(0, *range(3, values.ndim)))
    for one, other, value in found["overall"]:
        np.testing.assert_allclose(value, sizes[names.index(one), names.index(other)], rtol=1e-5)
    assert found["overall"][0][2] == pytest.approx(np.triu(sizes, 1).max(), rel=1e-5)
    row, strongest = found["single"][2]
    own = (
        values[row]
        if kind == "binary"
        else values[row, ..., model.explain(rows()).prediction[row].argmax()]
    )
    for one, other, value in strongest:
        np.testing.assert_allclose(value, own[names.index(one), names.index(other)], rtol=1e-4)
    signs = [value < 0 for _, single in found["single"] for *_, value in single]
    assert 0 < sum(signs) < len(signs)  # of single rows with their signs


def test_groups_are_players_and_not_sums():
    model, X = fitted("binary"), rows()
    groups = {"front": list(X.columns[:6]), "back": list(X.columns[6:])}
    found = group_importance(model, encoded(model)[0], groups)
    e = model.explain(X, groups=groups)
    assert {one["name"]: one["value"] for one in found} == pytest.approx(e.importance().to_dict())
    sums = model.explain(X).sum_of_members(groups).importance()
    assert found[0]["value"] != pytest.approx(sums[found[0]["name"]], rel=1e-4)  # the twin
    assert group_importance(model, encoded(model)[0], None) == []


def test_the_page_shows_them_or_says_why_not(tmp_path):
    X = rows()
    groups = {"front <b>": list(X.columns[:6])}
    page = write_report(fitted("binary"), X, tmp_path / "r.html", groups=groups).read_text("utf-8")
    assert "By group of columns" in page
    assert "front &lt;b&gt;" in page
    assert "front <b>" not in page
    assert "Mean |interaction|" in page
    other = write_report(fitted("sequence"), X, tmp_path / "s.html").read_text("utf-8")
    assert "they need the set network" in other
    assert "By group of columns" not in other
