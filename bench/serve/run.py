"""Requests a second of ``sasanet serve`` beside a minimal server of LightGBM, one after the other.

``SASANET_DATA`` names the folder of the tables; the models are fitted once and kept beside the
results. Only this machine is asked.
"""

from __future__ import annotations

import json
import os
import time
from functools import partial
from typing import Any

import torch

from bench import runner
from bench.accuracy.rivals.task import Task
from bench.accuracy.rivals.trees import fit_lightgbm
from bench.serve.asked import Asked, records
from bench.serve.load import ask, post
from bench.serve.onnx import beside_onnx
from bench.serve.page import write_page
from bench.serve.rival import keep
from bench.serve.servers import MODELS, rival_of, server_of
from bench.serve.soak import soak
from bench.tables import data
from sasanet import SASANetClassifier, load

CONNECTIONS = 64
SECONDS = float(os.environ.get("SASANET_BENCH_SECONDS", "60"))
N_REQUESTS = 500
SERVERS = ("formula", "learned", "lightgbm")
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


def measure(server: str, size: int) -> dict[str, Any]:
    """Ask one server for explanations of so many rows a request; ours are compared."""
    rows = models().X_test[: N_REQUESTS * min(size, 20)]
    parts = [rows[i : i + size] for i in range(0, len(rows) - size + 1, size)]
    connections = CONNECTIONS if size == 1 else 4
    if server == "lightgbm":
        requests = [post("/explain", json.dumps(records(part), default=float).encode())
                    for part in parts]  # fmt: skip
        check, started = None, rival_of(MODELS / server)
    else:
        asked = Asked(server, [load(MODELS / server)], parts)
        requests, check, started = asked.requests, asked.check, server_of(MODELS / server)
    with started as (port, process):
        ask(port, requests, connections, min(5.0, SECONDS))  # the first answers are slower
        before, began = process.memory_info().rss, process.cpu_times()
        answers, duration = ask(port, requests, connections, SECONDS, check)
        grown, ended = process.memory_info().rss / before - 1, process.cpu_times()
    busy = ended.user + ended.system - began.user - began.system
    found = {"server": server, "rows": size, "memory_growth": grown, "rss_gib": before / 2**30}
    found |= {"load_average": os.getloadavg()[0]}
    found |= {"cpu_ms_per_row": 1_000 * busy / max(1, len(answers.seconds) * size)}
    return found | answers.summary(duration, size) | {"seconds": duration, "cores": os.cpu_count()}


def library(kind: str) -> dict[str, Any]:
    """Return the rows a second of the library alone, 100 rows a call."""
    torch.set_num_threads(1)  # as the server
    rows = models().X_test[:5_000]
    model = load(MODELS / kind)
    parts = [rows[i : i + 100] for i in range(0, len(rows), 100)]
    model.explain(parts[0])
    start, began = time.perf_counter(), time.process_time()
    for part in parts:
        model.explain(part)
    seconds, busy = time.perf_counter() - start, time.process_time() - began
    rates = {"rows_per_second": len(rows) / seconds, "cpu_ms_per_row": 1_000 * busy / len(rows)}
    return rates | {"threads": torch.get_num_threads(), "load_average": os.getloadavg()[0]}


JOBS: dict[str, runner.Job] = {
    **{f"one-{server}": partial(measure, server, 1) for server in SERVERS},
    **{f"hundred-{server}": partial(measure, server, 100) for server in SERVERS},
    "onnx": lambda: beside_onnx(load(MODELS / "formula"), models().X_test),
    "soak": lambda: soak(models().X_test),
    **{f"library-{kind}": partial(library, kind) for kind in SERVERS[:2]},
}

if __name__ == "__main__":
    runner.main("bench.serve.run", runner.RESULTS / "serve", JOBS, write_page)
