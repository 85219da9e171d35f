"""Rows a second of predictions and explanations, beside trees: ``make bench-speed``.

1. batches of one to a hundred thousand rows, on one thread and on two;
2. one row at a time: how long half and 99 % of the calls take;
3. how close the learned module is, as given and under a shift, and what it costs to learn;
4. memory when a million rows are explained, and speed while other processes are busy;
5. what a second of fitting buys.

Systems take turns within one run, so that what else the machine does disturbs all alike. On one
thread the time of the processor is taken, which other work disturbs little; on two that of the
clock, since their waiting for each other counts.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from bench import runner
from bench.speed.front import TABLES as FRONTS
from bench.speed.front import front, known
from bench.speed.page import write_page
from bench.speed.systems import MODELS, TABLES, System, fit, learn, split, systems, use_threads
from bench.tables import data
from sasanet import load

BATCHES, MANY = (1, 100, 10_000), 100_000
SLOW_ROWS = 1_000  # of a larger batch, for systems whose time is proportional to the rows
ROUNDS, SMALL_ROUNDS, CALLS = 3, 5, 300
ENOUGH_SECONDS = 6.0  # of one system by size of the batch, after which it takes no further turns
AUDITED, ORDERS = 200, 500
BESIDE_ROWS = 2_000


def batches(name: str, threads: int) -> dict[str, Any]:
    """Return rows a second of every system by size of the batch."""
    use_threads(threads)
    rows = _rows(name, MANY)
    clock = _clock(threads)
    cold, ready = {}, {}
    for system, ways in systems(name, threads).items():
        start = clock()
        ready[system] = ways, ways.make()
        ready[system][1](rows[:100])
        cold[system] = 1e3 * (clock() - start)
    found: dict[str, Any] = {"threads": threads, "first_call_ms": cold, "rows_per_second": {}}
    for size in (*BATCHES, MANY):
        rounds = SMALL_ROUNDS if size <= 100 else ROUNDS if size < MANY else 1
        taking_part = {key: way for key, way in ready.items() if size < MANY or not way[0].is_slow}
        if size == MANY and threads == 1:
            continue
        found["rows_per_second"][str(size)] = in_turn(taking_part, rows[:size], rounds, clock)
    return found


def _clock(threads: int) -> Callable[[], float]:
    return time.process_time if threads == 1 else time.perf_counter


def in_turn(
    ready: dict[str, tuple[System, Callable[[pd.DataFrame], Any]]],
    rows: pd.DataFrame,
    rounds: int,
    clock: Callable[[], float],
) -> dict[str, list[float]]:
    """Return rows a second in every round; the systems take turns, slow ones not in every round."""
    rates: dict[str, list[float]] = {key: [] for key in ready}
    spent = dict.fromkeys(ready, 0.0)
    for _ in range(rounds):
        for key, (system, explain) in ready.items():
            if spent[key] > ENOUGH_SECONDS:
                continue
            part = rows[:SLOW_ROWS] if system.is_slow else rows
            start = clock()
            explain(part)
            seconds = max(clock() - start, 1e-9)
            rates[key].append(len(part) / seconds)
            spent[key] += seconds
    return rates


def _rows(name: str, count: int) -> pd.DataFrame:
    """Return so many test rows, repeated where there are fewer."""
    rows = split(name).X_test
    times = -(-count // len(rows))
    return pd.concat([rows] * times, ignore_index=True)[:count]


def one_row(name: str) -> dict[str, Any]:
    """Return how long one row takes, in milliseconds: p50 and p99 of calls in turn."""
    use_threads(1)
    rows = split(name).X_test[:CALLS]
    taught, trees = load(MODELS / name / "taught"), systems(name, 1)
    plain = load(MODELS / name / "plain")
    records = rows.to_dict("records")
    frames = [rows[i : i + 1] for i in range(len(rows))]
    calls: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
        "SASANet, predict_one": (plain.predict_proba_one, records),
        "SASANet, explain_one, formula": (plain.explain_one, records),
        "SASANet, explain_one, learned module": (taught.explain_one, records),
        **{key: (trees[key].make(), frames) for key in ("LightGBM, predict", _CONTRIB)},
    }
    times: dict[str, list[float]] = {key: [] for key in calls}
    for call, inputs in calls.values():
        call(inputs[0])  # what is made once per model
    for i in range(CALLS):
        for key, (call, inputs) in calls.items():
            start = time.process_time()
            call(inputs[i])
            times[key].append(1e3 * (time.process_time() - start))
    return {
        "calls": CALLS,
        "p50_ms": {key: median(each) for key, each in times.items()},
        "p99_ms": {key: float(np.quantile(each, 0.99)) for key, each in times.items()},
    }


_CONTRIB = "LightGBM, pred_contrib"
_BESIDE = ("SASANet, predict", "SASANet, formula", "SASANet, learned module", _CONTRIB)
_BUSY = "while True: pass"


def accuracy(name: str) -> dict[str, Any]:
    """Compare the formula and the learned module with the Shapley values of the model's game."""
    model, rows = load(MODELS / name / "taught"), split(name)
    tables = {"as given": rows.X_test, "shifted": data.shifted(rows.X_test, rows.X_train)}
    found: dict[str, Any] = {"rows": AUDITED, "orders": ORDERS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shifted values
        for kind, table in tables.items():
            for method in ("formula", "learned"):
                report = model.audit(table, n_rows=AUDITED, n_orders=ORDERS, method=method)
                finding = report["self-game R²"]
                found[f"{method}, {kind}"] = [finding.value, finding.low, finding.high]
    return found


def million() -> dict[str, Any]:
    """Return what explaining a million census rows adds to the memory of the process.

    By the learned module: the formula's arrays of all rows are the same, and it takes minutes.
    """
    model, rows = load(MODELS / "census" / "taught"), _rows("census", 1_000_000)
    model.explain(rows[:1_000], method="learned")
    found = {"rows": len(rows), "table_gib": rows.memory_usage().sum() / 2**30}
    found["peak_gib_before"] = runner.peak_gib()
    start = time.perf_counter()
    explained = model.explain(rows, method="learned")
    found["seconds"] = time.perf_counter() - start
    return found | {"values_gib": explained.values.nbytes / 2**30}


def beside_others() -> dict[str, Any]:
    """Return rows a second on two threads while other processes keep one core busy, and both."""
    use_threads(2)
    rows, taking_part = _rows("census", BESIDE_ROWS), systems("census", 2)
    ready = {key: (taking_part[key], taking_part[key].make()) for key in _BESIDE}
    for _, explain in ready.values():
        explain(rows[:100])
    found: dict[str, Any] = {"rows": BESIDE_ROWS, "rows_per_second": {}}
    for busy in (0, 1, 2):
        others = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(busy)]
        try:
            found["rows_per_second"][str(busy)] = in_turn(ready, rows, ROUNDS, time.perf_counter)
        finally:
            for other in others:
                other.kill()
                other.wait()
    return found


def _jobs(name: str) -> dict[str, runner.Job]:
    return {
        f"fit-{name}": partial(fit, name),
        f"learn-{name}": partial(learn, name),
        f"batches-{name}-2": partial(batches, name, 2),
        f"one-{name}": partial(one_row, name),
        f"batches-{name}-1": partial(batches, name, 1),
        f"accuracy-{name}": partial(accuracy, name),
    }


JOBS: dict[str, runner.Job] = {key: job for name in TABLES for key, job in _jobs(name).items()}
JOBS["million"] = million
JOBS["beside"] = beside_others
JOBS |= {f"front-{name.replace(' ', '_')}": partial(front, name) for name in FRONTS}
JOBS["front-known"] = known

if __name__ == "__main__":
    runner.main("bench.speed.run", runner.RESULTS / "speed", JOBS, write_page)
