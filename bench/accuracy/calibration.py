"""Is v(S) calibrated? Test rows of many tables, for every number of known features.

Part of ``make bench-accuracy``: the default's calibration error beside what chance alone makes of
it on these rows, and its loss beside that of tuned LightGBM. First split of each table.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any

import torch

from bench import runner
from bench.accuracy.calibration_page import write_page
from bench.accuracy.fit_time import chosen_settings
from bench.accuracy.measure import measure, scores
from bench.accuracy.rivals import SYSTEMS, System, Task
from bench.accuracy.run import PARTIAL
from bench.tables import data
from bench.tables.data import Split
from sasanet.audit.calibration import calibrate

MOST_ROWS = 4_000  # of the test part
TABLES = (
    "california housing",
    "diamonds",
    "higgs_64k",
    "credit default",
    "bike sharing",
    "census",
    "coil2000",
    "creditcard",
    "german credit",
    "titanic",
    "penguins",
    "diabetes",
    "breast cancer",
    "wine",
    "digits",
    "affairs",
    "doctor visits",
    "votes",
    "friedman",
    "known probit",
    "known quadratic",
)


def calibration(name: str) -> dict[str, Any]:
    """Fit both on the first split of a table; measure calibration and losses on its test rows."""
    split, regression = next(data.splits(name)), data.is_regression(name)
    model = SYSTEMS["sasanet"].fit(Task(split.X_train, split.y_train, regression, seed=0), {})
    found = {"table": name, "rows": len(split.X_train), "regression": regression}
    found |= calibration_of(model, split)
    found["ours"] = scores(model, split.X_test, split.y_test)
    tuned = _tuned_lightgbm(name)
    file = PARTIAL / f"calibration-{name}.json"
    splits = islice(data.splits(name), 1)
    found["lightgbm"] = measure(tuned, splits, regression, file)["splits"][0]
    return found


def calibration_of(model: Any, split: Split) -> dict[str, Any]:
    """Return the calibration error of all sizes, of complete rows, and of each size."""
    generator = torch.Generator().manual_seed(0)
    chosen = torch.randperm(len(split.X_test), generator=generator)[:MOST_ROWS].numpy()
    _, cells = model._encode(split.X_test.iloc[chosen])
    numbers = model.target_.read(split.y_test.iloc[chosen])
    sizes, whole = calibrate(model, cells, numbers, generator)
    names = ("error", "error_low", "error_high", "noise", "noise_high", "slope")
    return {
        "test_rows": len(chosen),
        "all_sizes": {
            "error": whole.value,
            "error_low": whole.low,
            "error_high": whole.high,
            "noise": whole.noise,
            "noise_high": whole.noise_high,
        },
        "sizes": [
            {"features": size.features} | {name: getattr(size, name) for name in names}
            for size in sizes
        ],
    }


def _tuned_lightgbm(name: str) -> System:
    """Return LightGBM with what its search chose for a table, where that is on file."""
    lightgbm = SYSTEMS["lightgbm"]
    try:
        return System(lightgbm.fit, (chosen_settings(name),))
    except FileNotFoundError:
        return lightgbm


JOBS: dict[str, runner.Job] = {
    name.replace(" ", "_"): partial(calibration, name) for name in TABLES
}

if __name__ == "__main__":
    runner.main("bench.accuracy.calibration", runner.RESULTS / "calibration", JOBS, write_page)
