"""Ten minutes of mixed requests while the model is saved anew every ten seconds.

Every answer is compared with the models'; memory is that of the second tenth of the time and of the
last one.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import statistics
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from bench.serve.asked import PROTOCOLS, Asked
from bench.serve.load import HOST, converse
from bench.serve.servers import MODELS, server_of
from sasanet import load

SECONDS = float(os.environ.get("SASANET_SOAK_SECONDS", "600"))
_RELOAD = 10.0  # seconds
_SIZES = (1, 1, 1, 20)  # rows of a request, by turns
_CONNECTIONS = 16


def soak(rows: pd.DataFrame) -> dict[str, Any]:
    """Ask a server of one model by all protocols, and save another in its place again and again."""
    models = [load(MODELS / kind) for kind in ("formula", "learned")]
    asked = Asked("m", models, _parts(rows), [*PROTOCOLS])
    with tempfile.TemporaryDirectory(prefix="sasanet-soak-") as place:
        folder = Path(place) / "m"
        models[0].save(folder)
        # No answer may be given up while the machine suspends client and server for a time.
        with server_of(folder, "--max-seconds", "3600") as (port, process):
            return asyncio.run(_soak(asked, models, folder, port, process))


def _parts(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Return rows in requests of several sizes; each protocol gets every size."""
    parts, start = [], 0
    sizes = [size for size in _SIZES for _ in PROTOCOLS]
    for size in itertools.islice(itertools.cycle(sizes), 160):
        parts.append(rows[start : start + size])
        start += size
    return parts


async def _soak(
    asked: Asked, models: list[Any], folder: Path, port: int, process: psutil.Process
) -> dict[str, Any]:
    memory: list[float] = []
    saving = asyncio.create_task(_save_in_turn(models, folder))
    watching = asyncio.create_task(_watch(process, memory))
    answers, duration = await converse(port, asked.requests, _CONNECTIONS, SECONDS, asked.check)
    for task in (saving, watching):
        task.cancel()
    found = answers.summary(duration, 1) | {"connections": _CONNECTIONS, "cores": os.cpu_count()}
    found |= {"seconds": duration, "reloads": _reloads(port)} | _grown(memory)
    return found


def _grown(memory: list[float]) -> dict[str, Any]:
    """Return the memory of the second tenth of the time, its growth until the last, and its course.

    Medians of samples, one a second: a batch that is being computed holds some hundred megabytes.
    """
    tenths = [part.tolist() for part in np.array_split(memory, 10)]
    course = [statistics.median(part) for part in tenths if part]
    return {"rss_gib": course[1], "memory_growth": course[-1] / course[1] - 1, "course_gib": course}


def _reloads(port: int) -> int:
    """Return how often the server says that it has loaded a changed model."""
    with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = re.search(r'^sasanet_reloads_total{.*outcome="loaded".*} (\d+)', text, re.MULTILINE)
    return int(found[1]) if found else 0


async def _save_in_turn(models: list[Any], folder: Path) -> None:
    for model in itertools.cycle(reversed(models)):
        await asyncio.sleep(_RELOAD)
        await asyncio.to_thread(model.save, folder)


async def _watch(process: psutil.Process, memory: list[float]) -> None:
    while True:
        memory.append(process.memory_info().rss / 2**30)
        await asyncio.sleep(1)
