"""Two Ray workers of one core each beside two threads of one process, on the same rows.

Both fit the known table from the same Parquet files, and explain rows of it into Parquet files. One
process with two threads is what a user without a cluster has; what Ray needs to begin stands apart.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

import sasanet.ray
from bench.scale.fits import Stopwatch, cores, score_known
from bench.scale.tables import TARGET, LinearGame, written
from sasanet import SASANetRegressor
from sasanet.errors import need_package
from sasanet.scale import explain_batches

N_WORKERS = 2
_SETTINGS = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
}


def beside_threads(n_rows: int, n_explained: int, batch_size: int, epochs: int) -> dict[str, Any]:
    """Fit and explain by both, one after the other."""
    torch.set_num_threads(N_WORKERS)
    model = SASANetRegressor(random_state=0, batch_size=batch_size, max_epochs=epochs)
    found: dict[str, Any] = {"rows": n_rows, "explained": n_explained, "batch_size": batch_size}
    found |= {"epochs": epochs, "cores": cores()}
    make = LinearGame.known().rows
    with written(make, n_rows) as folder, written(make, n_explained) as asked:
        watch = Stopwatch()
        model.fit(folder, target=TARGET)
        found |= watch.seconds("fit_threads")
        found |= {"train_threads_seconds": model.history_[-1]["seconds"]}
        found["score_threads"] = score_known(model)
        with tempfile.TemporaryDirectory() as out:
            watch = Stopwatch()
            explain_batches(model, asked, Path(out) / "explained", n_jobs=1)
            found |= watch.seconds("explain_threads")
        return found | _by_ray(model, folder, asked)


def _by_ray(model: SASANetRegressor, folder: Path, asked: Path) -> dict[str, Any]:
    ray, data = need_package("ray", "ray"), need_package("ray.data", "ray")
    os.environ |= _SETTINGS | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    began = time.perf_counter()
    ray.init(num_cpus=N_WORKERS, include_dashboard=False, log_to_driver=False)
    found = {"ray_start_seconds": time.perf_counter() - began}
    try:
        began = time.perf_counter()
        table = data.read_parquet(str(folder))
        model = sasanet.ray.fit(model, table, TARGET, num_workers=N_WORKERS)
        found["fit_ray_seconds"] = time.perf_counter() - began
        found |= {"train_ray_seconds": model.history_[-1]["seconds"]}
        found["score_ray"] = score_known(model)
        with tempfile.TemporaryDirectory() as out:
            began = time.perf_counter()
            rows = data.read_parquet(str(asked))
            explained = sasanet.ray.explain(model, rows, num_workers=N_WORKERS)
            explained.write_parquet(str(Path(out) / "explained"))
            found["explain_ray_seconds"] = time.perf_counter() - began
    finally:
        ray.shutdown()
    return found
