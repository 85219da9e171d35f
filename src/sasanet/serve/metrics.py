"""Counters for Prometheus: requests, rows, times, the queue, models, and drift by column.

Labels are names of models, columns and routes: nothing that a client sends makes a new one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from sasanet.arrays import Floats

if TYPE_CHECKING:
    from sasanet.serve.inference import Strange
    from sasanet.serve.registry import Served

KINDS = ("missing", "unknown_level", "out_of_range")
_RECENT = 1_000  # rows after which the mean of recent attributions has mostly forgotten older ones
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_ROWS = (1, 4, 16, 64, 256, 1024, 4096)


class Metrics:
    """All counters of one application, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "sasanet_requests", "Requests.", ["route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "sasanet_request_seconds", "Time of requests.", ["route"],
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.rows = Counter("sasanet_rows", "Rows.", ["model", "verb"], registry=registry)
        self.batches = Histogram(
            "sasanet_batch_rows", "Rows computed together.", buckets=_ROWS, registry=registry
        )
        self.waiting = Gauge("sasanet_waiting_rows", "Rows in the queue.", registry=registry)
        self.cells = Counter(
            "sasanet_strange_cells",
            "Cells that are missing, of an unknown level, or outside the range of training.",
            ["model", "column", "kind"],
            registry=registry,
        )
        self.shares = Gauge(
            "sasanet_recent_strange_share",
            "Share of recent rows whose cell is missing, of an unknown level, or out of range.",
            ["model", "column", "kind"],
            registry=registry,
        )
        self.recent = Gauge(
            "sasanet_recent_attribution",
            "Mean absolute attribution of recent rows.",
            ["model", "column"],
            registry=registry,
        )
        self.training = Gauge(
            "sasanet_training_attribution",
            "Mean absolute attribution of training rows.",
            ["model", "column"],
            registry=registry,
        )
        self.models = Gauge(
            "sasanet_model_info", "Models by version.", ["model", "version"], registry=registry
        )
        self.reloads = Counter(
            "sasanet_reloads", "Changed folders.", ["model", "outcome"], registry=registry
        )
        self._recent: dict[tuple[str, str], tuple[str, NDArray[np.float64]]] = {}
        self._served: dict[str, Served] = {}
        self._seen: dict[str, int] = {}  # rows since this version of a model is served

    def text(self) -> bytes:
        """Return all of it in Prometheus' format."""
        for served in self._served.values():
            for what, means in self._means(served).items():
                for column, mean in zip(served.columns, means.tolist(), strict=True):
                    names = (served.name, column.name)
                    if what == "attribution":
                        self.recent.labels(*names).set(mean)
                    else:
                        self.shares.labels(*names, what).set(mean)
        return generate_latest(self.registry)

    def drift(self, served: Served) -> dict[str, Any]:
        """Return what recent rows were like beside those of training: one object per column."""
        training = getattr(served.model, "feature_importances_", None)
        known, columns = self._means(served), []
        for j, column in enumerate(served.columns):
            found = {what: float(means[j]) for what, means in known.items()}
            found |= {} if training is None else {"training": float(training[j])}
            columns.append({"name": column.name, **found})
        return {"rows": self._seen.get(served.name, 0), "columns": columns}

    def _means(self, served: Served) -> dict[str, NDArray[np.float64]]:
        """Return the recent means of this version of a model, by what they are of: each [d]."""
        kept = ((what, self._recent.get((served.name, what))) for what in (*KINDS, "attribution"))
        return {what: one[1] for what, one in kept if one and one[0] == served.version}

    def observe_model(self, served: Served, before: Served | None) -> None:
        """Note which version of a model is served from now on."""
        self._seen[served.name], self._served[served.name] = 0, served
        if before is not None:
            self.models.remove(before.name, before.version)
            for column in before.columns:
                self.recent.remove(before.name, column.name)
                self.training.remove(before.name, column.name)
                for kind in KINDS:
                    self.shares.remove(before.name, column.name, kind)
        self.models.labels(served.name, served.version).set(1)
        importances = getattr(served.model, "feature_importances_", None)
        if importances is not None:
            for column, value in zip(served.columns, importances, strict=True):
                self.training.labels(served.name, column.name).set(value)

    def observe_rows(
        self,
        served: Served,
        strange: Strange,
        cells: NDArray[np.float32],
        attributions: Floats | None,
    ) -> None:
        """Count rows and what is strange in them."""
        verb = "predict" if attributions is None else "explain"
        self.rows.labels(served.name, verb).inc(len(cells))
        self.batches.observe(len(cells))
        kinds = {
            "missing": np.isnan(cells),
            "unknown_level": strange.unknown_level,
            "out_of_range": strange.out_of_range,
        }
        self._seen[served.name] = self._seen.get(served.name, 0) + len(cells)
        for kind, mask in kinds.items():
            for j in np.flatnonzero(mask.any(axis=0)).tolist():
                label = self.cells.labels(served.name, served.columns[j].name, kind)
                label.inc(int(mask[:, j].sum()))
            self._move(served, kind, mask.mean(axis=0), len(cells))
        if attributions is not None:
            sizes = np.abs(attributions)
            means = sizes.mean(axis=(0, *range(2, sizes.ndim)))
            self._move(served, "attribution", means, len(sizes))

    def _move(self, served: Served, what: str, means: NDArray[np.float64], n_rows: int) -> None:
        """Move the recent means towards those of these rows, by their number."""
        version, old = self._recent.get((served.name, what), ("", means))
        if version != served.version:  # another model: the first rows, or those after a reload
            old = means
        recent = old + (1 - math.exp(-n_rows / _RECENT)) * (means - old)
        self._recent[served.name, what] = (served.version, recent)
