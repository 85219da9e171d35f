"""Shapley values by formula, as a graph.

The same computation as :mod:`sasanet.network.attribution.closed_form`, where the formulas stand:
rows with few present features are enumerated, others take four points of the integral, and rows
that miss much of their value a second look. Sizes: B rows, N features, D the length of a vector,
K outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from sasanet.network.attribution import closed_form as formula
from sasanet.network.attribution.closed_form import CellBudget
from sasanet.onnx.graph import Tensor
from sasanet.onnx.moments import expected_value
from sasanet.onnx.values import Rows

_TINY = 1e-12
_CPU = torch.device("cpu")


def attributions(rows: Rows, present: Tensor, alone: Tensor | None, value: Tensor) -> Tensor:
    """Return φ of every feature: [B, N, K].

    Shape: present [B, N] (1.0 or 0.0), alone (v({i}), if it was looked up) [B, N, K], value [B, K].
    """
    graph, n_features = rows.vectors.graph, len(rows.network.tables)
    nothing = (rows.vectors.sum(2) * 0.0).unsqueeze(2) * np.ones((1, 1, rows.n_outputs))
    few = present.sum(1).at_most(formula.ENUMERATED)

    def enumerate_rows(index: Tensor) -> Tensor:
        return _enumerated(rows.take(index), present.take(index), nothing.take(index))

    def integrate_rows(index: Tensor) -> Tensor:
        first = None if alone is None else alone.take(index)
        return _integrated(rows.take(index), present.take(index), first, value.take(index))

    found = graph.on_rows(few, nothing, enumerate_rows)
    if n_features <= formula.ENUMERATED:
        return found
    return graph.on_rows(few.op("Not"), found, integrate_rows)


def _enumerated(rows: Rows, present: Tensor, nothing: Tensor) -> Tensor:
    """Return φ of at most nine present features from the values of all their coalitions."""
    n = min(len(rows.network.tables), formula.ENUMERATED)
    place = present.largest(n)
    masks, tables = formula.coalition_weights(n, _CPU)
    sums = rows.vectors.graph.constant(masks.numpy()) @ rows.vectors.take_of_row(place)
    shapley = rows.vectors.graph.constant(np.ascontiguousarray(tables[2].numpy().T))
    found = shapley @ rows.values(sums)  # [B, n, K]
    return rows.vectors.graph.scatter(nothing, place, found, add=False)


def _integrated(rows: Rows, present: Tensor, alone: Tensor | None, value: Tensor) -> Tensor:
    """Return φ by the integral along the diagonal."""
    n_features, mask = len(rows.network.tables), present.unsqueeze(2)
    total = rows.vectors.sum(1, keep=True)
    start = rows.values(rows.vectors) if alone is None else alone
    end = value.unsqueeze(1) - rows.values(total - rows.vectors)
    ends = (start + end) * mask
    points = (formula.INSIDE, 1 - formula.INSIDE)
    inside = expected_growth(rows, points, formula.cell_budget(n_features)).sum(2)
    found = ends * formula.WEIGHTS[0] + inside * formula.WEIGHTS[1]
    if n_features <= formula.WIDE:
        missing = (value - found.sum(1)).op("Abs")
        limit = found.op("Abs").sum(1) * formula.INACCURATE
        inaccurate = missing.op("Greater", limit, kind="BOOL").cast("FLOAT").sum(1)
        found = rows.vectors.graph.on_rows(
            inaccurate.op("Greater", 0.0, kind="BOOL"),
            found,
            lambda index: _second_look(rows.take(index), ends.take(index)),
        )
    lengths = rows.vectors.square().sum(2).op("Sqrt")  # [B, N]
    share = lengths / lengths.sum(1, keep=True).op("Max", _TINY)
    return found + share.unsqueeze(2) * (value - found.sum(1)).unsqueeze(1)


def _second_look(rows: Rows, ends: Tensor) -> Tensor:
    """Return φ by a rule that also uses the slopes of the profile at both ends: [B, N, K]."""
    points = (formula.AGAIN, 1 - formula.AGAIN)
    inside = expected_growth(rows, points, CellBudget(4, 4)).sum(2)
    by_ends, by_slopes, by_inside = formula.SECOND_WEIGHTS
    return ends * by_ends + _slope_difference(rows) * by_slopes + inside * by_inside


def _slope_difference(rows: Rows) -> Tensor:
    """Return ∂F/∂p_i's derivative by t at 0 minus that at 1, from all pairs: [B, N, K]."""
    graph, n = rows.vectors.graph, len(rows.network.tables)
    first, second = np.triu_indices(n, 1)
    member = np.zeros((n, len(first)), dtype=np.float32)
    member[first, np.arange(len(first))] = member[second, np.arange(len(first))] = 1
    weights = graph.constant(member)
    total = rows.vectors.sum(1, keep=True)
    pairs = graph.constant(np.ascontiguousarray(member.T)) @ rows.vectors
    slopes = []
    for single, pair in ((rows.vectors, pairs), (total - rows.vectors, total - pairs)):
        # Σ_j (v(ij) − v(i) − v(j)); at 1 with the complements, and v(N) once a pair
        alone = rows.values(single)
        both = weights @ rows.values(pair)
        slopes.append(both - alone * (n - 2) - alone.sum(1, keep=True))
    return slopes[0] - slopes[1] - rows.values(total) * (n - 1)


def expected_growth(rows: Rows, shares: Sequence[float], budget: CellBudget) -> Tensor:
    """Return ∂F/∂p_i where every feature is present with the same probability t.

    Shape: shares [T] → [B, N, T, K].
    """
    graph, vectors, n_shares = rows.vectors.graph, rows.vectors, len(shares)
    n_outputs, n = rows.n_outputs, len(rows.network.tables)
    squares = vectors.square()
    order = squares.sum(2).largest(min(n, sum(budget)))
    large = vectors.take_of_row(order)
    pins, followed = large.slice(1, 0, budget.pinned), large.slice(1, budget.pinned, n)
    case = formula.cases(tuple(shares), budget.pinned, torch.float32, _CPU)
    t, present, chances, by_presence = (part.numpy() for part in case)
    n_cases = len(present)
    share = t.repeat(n_cases)  # of each case of each point, [T·C]
    mixture = np.kron(np.eye(n_shares, dtype=np.float32), np.ones(n_cases)) * chances.reshape(-1)
    q = share * (1 - share)
    rest = (vectors.sum(1) - pins.sum(1)).unsqueeze(1)
    mean = rest * share[:, None] + graph.constant(np.tile(present, (n_shares, 1))) @ pins
    variance = (squares.sum(1) - pins.square().sum(1)).unsqueeze(1) * q[:, None]  # [B, T·C, D]
    values, grads = expected_value(rows, mean, variance, followed, q, mixture)
    slant = mixture * (1 - 2 * share)  # dq/dp

    def over_cases(weights: np.ndarray, tensor: Tensor, *shape: int) -> Tensor:
        """Return weighted sums over the cases: [T, T·C], [B, T·C, …] → [B, *shape]."""
        flat = tensor.reshape(0, len(share), -1)
        return (graph.constant(np.float32(weights)) @ flat).reshape(0, *shape)

    width = rows.network.bias.shape[1]
    by_mean = over_cases(mixture, grads.mean, n_shares * n_outputs, width)
    by_variance = over_cases(slant, grads.variance, n_shares * n_outputs, width)
    growth = vectors @ by_mean.transpose(0, 2, 1) + squares @ by_variance.transpose(0, 2, 1)
    by_pin = np.einsum("ts,scp->ptsc", np.eye(n_shares), by_presence).reshape(-1, len(share))
    pinned = over_cases(by_pin, values, budget.pinned, n_shares * n_outputs)
    n_followed = min(n, sum(budget)) - budget.pinned
    presence = over_cases(slant, grads.presence, n_shares * n_outputs, n_followed)
    growth = graph.scatter(growth, order.slice(1, 0, budget.pinned), pinned, add=False)
    places = order.slice(1, budget.pinned, n)
    growth = graph.scatter(growth, places, presence.transpose(0, 2, 1), add=True)
    return growth.reshape(0, n, n_shares, n_outputs)
