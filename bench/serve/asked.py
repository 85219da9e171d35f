"""Requests for explanations by every protocol, and what the model itself says of the same rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import sub
from typing import Any

import numpy as np
import orjson
import pandas as pd

from bench.serve.load import post

ROUNDING = 1e-5  # of float32, in batches of other sizes: the tests' bound too
Record = dict[str, Any]


def records(rows: pd.DataFrame) -> list[Record]:
    """Return rows as JSON has them."""
    found: Any = rows.astype(object).where(rows.notna(), None).to_dict("records")
    return list(found)


@dataclass(frozen=True)
class Protocol:
    """How rows are asked for: its path, its body, and where its answers have attributions."""

    path: str
    body: Callable[[list[Record]], Any]
    values: Callable[[Any], list[float]]

    def request(self, model: str, rows: list[Record]) -> bytes:
        """Return a request for explanations of some rows."""
        body = json.dumps(self.body(rows), default=float).encode()
        return post(self.path.format(model=model), body)


def _of_rows(rows: list[Any]) -> list[float]:
    return [number for row in rows for number in row["attributions"].values()]


def _tensors(rows: list[Record]) -> Any:
    inputs = []
    for name in rows[0]:
        cells = [row[name] for row in rows]
        text = any(isinstance(cell, str) for cell in cells)
        kind = "BYTES" if text else "FP64"
        inputs.append({"name": name, "shape": [len(rows)], "datatype": kind, "data": cells})
    return {"inputs": inputs, "outputs": [{"name": "attributions"}]}


PROTOCOLS = {
    "own": Protocol(
        "/models/{model}/explain", lambda rows: rows, lambda found: _of_rows(found["rows"])
    ),
    "KServe V1": Protocol(
        "/v1/models/{model}:explain",
        lambda rows: {"instances": rows},
        lambda found: _of_rows(found["explanations"]),
    ),
    "MLflow": Protocol(
        "/invocations?model={model}",
        lambda rows: {"dataframe_records": rows, "params": {"explain": True}},
        lambda found: _of_rows(found["predictions"]),
    ),
    "Open Inference V2": Protocol(
        "/v2/models/{model}/infer", _tensors, lambda found: list(found["outputs"][0]["data"])
    ),
}


class Asked:
    """Requests, and the answers of one or several models, any of which is right.

    Parameters
    ----------
    name : str
        The model's name at the server.
    models : sequence of estimators
        What is served under that name, now or later.
    parts : list of DataFrame
        The rows of each request.
    protocols : sequence of str
        How the requests are asked, by turns.
    """

    def __init__(
        self,
        name: str,
        models: Sequence[Any],
        parts: list[pd.DataFrame],
        protocols: Sequence[str] = ("own",),
    ) -> None:
        turns = [PROTOCOLS[protocols[i % len(protocols)]] for i in range(len(parts))]
        self._read = [turn.values for turn in turns]
        pairs = zip(turns, parts, strict=True)
        self.requests = [turn.request(name, records(part)) for turn, part in pairs]
        said = [_said(model, parts) for model in models]
        self._said = [*zip(*said, strict=True)]

    def check(self, number: int, body: bytes) -> bool:
        """Tell whether an answer is a model's own to rounding."""
        found = self._read[number](orjson.loads(body))
        return any(
            len(found) == len(right) and max(map(abs, map(sub, found, right))) <= ROUNDING
            for right in self._said[number]
        )


def _said(model: Any, parts: list[pd.DataFrame]) -> list[list[float]]:
    """Return a model's attributions of the rows of each request, flat."""
    found, start, said = model.explain(pd.concat(parts)).values, 0, []
    for part in parts:
        said.append(np.ravel(found[start : start + len(part)]).tolist())
        start += len(part)
    return said
