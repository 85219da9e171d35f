"""What each part of a fit costs by rows and columns, measured apart; and the formula of it.

Seconds are of the processor on one thread: other work on the machine disturbs them least. Each part
is a line in the columns, by non-negative least squares:

    survey, store     rows · (a + b · columns)
    teachers          sampled rows · (a + b · columns), at most 200,000 of them
    a training step   a + b · columns, for 512 and for 2,048 rows
    explaining        rows · (a + b · columns)
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.optimize import nnls

from bench.scale.tables import TARGET, LinearGame, written
from sasanet import SASANetRegressor
from sasanet.estimator.fitting import soft_labels
from sasanet.estimator.fitting.streamed import StreamedTable
from sasanet.network import inference
from sasanet.network.sasanet import SASANet
from sasanet.streaming.parts import Reader, Roles
from sasanet.streaming.scratch import scratch_folder
from sasanet.table.sources import open_source
from sasanet.training.hyperparameters import resolve
from sasanet.training.loop import train

ROWS, BATCH, LARGE_BATCH = 50_000, 512, 2_048
_STEPS, _EXPLAINED = 100, 2_000
_MOST_SAMPLED, _SAMPLED_CELLS = 200_000, 2**24
PARTS = ("survey", "store", "teachers", "step", "large_step", "explain")


def parts_of_a_fit(n_columns: int) -> dict[str, Any]:
    """Measure the parts of one fit of a table that is read in parts."""
    model = SASANetRegressor(random_state=0)
    found: dict[str, Any] = {"rows": ROWS, "columns": n_columns}
    make, busy = LinearGame.known(n_columns).rows, time.process_time
    with written(make, ROWS) as folder, scratch_folder(None) as scratch:
        reader = Reader(open_source(folder, rows_per_part=2**62), scratch, 0)
        began = busy()
        table = StreamedTable(
            reader, Roles(TARGET), model._make_encoder(), math.inf, time.monotonic()
        )
        found["survey"] = busy() - began
        settings = model._resolve(table.n_rows)
        data = model._encode_training(table, *model._learn_target(table), None, settings)
        began = busy()
        soft = soft_labels.soften(data, settings, "auto", table.given)
        found["teachers"] = busy() - began
        settings = model._resolve(table.n_rows, soft)
        data = replace(data, labels=soft.labels)
        data = soft_labels.with_knots(data, settings.architecture.n_knots)
        began = busy()
        data = table.store(data, settings)
        found["store"] = busy() - began
        found["store_bytes"] = sum(file.stat().st_size for file in scratch.iterdir())
        network, _ = model._make_seeded_network(data, settings)
        (phase,) = model._make_phases(data, settings)
        for name, size in (("step", BATCH), ("large_step", LARGE_BATCH)):
            phase = replace(phase, steps=_STEPS, batch_size=size)
            began = busy()
            train(network, data.rows(), [phase], torch.Generator().manual_seed(0))
            found[name] = (busy() - began) / _STEPS
        began = busy()
        assert isinstance(network, SASANet)
        inference.attributions(network, torch.from_numpy(data.cells[:_EXPLAINED]))
        found["explain"] = busy() - began
    weights = sum(parameter.numel() for parameter in network.parameters())
    return found | {"explained": _EXPLAINED, "weights": weights, "clarity": soft.clarity}


@dataclass(frozen=True)
class Line:
    """a + b · columns."""

    a: float
    b: float

    def __call__(self, n_columns: float) -> float:
        """Return the value at so many columns."""
        return self.a + self.b * n_columns


def lines(runs: Sequence[dict[str, Any]]) -> dict[str, Line]:
    """Return the line of each part: per row, or per step."""
    columns = np.array([[1.0, run["columns"]] for run in runs])
    found = {}
    for part in [part for part in PARTS if all(part in run for run in runs)]:
        per = {"step": "one", "large_step": "one", "explain": "explained"}.get(part, "rows")
        values = np.array([run[part] / run.get(per, 1) for run in runs])
        scale = 1 / values  # relative errors count alike
        a, b = nnls(columns * scale[:, None], values * scale)[0]
        found[part] = Line(float(a), float(b))
    return found


def training(found: dict[str, Line], n_rows: int, n_columns: int, clarity: float) -> float:
    """Return the seconds of as many steps, of as many rows each, as the rules give a table.

    Where larger steps were not measured, as many rows go in steps of 512: an upper bound.
    """
    rules = resolve(SASANetRegressor().get_params(), n_rows, clarity)
    small = found["step"](n_columns)
    if "large_step" not in found:
        return math.ceil(rules.epochs * n_rows / min(rules.batch_size, BATCH)) * small
    large = found["large_step"](n_columns)
    a_row = (large - small) / (LARGE_BATCH - BATCH)
    return rules.steps(n_rows) * (small + (rules.batch_size - BATCH) * a_row)


def seconds(
    found: dict[str, Line], n_rows: int, n_columns: int, clarity: float
) -> dict[str, float]:
    """Return the seconds of the parts of a fit on one core."""
    return {
        "survey": n_rows * found["survey"](n_columns),
        "teachers": _sampled(n_rows, n_columns) * found["teachers"](n_columns),
        "store": n_rows * found["store"](n_columns),
        "training": training(found, n_rows, n_columns, clarity),
    }


def _sampled(n_rows: int, n_columns: int) -> int:
    """Return how many rows the teachers learn from."""
    return min(n_rows, _MOST_SAMPLED, _SAMPLED_CELLS // n_columns)


@dataclass(frozen=True)
class Cluster:
    """Machines with one worker of one core each, every worker with 512 rows of a batch."""

    machines: int
    bytes_per_second: float  # of the network, each way

    def seconds(
        self, found: dict[str, Line], n_rows: int, n_columns: int, weights: int
    ) -> dict[str, float]:
        """Return the seconds of the parts of a fit; gradients go around in a ring."""
        own = n_rows / self.machines
        epochs = resolve(SASANetRegressor().get_params(), n_rows).epochs
        n_steps = math.ceil(epochs * n_rows / (BATCH * self.machines))
        ring = 2 * (self.machines - 1) / self.machines * 4 * weights / self.bytes_per_second
        return {
            "survey": own * found["survey"](n_columns),
            "teachers": _sampled(n_rows, n_columns) * found["teachers"](n_columns),
            "store": own * found["store"](n_columns),
            "training": n_steps * found["step"](n_columns),
            "gradients": n_steps * ring,
        }
