"""Refined attributions: unbiased Shapley values with standard errors, from random coalitions.

The residual game r(S) = v(S) − v(∅) − Σ_{i∈S} φ_i of given attributions φ has Shapley values of its
own, which are the errors of φ. With m present features,

    φ_i(r) = Σ_{s=1}^{m−1} E_{|S|=s} [ r(S) · w_i(S) ],   w_i(S) = 1/s if i ∈ S else −1/(m − s)

(Eq. 2 as a sum over coalitions). Each coalition is drawn with its complement, whose w has the
opposite sign: even interactions cancel. The result does not rely on φ; the better φ is, the smaller
are r and the noise. A function of s alone has zero Shapley values, so an odd cubic in s is fitted
to r(S) − r(N∖S) and subtracted; each half of the draws uses the fit of the other half, which keeps
the estimate unbiased.

Sizes: B rows, N features, P pairs of a coalition and its complement, K outputs.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from sasanet.errors import InvalidInputError, RefinementWarning, warn_user
from sasanet.intervals import Batch, merge
from sasanet.malloc import steady_heap
from sasanet.network.coalitions import add_up
from sasanet.network.player_game import Game
from sasanet.validation import check_integer

# NOTE[DIFF]: the profiles φ_{i,k} could be a control variate of random orders (Proposition 3.10).
# That takes more evaluations for the same error: each serves two features instead of all.

_PAIRS_AT_ONCE = 512
_BLOCK = 128  # pairs
_FEWEST_PAIRS = 16  # for the cubic and a standard error
_PILOT_PAIRS = 128  # enough to plan with: a small pilot may look too good by chance
_VALUES_AT_ONCE = 16_384  # coalitions evaluated at once
_PRODUCTS_AT_ONCE = 2**20  # of a pair and a feature: 8 MB
_FEWEST_ORDERS = 4  # for a standard error
_MOST_ORDERS = 10_000
Generators = Sequence[torch.Generator]  # one per row
_MARGIN = 1.1  # a standard error is itself an estimate: aim a little lower than asked


@dataclass
class _RowMeans:
    """Means of the draws of each row so far: count [B]; mean and squared deviations [B, N, K]."""

    count: Tensor
    mean: Tensor
    squares: Tensor

    def add(self, rows: Tensor, draws: Batch) -> None:
        before = Batch(self.count[rows][:, None, None], self.mean[rows], self.squares[rows])
        count, self.mean[rows], self.squares[rows] = merge(before, draws)
        self.count[rows] = count[:, 0, 0]

    def error_std(self) -> Tensor:
        count = self.count[:, None, None]
        return (self.squares / count / (count - 1)).sqrt()


def refined(
    network: Game,
    cells: Tensor,
    attributions: Tensor,
    totals: Tensor,
    effort: int | float,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Return unbiased Shapley values of the model's output, and their standard errors.

    An integer effort is a number of orders, each worth as many evaluations as it has prefixes. A
    float is a standard error to reach, in the units of the network.

    Shape: cells [n, N], attributions [n, N, K], totals [n, K], float64 → two [n, N, K].
    """
    if network.is_exact:
        return attributions, torch.zeros_like(attributions)
    size = max(1, _VALUES_AT_ONCE // (2 * _PAIRS_AT_ONCE))
    device = next(network.parameters()).device
    seeds = _row_seeds(cells, generator)
    parts = []
    with torch.no_grad(), steady_heap():
        chunks = zip(cells.split(size), attributions.split(size), seeds.split(size), strict=True)
        for part, known, own in chunks:
            means = _sample(network, part.to(device), known.to(device), effort, own)
            parts.append((known + means.mean.cpu(), means.error_std().cpu()))
    values, errors = (torch.cat(column) for column in zip(*parts, strict=True))
    if isinstance(effort, float):
        _warn_of_larger_errors(errors, effort)
    present = network.present(cells.to(device)).cpu()
    return add_up(values, totals, present), errors * present[..., None]


def _row_seeds(cells: Tensor, generator: torch.Generator) -> Tensor:
    """Return a seed for every row by what it holds: alone and among others its draws are the same.

    Shape: cells [n, N] → [n] long.
    """
    base = int(torch.randint(2**31, (), generator=generator))
    rows = cells.cpu().float().nan_to_num(nan=-1.0).numpy()
    return torch.tensor([base + zlib.crc32(row.tobytes()) for row in rows])


def _sample(
    network: Game, cells: Tensor, known: Tensor, effort: int | float, seeds: Tensor
) -> _RowMeans:
    """Draw pairs of coalitions until every row of a chunk has as many as planned.

    Rows that have drawn as many, and need as many, draw together; which these are changes nothing
    for any of them.
    """
    n_rows, n_features = known.shape[:2]
    means = _RowMeans(known.new_zeros(n_rows), torch.zeros_like(known), torch.zeros_like(known))
    planned = _first_plan(effort, n_features, n_rows, cells.device)
    while (needy := means.count < planned).any():
        blocks = (planned - means.count).clamp(_FEWEST_PAIRS, _PAIRS_AT_ONCE)
        first = int(needy.nonzero()[0, 0])
        alike = (means.count == means.count[first]) & (blocks == blocks[first])
        rows, done = (alike & needy).nonzero()[:, 0], int(means.count[first])
        generators = [torch.Generator().manual_seed(int(seeds[row]) + done) for row in rows]
        count = int(blocks[first])
        means.add(rows, _draw(network, cells[rows], known[rows], count, generators))
        if isinstance(effort, float) and (means.count >= planned).all():
            planned = _next_plan(means, effort, n_features)
    return means


def read_effort(n_orders: Any, max_error: Any) -> int | float | None:
    """Return how to refine: a number of orders, a standard error to reach, or not at all."""
    if max_error is None:
        remedy = "omit it for the plain explanation"
        number = check_integer("n_orders", n_orders, 0, None, remedy)
        if 0 < number < _FEWEST_ORDERS:
            check_integer("n_orders", n_orders, _FEWEST_ORDERS, None, remedy)
        return number or None
    real = isinstance(max_error, Real) and not isinstance(max_error, bool)
    if n_orders != 0 or not real or not 0 < float(max_error) < math.inf:
        raise InvalidInputError(
            "max_error must be a number above 0, without n_orders beside it, "
            f"got max_error={max_error!r} and n_orders={n_orders!r}; give one of the two"
        )
    return float(max_error)


def _pairs(n_orders: int, n_features: int) -> int:
    """Return the number of pairs of coalitions that cost as much as these orders."""
    return max(_FEWEST_PAIRS, n_orders * (n_features - 1) // 2)


def _first_plan(effort: int | float, n_features: int, n_rows: int, device: torch.device) -> Tensor:
    """Return the number of pairs to draw for each row: all of them, or a pilot."""
    pilot = max(_PILOT_PAIRS, _pairs(4, n_features))
    first = pilot if isinstance(effort, float) else _pairs(effort, n_features)
    return torch.full((n_rows,), float(first), dtype=torch.float64, device=device)


def _next_plan(means: _RowMeans, target: float, n_features: int) -> Tensor:
    """Return the number of pairs each row needs, estimated from the noise so far.

    They come in whole blocks, so that many rows can draw together. The number is fixed before the
    next draws: stopping as soon as the error happens to look small would bias the standard error.
    """
    largest = means.error_std().flatten(1).amax(1)
    needed = torch.where(largest > target, means.count * (_MARGIN * largest / target) ** 2, 0.0)
    more = needed.clamp_max(_pairs(_MOST_ORDERS, n_features)) - means.count
    return means.count + (more / _BLOCK).ceil().clamp_min(0) * _BLOCK


def _warn_of_larger_errors(errors: Tensor, target: float) -> None:
    """Warn if rows did not reach the standard error that was asked for."""
    largest = errors.flatten(1).amax(1)
    if (missed := int((largest > target).sum())) > 0:
        warn_user(
            f"{missed} of {len(errors)} rows did not reach max_error within {_MOST_ORDERS:,} "
            f"orders: their standard errors are up to {float(largest.max() / target):.3g} times as "
            "large; see error_std, or ask for a larger max_error.",
            RefinementWarning,
        )


def _draw(network: Game, cells: Tensor, known: Tensor, count: int, generators: Generators) -> Batch:
    """Draw random pairs; return the mean of φ(r) and its squared deviations: two [B, N, K]."""
    present = network.present(cells)
    members = present.sum(1, keepdim=True)  # m
    sizes = _random_sizes(members, count, generators)  # s, [B, P]
    chosen = _random_subsets(present, sizes, generators)  # S, [B, P, N]
    gap = _residual_gap(network, cells, chosen, known)  # [B, P, K]
    gap = gap - _fitted_by_size(gap, sizes, members)
    inside = 1 / sizes[..., None].double()
    outside = -1 / (members[..., None] - sizes[..., None]).clamp_min(1).double()
    weight = torch.where(chosen, inside, outside) * present[:, None]
    scaled = gap * (members[..., None] - 1).clamp_min(0) / 2  # m − 1 sizes, equally likely
    return _mean_of_products(scaled, weight)


def _mean_of_products(scaled: Tensor, weight: Tensor) -> Batch:
    """Return the mean over pairs of their products, and the squared deviations from it.

    Differences to the first pair make equal products deviate by exactly 0; features come in parts,
    so that the products fit into memory. Shape: scaled [B, P, K], weight [B, P, N] → two [B, N, K].
    """
    parts = []
    for some in weight.split(max(1, _PRODUCTS_AT_ONCE // scaled.numel()), dim=2):
        products = scaled[:, :, None] * some[..., None]
        first = products[:, 0].clone()
        products -= first[:, None]
        mean = products.mean(1)
        parts.append((first + mean, products.sub_(mean[:, None]).square_().sum(1)))
    means, squares = (torch.cat(column, 1) for column in zip(*parts, strict=True))
    return Batch(scaled.shape[1], means, squares)


def _random_sizes(members: Tensor, count: int, generators: Generators) -> Tensor:
    """Draw sizes uniformly from 1 … m − 1 (1 if there is none): [B, 1] → [B, P]."""
    draws = torch.stack([torch.rand(count, generator=own) for own in generators])
    draws = draws.to(members.device)
    return ((draws * (members - 1)).long() + 1).clamp_max((members - 1).clamp_min(1))


def _random_subsets(present: Tensor, sizes: Tensor, generators: Generators) -> Tensor:
    """Draw subsets of the present features, of given sizes: [B, N], [B, P] → [B, P, N]."""
    shape = sizes.shape[1], present.shape[1]
    keys = torch.stack([torch.rand(shape, generator=own) for own in generators]).to(present.device)
    keys = keys.masked_fill(~present[:, None], 2.0)
    least = keys.sort(2).values.gather(2, (sizes[..., None] - 1))
    return (keys <= least) & present[:, None]


def _residual_gap(network: Game, cells: Tensor, chosen: Tensor, known: Tensor) -> Tensor:
    """Return r(S) − r(N∖S): [B, N], [B, P, N], [B, N, K] → [B, P, K], float64."""
    rest = ~chosen & network.present(cells)[:, None]
    values = network.values(cells, torch.cat([chosen, rest], 1)).double()
    ahead, behind = values.chunk(2, dim=1)
    return ahead - behind - (chosen.double() - rest.double()) @ known


def _fitted_by_size(gap: Tensor, sizes: Tensor, members: Tensor) -> Tensor:
    """Fit an odd cubic in s/m − ½ to each half of the draws and evaluate it at the other half.

    Shape: gap [B, P, K], sizes [B, P], members [B, 1] → [B, P, K].
    """
    place = (sizes / members.clamp_min(1) - 0.5).double()
    terms = torch.stack([place, place**3 * 4], 2)  # both at most ½
    weight = (1 / sizes + 1 / (members - sizes).clamp_min(1)).double()[..., None]
    half = sizes.shape[1] // 2
    fits = []
    for part in (slice(half), slice(half, None)):
        moments = (terms[:, part] * weight[:, part]).mT @ terms[:, part]
        # A little ridge: with two features or few draws the fit is not determined.
        ridge = torch.eye(2, dtype=moments.dtype, device=moments.device) * 1e-3 * half
        targets = (terms[:, part] * weight[:, part]).mT @ gap[:, part]
        fits.append(torch.linalg.solve(moments + ridge, targets))
    return torch.cat([terms[:, :half] @ fits[1], terms[:, half:] @ fits[0]], 1)
