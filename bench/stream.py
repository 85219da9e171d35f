"""How the command line does on real sizes: a million rows to explain, a report of 5,000 to open.

``python -m bench.stream`` fits census income for a minute, writes a million of its rows (drawn with
replacement) to a CSV file outside the repository, and runs ``sasanet explain`` on it once per
output format; then ``sasanet report``, whose page it opens in Chromium. Results are in
bench/results/stream/*.json, shown in docs/measured/benchmarks.md. Measure alone: both cores are
used.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import runner
from bench.browser import new_tab
from bench.page import write_page
from bench.tables import data

ROWS = 1_000_000
_FIT_SECONDS = 60
_PART = 50_000  # rows drawn at a time: the file is written in bounded memory too


def explain(ending: str, n_rows: int = ROWS) -> dict[str, Any]:
    """Explain a long CSV file from the shell, in a process whose peak memory is its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _fit(folder)
        table, out = _long_table(folder, n_rows), folder / f"explained.{ending}"
        start = time.perf_counter()
        said, peak = _sasanet("explain", folder / "model", table, "--out", out, "--json")
        seconds, told = time.perf_counter() - start, json.loads(said)
        assert told["rows"] == n_rows
        return {
            "rows": n_rows,
            "features": len(told["features"]),
            "seconds": seconds,  # with starting Python and loading the model
            "rows_per_second": n_rows / seconds,
            "explain_peak_gib": peak,
            "table_gib": table.stat().st_size / 2**30,
            "out_gib": out.stat().st_size / 2**30,
        }


def report(n_rows: int = 5_000) -> dict[str, Any]:
    """Write a report from the shell and open it: its size, and the seconds until it has loaded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _fit(folder)
        table, page = folder / "test.csv", folder / "report.html"
        data.read("census_income_test")[:n_rows].to_csv(table, index=False)
        start = time.perf_counter()
        _sasanet("report", folder / "model", table, "--target", "income", "--out", page)
        seconds = time.perf_counter() - start
        return {
            "rows": n_rows,
            "seconds": seconds,
            "page_mib": page.stat().st_size / 2**20,
            "open_seconds": [_open(page) for _ in range(3)],
        }


def _open(page: Path) -> float:
    """Return the seconds until a browser, already running, has loaded a page."""
    with new_tab() as tab:
        start = time.perf_counter()
        tab.goto(page.resolve().as_uri(), wait_until="load")
        seconds = time.perf_counter() - start
    return seconds


def _fit(folder: Path) -> None:
    """Fit census income from a file."""
    _sasanet(
        "fit", _training_table(folder), "--target", "income", "--exclude", "instance_weight",
        "--categorical", ",".join(data.CENSUS_CODES), "--time-limit", _FIT_SECONDS,
        "--out", folder / "model",
    )  # fmt: skip


def _training_table(folder: Path) -> Path:
    path = folder / "train.csv"
    data.read("census_income_train")[:20_000].to_csv(path, index=False)
    return path


def _long_table(folder: Path, n_rows: int) -> Path:
    path, rows = folder / "long.csv", data.read("census_income_test")
    for start in range(0, n_rows, _PART):
        part = rows.sample(min(_PART, n_rows - start), replace=True, random_state=start)
        part.to_csv(path, index=False, mode="a", header=start == 0)
    return path


def _sasanet(*words: object) -> tuple[str, float]:
    """Run the command line as a user does; return what it said and its peak memory in GiB."""
    asked = [sys.executable, "-m", "sasanet.cli", *map(str, words)]
    process = subprocess.Popen(asked, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, asked)
    return said, usage.ru_maxrss / 2**20


JOBS: dict[str, runner.Job] = {
    "explain-csv": lambda: explain("csv"),
    "explain-parquet": lambda: explain("parquet"),
    "report-census": report,
}


if __name__ == "__main__":
    runner.main(
        "bench.stream",
        runner.RESULTS / "stream",
        JOBS,
        lambda _: write_page(runner.RESULTS / "core"),
    )
