"""Requests a second of ``sasanet serve`` beside a minimal server of LightGBM, one after the other.

``SASANET_DATA`` names the folder of the tables; the models are fitted once and kept beside the
results. Only this machine is asked.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import torch

from bench import runner
from bench.accuracy.rivals.task import Task
from bench.accuracy.rivals.trees import fit_lightgbm
from bench.serve.load import HOST, ask
from bench.serve.page import write_page
from bench.serve.rival import keep
from bench.tables import data
from sasanet import SASANetClassifier
from sasanet.serve.process import free_port

MODELS = Path(__file__).parents[1] / "models" / "serve"
CONNECTIONS = 64
SECONDS = float(os.environ.get("SASANET_BENCH_SECONDS", "60"))
N_BODIES = 500
SERVERS = ("formula", "learned", "lightgbm")
_START = 90.0  # seconds that a server may take to start
_LIGHTGBM = {
    "learning_rate": 0.03,
    "num_leaves": 31,
    "colsample_bytree": 0.5,
}  # best in bench-accuracy


def models() -> data.Split:
    """Fit what is not there yet: ours with and without the learned module, and tuned LightGBM."""
    split = data.census()
    if not (MODELS / "learned").exists():
        model = SASANetClassifier(random_state=0).fit(split.X_train, split.y_train)
        model.save(MODELS / "formula")
        model.learn_attributions(split.X_train)
        model.save(MODELS / "learned")
    if not (MODELS / "lightgbm").exists():
        task = Task(split.X_train, split.y_train, regression=False, seed=0)
        keep(fit_lightgbm(task, _LIGHTGBM), split.X_train, MODELS / "lightgbm")
    return split


def bodies(rows: pd.DataFrame, size: int) -> list[bytes]:
    """Return requests of so many rows each."""
    records = rows.astype(object).where(rows.notna(), None).to_dict("records")
    parts = (records[i : i + size] for i in range(0, len(records) - size + 1, size))
    return [json.dumps(part, default=float).encode() for part in parts]


@contextlib.contextmanager
def running(server: str) -> Iterator[tuple[int, str, psutil.Process]]:
    """Start a server; yield its port, the path that explains, and its process."""
    port = free_port()
    folder, ready, path = MODELS / server, "/docs", "/explain"
    command = ["-m", "bench.serve.rival", str(folder), str(port)]
    if server != "lightgbm":
        ready, path = "/v2/health/ready", f"/models/{server}/explain"
        command = ["-m", "sasanet.cli", "serve", str(folder), "--port", str(port)]
    with subprocess.Popen([sys.executable, *command], stderr=subprocess.DEVNULL) as process:
        try:
            _wait(f"http://{HOST}:{port}{ready}", process)
            yield port, path, psutil.Process(process.pid)
        finally:
            process.terminate()


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=2):
            return
        time.sleep(0.2)
    raise SystemExit(f"The server at {address} did not start.")


def measure(server: str, size: int) -> dict[str, Any]:
    """Ask one server for explanations of so many rows a request."""
    rows = models().X_test[: N_BODIES * min(size, 20)]
    asked = bodies(rows, size)
    with running(server) as (port, path, process):
        ask(port, path, asked, 4, min(3.0, SECONDS))  # the first answers are slower
        before = process.memory_info().rss
        answers, duration = ask(port, path, asked, CONNECTIONS if size == 1 else 4, SECONDS)
        grown = process.memory_info().rss / before - 1
    found = {"server": server, "rows": size, "memory_growth": grown, "rss_gib": before / 2**30}
    return found | answers.summary(duration, size) | {"seconds": duration, "cores": os.cpu_count()}


def library(kind: str) -> dict[str, Any]:
    """Return the rows a second of the library alone, 100 rows a call."""
    from sasanet import load

    rows = models().X_test[:10_000]
    model = load(MODELS / kind)
    parts = [rows[i : i + 100] for i in range(0, len(rows), 100)]
    model.explain(parts[0])
    start = time.perf_counter()
    for part in parts:
        model.explain(part)
    seconds = time.perf_counter() - start
    return {"rows_per_second": len(rows) / seconds, "threads": torch.get_num_threads()}


JOBS: dict[str, runner.Job] = {
    **{f"one-{server}": partial(measure, server, 1) for server in SERVERS},
    **{f"hundred-{server}": partial(measure, server, 100) for server in SERVERS},
    **{f"library-{kind}": partial(library, kind) for kind in SERVERS[:2]},
}

if __name__ == "__main__":
    runner.main("bench.serve.run", runner.RESULTS / "serve", JOBS, write_page)
