"""A page stays small and can be written, whatever the table holds."""

import json

import numpy as np
import pandas as pd

from reported import fitted
from sasanet import SASANetClassifier
from sasanet.plots.dependence import dependence_data
from sasanet.report import row_data, write_report
from sasanet.report.summary import gather

RANDOM = np.random.default_rng(0)


def long_table(n_rows, n_classes):
    """Return long unique texts, long labels of rows, and long names of many classes."""
    table = pd.DataFrame(
        {
            "x": RANDOM.normal(size=n_rows),
            "note": [f"note {i} <b> " * 300 for i in range(n_rows)],
        },
        index=[f"row {i} " * 300 for i in range(n_rows)],
    )
    y = np.array([f"class {k} " * 60 for k in range(n_classes)])[np.arange(n_rows) % n_classes]
    return table, y


def test_long_texts_and_labels_and_many_classes_stay_below_5_mb(tmp_path):
    table, y = long_table(3_000, 80)
    model = fitted(SASANetClassifier, table[:400], y[:400])
    assert write_report(model, table, tmp_path / "page.html", y).stat().st_size < 5_000_000


def test_long_texts_keep_both_ends():
    table, y = long_table(40, 2)
    rows = gather(fitted(SASANetClassifier, table, y), table, y, None)["data"]["rows"]
    assert rows["labels"][7].startswith("row 7 row 7")
    assert rows["labels"][7].endswith("row 7 ")
    assert all(len(label) <= 100 for label in rows["labels"])
    assert all(len(word) <= 100 and "…" in word for word in rows["columns"][1]["words"])


def test_what_texts_take_is_what_the_page_writes():
    texts = ["a<b>&", "é", "日本", "x" * 50]
    written = json.dumps(texts, ensure_ascii=False).replace("<", "\\u003c")
    written = written.replace(">", "\\u003e").replace("&", "\\u0026")
    assert row_data.text_bytes(texts) == len(written.encode())


def test_the_largest_numbers_can_be_reported(tmp_path):
    """Their means have sums beyond the largest float."""
    table = pd.DataFrame(
        {"big": RANDOM.choice([1e308, -1e308, 1.7e308, 0.0], 200), "x": RANDOM.normal(size=200)}
    )
    y = np.arange(200) % 2
    model = fitted(SASANetClassifier, table, y)
    text = write_report(model, table, tmp_path / "page.html", y, group="big").read_text("utf-8")
    assert "Infinity" not in text
    shown = dependence_data(model.explain(table), "big")["x"]
    np.testing.assert_allclose(shown, [-1e308, 0.0, 1e308, 1.7e308])
