"""A fitted model and rows in, a certificate of how true its attributions are out.

Every quantity of the design is measured on the given rows, with a 95 % interval over rows:

- additivity gap: φ0 + Σφ against the raw prediction;
- self-game error: φ against the Shapley values of the model's own output, v(S) = f(x_S), by exact
  enumeration or by antithetic orders, whose own sampling noise is reported beside the error;
- distillation error: φ against the mean over orders of the marginal module's Δ (the paper's table);
- order gap: how far the marginal module's output spreads over orders of the same features;
- value calibration: how well v(S) predicts labels, by coalition size.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from sasanet import inference
from sasanet.coalitions import by_feature, random_coalitions, random_orders
from sasanet.errors import InvalidInputError
from sasanet.estimator import SelfExplainingModel
from sasanet.heap import steady_heap
from sasanet.losses import prediction_losses
from sasanet.network import SASANet

Floats = NDArray[np.float64]
_EXACT_UP_TO = 12  # features: 4,096 coalitions a row
_CHUNK_ROWS = 128


@dataclass(frozen=True)
class Finding:
    """One measured quantity with its 95 % interval over rows."""

    name: str
    value: float
    low: float
    high: float
    noise: float = 0.0  # the ground truth's own sampling error, in the same units
    note: str = ""


@dataclass(frozen=True)
class Audit:
    """A certificate: findings, how they were found, and how long it took."""

    findings: tuple[Finding, ...]
    calibration: tuple[dict[str, float], ...]
    n_rows: int
    n_orders: int  # 0: exact enumeration
    seconds: float
    units: str = field(default="")

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise InvalidInputError(f"No finding {name!r}; there are {[f.name for f in self.findings]}")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-able data."""
        return asdict(self)

    def to_frame(self) -> pd.DataFrame:
        """Return the findings as a table, one row each."""
        return pd.DataFrame([asdict(f) for f in self.findings]).set_index("name")

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")

    def __str__(self) -> str:
        truth = "exact enumeration" if not self.n_orders else f"{self.n_orders:,} orders a row"
        lines = [f"Audit of {self.n_rows:,} rows against {truth} ({self.seconds:.1f} s)"]
        for f in self.findings:
            line = f"  {f.name:<26}{f.value:>11.3g}   [{f.low:.3g}, {f.high:.3g}]"
            line += f"   noise of the truth {f.noise:.2g}" if f.noise else ""
            lines.append(line + (f"   {f.note}" if f.note else ""))
        if self.calibration:
            lines.append("  features known    loss of v(S)    loss of the base value")
            lines += [
                f"  {c['features']:>14.0f}{c['loss']:>16.4f}{c['base_loss']:>26.4f}"
                for c in self.calibration
            ]
        return "\n".join(lines)


def audit(
    model: SelfExplainingModel,
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
        Their labels; with them the calibration of v(S) is measured.
    n_rows : int
        At most so many rows, drawn at random.
    n_orders : int
        Orders per row for the ground truth where there are more than 12 features (pairs of an
        order and its reverse count as two).
    random_state : int
        Seed of the drawn rows and orders.

    Returns
    -------
    Audit
        Prints as a table; ``to_dict``, ``to_frame``, ``save``.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, attribution_steps=20).fit(X, y)
    >>> bool(audit(model, X, n_rows=16)["additivity gap"].value < 1e-9)
    True
    """
    start = time.monotonic()
    table, cells = model._encode(X)
    generator = torch.Generator().manual_seed(random_state)
    chosen = torch.randperm(len(cells), generator=generator)[:n_rows]
    rows = table.iloc[chosen.numpy()]
    explanation = model.explain(rows)
    phi = explanation.values.reshape(len(rows), len(table.columns), -1)
    gap = np.abs(explanation.prediction.reshape(len(rows), -1) - model._raw(rows)).max(1)
    findings = [_interval("additivity gap", gap, np.max)]
    network, scale = model.network_, model.target_.scale
    cells = cells[chosen]
    with torch.inference_mode(), steady_heap():
        exact = cells.shape[1] <= _EXACT_UP_TO
        truth = _enumerated(network, cells) if exact else None
        truth = truth or _sampled(network, cells, SASANet.value_steps, n_orders, generator)
        findings += _errors("self-game", phi, truth[0] * scale, truth[1] * scale**2, cells)
        if not network.is_set:
            found = _sampled(network, cells, _along_orders, n_orders, generator)
            findings += _errors("distillation", phi, found[0] * scale, found[1] * scale**2, cells)
        spread = _order_gap(network, cells, generator) * scale
    findings.append(_interval("order gap", spread, note="spread of f_c over orders of a row"))
    calibration = () if y is None else _calibration(model, X, y, n_rows, generator)
    seconds = time.monotonic() - start
    used = 0 if exact else n_orders
    units = model.target_.units
    return Audit(tuple(findings), tuple(calibration), len(rows), used, seconds, units)


# --- ground truth ----------------------------------------------------------------------------

Game = Callable[[SASANet, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def _along_orders(
    network: SASANet, cells: Tensor, present: Tensor, orders: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the marginal module's Δ along each order and its reverse."""
    vectors = network.marginal.cell_vectors(cells, present)
    return network.marginal.contributions_both_ways(vectors, present, orders)


def _sampled(
    network: SASANet, cells: Tensor, game: Game, n_orders: int, generator: torch.Generator
) -> tuple[Floats, Floats]:
    """Return Shapley values by antithetic orders, [n, N, K], and the variance of each."""
    device, n_pairs = next(network.parameters()).device, max(2, n_orders // 2)
    means, variances = [], []
    for part in cells.split(_CHUNK_ROWS):
        part = part.to(device)
        present = ~part.isnan()

        def pair(part: Tensor = part, present: Tensor = present) -> Tensor:
            orders = random_orders(present, generator)
            forth, back = game(network, part, present, orders)
            return by_feature((forth + back) / 2, orders)

        mean, variance = inference.mean_of_draws(pair, n_pairs)
        means.append(mean)
        variances.append(variance)
    return torch.cat(means).numpy(), torch.cat(variances).numpy()


def _enumerated(network: SASANet, cells: Tensor) -> tuple[Floats, Floats]:
    """Return exact Shapley values of v by all coalitions (Eq. 2), and a variance of zero."""
    n = cells.shape[1]
    masks = torch.tensor(list(itertools.product([False, True], repeat=n)))
    weights = torch.tensor([1 / (n * math.comb(n - 1, s)) for s in range(n)], dtype=torch.float64)
    values = inference.coalition_outputs(network, cells, masks[None])  # [n, 2^N, K]
    phi = torch.zeros(len(cells), n, values.shape[2], dtype=torch.float64)
    for i in range(n):
        bit = 1 << (n - 1 - i)
        without = (~masks[:, i]).nonzero()[:, 0]
        gain = values[:, without + bit] - values[:, without]
        phi[:, i] = (gain * weights[masks[without].sum(1)][None, :, None]).sum(1)
    # A missing cell adds nothing to any coalition, so enumerating it changes no Shapley value.
    return phi.numpy(), np.zeros(phi.shape)


# --- findings --------------------------------------------------------------------------------


def _errors(
    name: str, phi: Floats, truth: Floats, variance: Floats, cells: Tensor
) -> list[Finding]:
    """Return RMSE, R², rank agreement and top-3 overlap of φ against a noisy ground truth.

    The noise of the truth adds to the squared error and to the spread; both are reported with it
    taken out, and the noise itself beside them.
    """
    noise = float(variance.mean())
    squared = ((phi - truth) ** 2).mean((1, 2)) - variance.mean((1, 2))
    mse = _interval(f"{name} RMSE", squared)
    rmse, low, high = (math.sqrt(max(0.0, v)) for v in (mse.value, mse.low, mse.high))
    spread = max(float(truth.var()) - noise, 1e-300)
    several = (~cells.isnan()).sum(1).numpy() > 3
    ranks = [_spearman(a, b) for a, b in zip(phi[several], truth[several], strict=True)]
    tops = [_top3(a, b) for a, b in zip(phi[several], truth[several], strict=True)]
    largest = float(np.abs(truth).max(1).mean())
    share = f"{100 * rmse / max(largest, 1e-300):.2f} % of the largest attribution of a row"
    return [
        Finding(f"{name} RMSE", rmse, low, high, math.sqrt(noise), share),
        Finding(f"{name} R²", 1 - mse.value / spread, 1 - mse.high / spread, 1 - mse.low / spread),
        _interval(f"{name} rank agreement", np.array(ranks or [1.0]), note="Spearman, per row"),
        _interval(f"{name} top-3 overlap", np.array(tops or [1.0])),
    ]


def _spearman(a: Floats, b: Floats) -> float:
    """Return the mean rank correlation over outputs of two [N, K] attributions."""
    ranks_a, ranks_b = (pd.DataFrame(x).rank() for x in (a, b))
    return float(ranks_a.corrwith(ranks_b).fillna(1.0).mean())


def _top3(a: Floats, b: Floats) -> float:
    """Return the share of the three strongest features that agree, mean over outputs."""
    tops = [np.argsort(-np.abs(x), axis=0)[:3] for x in (a, b)]
    shared = [len(set(tops[0][:, k]) & set(tops[1][:, k])) for k in range(a.shape[1])]
    return float(np.mean(shared)) / 3


def _interval(
    name: str, per_row: Floats, statistic: Callable[[Floats], Any] = np.mean, note: str = ""
) -> Finding:
    """Return a statistic of per-row numbers with a normal 95 % interval (none for a maximum)."""
    value = float(statistic(per_row))
    if statistic is not np.mean:
        return Finding(name, value, value, value, note=note or "largest of all rows")
    half = 1.96 * float(per_row.std(ddof=1)) / math.sqrt(len(per_row)) if len(per_row) > 1 else 0.0
    return Finding(name, value, value - half, value + half, note=note)


def _order_gap(network: SASANet, cells: Tensor, generator: torch.Generator) -> Floats:
    """Return, per row, the standard deviation of f_c(x_S, O) over 16 orders of random S."""
    cells = cells.to(next(network.parameters()).device)
    kept = random_coalitions(~cells.isnan(), generator)
    outputs = []
    for _ in range(16):
        orders = random_orders(kept, generator)
        vectors = network.marginal.cell_vectors(cells, kept)
        outputs.append(network.marginal.contributions(vectors, kept, orders).sum(1))
    return torch.stack(outputs).double().std(0).mean(1).cpu().numpy()


def _calibration(
    model: SelfExplainingModel, X: Any, y: Any, n_rows: int, generator: torch.Generator
) -> list[dict[str, float]]:
    """Return the loss of v(S) on labels by coalition size, beside that of the base value."""
    _, cells = model._encode(X)
    labels = torch.from_numpy(model.target_.read(y))
    chosen = torch.randperm(len(cells), generator=generator)[: 8 * n_rows]
    cells, labels = cells[chosen], labels[chosen]
    base = torch.tensor(model.target_.network_base, dtype=torch.float64)
    n = cells.shape[1]
    result = []
    for size in sorted({round(n * share) for share in (0, 0.1, 0.25, 0.5, 0.75, 1)}):
        places = torch.rand(cells.shape, generator=generator).argsort(1).argsort(1)
        output = inference.coalition_outputs(model.network_, cells, (places < size)[:, None])
        losses = [
            prediction_losses(out, labels, model.target_.task).mean().item()
            for out in (output + base, base.expand_as(output))
        ]
        result.append({"features": size, "loss": losses[0], "base_loss": losses[1]})
    return result
