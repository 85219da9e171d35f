"""`make bench-speed`: systems take turns, and the page says what the files say."""

from __future__ import annotations

import json

import pandas as pd

from bench.speed import page, run
from bench.speed.systems import System

ROWS = pd.DataFrame({"x": range(2_000)})


def timed(is_slow):
    """Return the calls of two systems in turn, and the rates of one that takes 1 ms a row."""
    seen, now = [], [0.0]

    def make(name):
        def explain(rows):
            seen.append((name, len(rows)))
            now[0] += 1e-3 * len(rows)

        return System(lambda: explain, is_slow), explain

    ready = {name: make(name) for name in ("one", "other")}
    return seen, run.in_turn(ready, ROWS, 2, lambda: now[0])


def test_systems_take_turns_and_slow_ones_get_some_of_the_rows():
    seen, rates = timed(is_slow=False)
    assert seen == [("one", 2_000), ("other", 2_000)] * 2
    assert [round(rate) for rate in rates["one"]] == [1_000, 1_000]
    seen, rates = timed(is_slow=True)
    assert {count for _, count in seen} == {run.SLOW_ROWS}
    assert [round(rate) for rate in rates["other"]] == [1_000, 1_000]


def test_the_page_says_how_many_times_as_fast(tmp_path, monkeypatch):
    rates = {
        "SASANet, predict": [900.0],
        "SASANet, formula": [100.0, 300.0, 200.0],
        "SASANet, learned module": [300.0],
        "LightGBM, pred_contrib": [20.0],
        "LightGBM, Woodelf": [10.0],
    }
    result = {
        "threads": 2,
        "first_call_ms": dict.fromkeys(rates, 5.0),
        "rows_per_second": dict.fromkeys(("1", "100", "10000"), rates),
    }
    (tmp_path / "batches-census-2.json").write_text(json.dumps(result))
    monkeypatch.setattr(page, "PAGE", tmp_path / "speed.md")
    page.write_page(tmp_path)
    text = page.PAGE.read_text("utf-8")
    assert "| census income | 10,000 | 10.0 | 15.0 | 0.5 | 4.5 | 3.0 |" in text
    assert "| SASANet, formula | 200 | 200 | 200 | 5 |" in text
    assert "one thread\n" not in text  # nothing was measured there
