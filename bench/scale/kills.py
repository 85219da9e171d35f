"""kill −9 at random moments of a fit with a checkpoint: the same call must end with equal weights.

Fits are forked from one process that has everything imported, so that a moment is one of the fit.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.scale.tables import TARGET, LinearGame
from sasanet import SASANetRegressor, load

_ROWS, _MOST_LIVES = 2_000, 20


def _fit(folder: Path, n_rows: int = _ROWS) -> SASANetRegressor:
    table = LinearGame.known(6).rows(n_rows, np.random.default_rng(0))
    model = SASANetRegressor(random_state=0, max_epochs=8, batch_size=64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(table.drop(columns=TARGET), table[TARGET], checkpoint=folder / "fit")


def _born(folder: Path) -> int:
    """Fork a process that fits and saves its model; return its id."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _fit(folder).save(folder / "model")
            code = 0
        finally:
            os._exit(code)
    return child


def _killed(child: int, after: float) -> bool:
    """Kill a process after a while unless it has ended; tell whether it was killed."""
    end = time.monotonic() + after
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0, "a fit failed"
            return False
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def kills(n_kills: int) -> dict[str, Any]:
    """Kill fits until so many kills are done, and compare every finished model."""
    torch.set_num_threads(1)  # forked children would wait for threads that only we have
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        right = _fit(Path(name) / "right")
        start = time.perf_counter()
        _fit(Path(name) / "timed")
        seconds = time.perf_counter() - start
        done, equal, fits = 0, 0, 0
        while done < n_kills:
            folder = Path(name) / f"killed-{fits}"
            folder.mkdir()
            for _ in range(_MOST_LIVES):
                wanted = random.uniform(0.05, seconds) if done < n_kills else 60 + 10 * seconds
                if not _killed(_born(folder), wanted):
                    break
                done += 1
            else:
                assert _killed(_born(folder), 60 + 10 * seconds) is False
            equal += _same(right, load(folder / "model"))
            fits += 1
    return {"kills": done, "fits": fits, "equal_models": equal, "seconds_of_a_fit": seconds}


def _same(one: Any, other: Any) -> bool:
    first, second = one.network_.state_dict(), other.network_.state_dict()
    return all(torch.equal(first[key], second[key]) for key in first)
