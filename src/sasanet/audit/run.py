"""A fitted model and rows in, a certificate out: every quantity compared, timed and bounded.

Sizes: n rows, N features, K outputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_consistent_length
from torch import Tensor

from sasanet import intervals
from sasanet.arrays import Floats
from sasanet.audit.calibration import calibrate
from sasanet.audit.certificate import SAME_AS_SELF_GAME, Audit, Finding, SizeCalibration
from sasanet.audit.comparison import compare
from sasanet.audit.reference import Truth, is_enumerated, own_game, taught
from sasanet.checksums import pack_weights
from sasanet.errors import InvalidInputError
from sasanet.estimator.sasanet import SASANetModel
from sasanet.malloc import steady_heap
from sasanet.network.coalitions import random_coalitions, random_orders
from sasanet.network.sasanet import SASANet
from sasanet.validation import check_integer, our_refusals

_GAP_ORDERS = 16
_CHUNK_ROWS = 16


def audit(
    model: SASANetModel,
    X: Any,
    y: Any = None,
    *,
    n_rows: int = 256,
    n_orders: int = 400,
    random_state: int = 0,
) -> Audit:
    """Measure how faithful a fitted model's attributions are on given rows.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        A fitted model.
    X : table (n, d)
        Rows to judge, best ones not seen in training.
    y : array-like (n,), optional
        Their labels; with them the calibration of v(S) is measured, on at most 8 ``n_rows`` rows.
    n_rows : int
        At most so many rows, drawn at random.
    n_orders : int
        Orders per row for the ground truth of rows with more than 12 present features (an order
        and its reverse count as two); rows with fewer are enumerated exactly.
    random_state : int
        Seed of the drawn rows and orders.

    Returns
    -------
    Audit
        Prints as a certificate; ``to_dict``, ``to_frame``, ``save``, ``plot``.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3).fit(X, y)
    >>> bool(audit(model, X, n_rows=16)["additivity gap"].value < 1e-9)
    True
    """
    start = time.perf_counter()
    check_integer("n_rows", n_rows, 2, None, "an interval over rows needs at least two")
    n_orders = (
        check_integer("n_orders", n_orders, 4, None, "noise shows from two pairs on") // 2 * 2
    )
    seed = check_integer("random_state", random_state, 0, 2**63 - 1, "give a fixed seed such as 0")
    table, cells = model._encode(X)
    if len(cells) < 2:
        raise InvalidInputError(
            f"X must have at least 2 rows, got {len(cells)}; an interval over rows needs two"
        )
    if y is not None:
        with our_refusals():
            check_consistent_length(table, y)
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(len(cells), generator=generator)[:n_rows]
    rows = table.iloc[chosen.numpy()]
    findings = _faithfulness(model, rows, cells[chosen], n_orders, generator)
    sizes: tuple[SizeCalibration, ...] = ()
    if y is not None:
        sizes, found = _calibration(model, cells, y, 8 * n_rows, generator)
        findings.append(found)
    n_exact = int(is_enumerated(cells[chosen]).sum())
    return Audit(
        tuple(findings),
        sizes,
        n_rows=len(rows),
        n_orders=0 if n_exact == len(rows) else n_orders,
        seconds=time.perf_counter() - start,
        units=model.target_.units,
        model=type(model).__name__,
        network=model.network_.architecture.marginal,
        task=model.target_.task,
        n_features=cells.shape[1],
        n_exact=n_exact,
        weights=pack_weights(model.network_)[1],
    )


def _faithfulness(
    model: SASANetModel, rows: Any, cells: Tensor, n_orders: int, generator: torch.Generator
) -> list[Finding]:
    """Return what needs no labels."""
    network, scale, present = model.network_, model.target_.scale, (~cells.isnan()).numpy()
    explanation = model.explain(rows)
    phi = explanation.values.reshape(*cells.shape, -1) / scale

    def errors(name: str, find: Callable[..., Truth]) -> list[Finding]:
        truth = find(network, cells, n_orders, generator)
        return compare(name, phi, truth, present, scale)

    findings = _timed(lambda: _additivity(explanation.prediction, model._raw(rows)))
    own = _timed(lambda: errors("self-game", own_game))
    if network.is_set:
        names = [finding.name.replace("self-game", "distillation") for finding in own]
        copies = zip(own, names, strict=True)
        lesson = [replace(found, name=name, note=SAME_AS_SELF_GAME) for found, name in copies]
    else:
        lesson = _timed(lambda: errors("distillation", taught))
    return findings + own + lesson + _timed(lambda: _order_gap(network, cells, scale, generator))


def _timed(measure: Callable[[], list[Finding]]) -> list[Finding]:
    """Measure, and note in every finding how long that took."""
    start = time.perf_counter()
    findings = measure()
    seconds = time.perf_counter() - start
    return [replace(finding, seconds=seconds) for finding in findings]


def _additivity(added: Floats, raw: Floats) -> list[Finding]:
    """Return the largest gap between φ0 + Σφ and the raw prediction.

    It is a fact about these rows, no estimate, hence no interval around it; what rows not seen may
    do is in the note: a share p of them beyond it would have been missed with (1 − p)^n.
    """
    largest, share = float(np.abs(added.reshape(raw.shape) - raw).max()), 1 - 0.05 ** (1 / len(raw))
    note = f"largest of these rows; at most {100 * share:.2g} % of such rows exceed it (95 %)"
    return [Finding("additivity gap", largest, largest, largest, note=note)]


def _calibration(
    model: SASANetModel, cells: Tensor, y: Any, most: int, generator: torch.Generator
) -> tuple[tuple[SizeCalibration, ...], Finding]:
    start = time.perf_counter()
    numbers = model.target_.read(y)
    chosen = torch.randperm(len(cells), generator=generator)[:most]
    sizes, found = calibrate(model, cells[chosen], numbers[chosen.numpy()], generator)
    return sizes, replace(found, seconds=time.perf_counter() - start)


def _order_gap(
    network: SASANet, cells: Tensor, scale: float, generator: torch.Generator
) -> list[Finding]:
    """Return the standard deviation of f_c(x_S, O) over orders of a random S, mean over rows."""
    found = []
    with torch.no_grad(), steady_heap():
        for part in cells.to(next(network.parameters()).device).split(_CHUNK_ROWS):
            kept = random_coalitions(~part.isnan(), generator)
            vectors = network.marginal.cell_vectors(part, kept)
            outputs = [
                network.marginal.contributions(vectors, kept, random_orders(kept, generator)).sum(1)
                for _ in range(_GAP_ORDERS)
            ]
            found.append(torch.stack(outputs).double().std(0).mean(1).cpu())
    value, low, high = intervals.mean(torch.cat(found).numpy() * scale)
    note = "standard deviation of the marginal module's output over orders of a random coalition"
    return [Finding("order gap", value, low, high, n_orders=_GAP_ORDERS, note=note)]
