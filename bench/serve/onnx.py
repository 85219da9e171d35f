"""Rows a second and milliseconds of a single row: an exported file in onnxruntime, and Python.

One thread each; the ways take turns, so that what disturbs one disturbs all, and medians count.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import torch

from sasanet.onnx.cells import is_text

_TURNS = 15
_BATCH = 100


def beside_onnx(model: Any, rows: pd.DataFrame) -> dict[str, Any]:
    """Return the median seconds of a batch and of a row, by way and by what is asked."""
    torch.set_num_threads(1)
    batch, row = rows[:_BATCH], rows[:1]
    with tempfile.TemporaryDirectory(prefix="sasanet-onnx-") as place:
        whole, short = Path(place) / "explain.onnx", Path(place) / "predict.onnx"
        errors = model.to_onnx(whole, rows[:_BATCH])
        model.to_onnx(short, attributions=False)
        explaining, predicting = _session(whole), _session(short)
        sizes = {"explain_mib": whole.stat().st_size / 2**20}
    given, alone = _inputs(model, batch), _inputs(model, row)
    one = row.iloc[0].to_dict()
    ways: dict[str, Callable[[], Any]] = {
        "predict-python": lambda: model.predict_proba(batch),
        "predict-onnx": lambda: predicting.run(None, given),
        "explain-python": lambda: model.explain(batch, method="formula"),
        "explain-onnx": lambda: explaining.run(None, given),
        "predict-one-python": lambda: model.predict_proba_one(one),
        "predict-one-onnx": lambda: predicting.run(None, alone),
        "explain-one-python": lambda: model.explain_one(one),
        "explain-one-onnx": lambda: explaining.run(None, alone),
    }
    return {"rows": _BATCH, "seconds": _medians(ways), "errors": errors, **sizes}


def _medians(ways: dict[str, Callable[[], Any]]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(_TURNS + 2):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if turn >= 2:  # the first ones are slower
                taken[name].append(time.perf_counter() - start)
    return {name: float(np.median(seconds)) for name, seconds in taken.items()}


def _session(file: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def _inputs(model: Any, rows: pd.DataFrame) -> dict[str, Any]:
    found = {}
    for column in model.encoder_.columns:
        cells = rows[column.name]
        if is_text(column):
            found[column.name] = cells.astype(object).where(cells.notna(), "").to_numpy(str)
            found[column.name] = found[column.name].astype(object)
        else:
            found[column.name] = cells.to_numpy(dtype=np.float64, na_value=np.nan)
    return found
