"""The Shapley values of what given attributions miss, from random coalitions.

The residual game r(S) = v(S) − v(∅) − Σ_{i∈S} φ_i of attributions φ has Shapley values of its own,
which are the errors of φ. With m present players,

    φ_i(r) = Σ_{s=1}^{m−1} E_{|S|=s} [ g(S) w_i(S) ],   w_i(S) = 1/s if i ∈ S else −1/(m − s),

where g(S) = (r(S) − r(N∖S)) / 2: the coalition and its complement have opposite weights, so that
even interactions cancel (Eq. 2 as a sum over coalitions). Sizes 1 and m − 1 are taken completely,
the others are drawn in proportion to 1/√(s (m − s)), which is near the least noise.

Most of g is foreseen by a polynomial û whose Shapley values are known (:mod:`~.cubic`), fitted to
the draws; only g − û is left to chance. Each fold of the draws uses the û of the others, which
keeps the estimate unbiased. û sees the players along a few directions: those in which the slope of
v varies most over coalitions.

Sizes: B rows, N features, m players, P pairs, K outputs, R directions, F games.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sasanet.intervals import Batch
from sasanet.network.refinement import cubic
from sasanet.network.refinement.effort import FOLDS

# NOTE[DIFF]: the profiles φ_{i,k} could be a control variate of random orders (Proposition 3.10).
# That takes more evaluations for the same error: each serves two features instead of all.

Generators = Sequence[torch.Generator]  # one per row
Values = Callable[[Tensor], Tensor]  # coalitions of present players [B, S, m] bool → v [B, S, K]
Slopes = Callable[[Tensor], Tensor]  # the same → ∂v by the weight of each player, [B, S, m, K]
_SLOPES = 96  # coalitions whose slopes tell the directions
_RIDGE = 1e-3  # of games scaled to unit length: some are nearly the same
_TINY = 1e-30


@dataclass(frozen=True)
class ResidualGame:
    """What attributions miss of the values of coalitions, for rows with m ≥ 4 present players."""

    values: Values
    slopes: Slopes | None
    known: Tensor  # φ, [B, m, K], float64

    def gap(self, chosen: Tensor) -> Tensor:
        """Return g of coalitions: [B, P, m] bool → [B, P, K]."""
        ahead, behind = self.values(torch.cat([chosen, ~chosen], 1)).chunk(2, dim=1)
        return (ahead - behind - _signs(chosen) @ self.known) / 2

    def of_single_players(self) -> Tensor:
        """Return what coalitions of 1 and of m − 1 players add to the Shapley values: [B, m, K]."""
        n_rows, m = self.known.shape[:2]
        alone = torch.eye(m, dtype=torch.bool, device=self.known.device).expand(n_rows, -1, -1)
        return cubic.of_single_players(self.gap(alone))

    def draw(self, count: int, generators: Generators) -> Batch:
        """Return what all other sizes add, from a block of pairs: count, two [B, m, K]."""
        m = self.known.shape[1]
        sizes, chance = _random_sizes(m, count, generators, self.known.device)
        chosen = random_subsets(sizes, m, generators)
        gap, signs = self.gap(chosen), _signs(chosen)
        weight = torch.where(chosen, 1 / sizes[..., None], -1 / (m - sizes[..., None]))
        weight = weight / chance[..., None]
        directions = self._directions(count, generators)
        expected = cubic.shapley_between_the_ends(directions)
        games = cubic.games(signs, directions)
        fits = cross_fits(games, gap, weight.square().sum(2))
        folds = _in_folds(gap - _foreseen(games, fits)), _in_folds(weight)
        return _means(*folds, torch.stack([expected @ fit for fit in fits], 1))

    def _directions(self, count: int, generators: Generators) -> Tensor:
        """Return the directions in which slopes vary most, that of the size first: [B, R, m]."""
        n_rows, m = self.known.shape[:2]
        size = self.known.new_full((n_rows, 1, m), 1 / m)
        number = cubic.number_of_directions(count, m)
        if self.slopes is None or number == 0:
            return size
        sizes, _ = _random_sizes(m, _SLOPES, generators, self.known.device)
        slopes = self.slopes(random_subsets(sizes, m, generators)).double()
        slopes = (slopes - slopes.mean(1, keepdim=True)).transpose(2, 3).flatten(1, 2)
        _, vectors = torch.linalg.eigh(slopes.mT @ slopes)  # the largest last
        return torch.cat([size, vectors[..., -number:].mT], 1)


def _signs(chosen: Tensor) -> Tensor:
    return 2 * chosen.double() - 1


def _random_sizes(
    m: int, count: int, generators: Generators, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Draw sizes from 2 … m − 2, evenly spread over their distribution, and the chance of each.

    They ascend, so that every fold, which takes one of four, has nearly the same sizes.
    Shape: → two [B, P].
    """
    sizes = torch.arange(2, m - 1, dtype=torch.float64)
    chances = (sizes * (m - sizes)).rsqrt()
    chances /= chances.sum()
    start = torch.stack([torch.rand(1, generator=own, dtype=torch.float64) for own in generators])
    places = (torch.arange(count) + start) / count
    drawn = torch.searchsorted(chances.cumsum(0), places).clamp_max(len(sizes) - 1)
    return sizes[drawn].to(device), chances[drawn].to(device)


def random_subsets(sizes: Tensor, m: int, generators: Generators) -> Tensor:
    """Draw subsets of m players, of given sizes: [B, P] → [B, P, m] bool."""
    shape = sizes.shape[1], m
    keys = torch.stack([torch.rand(shape, generator=own) for own in generators]).to(sizes.device)
    return keys <= keys.sort(2).values.gather(2, sizes.long()[..., None] - 1)


def _in_folds(pairs: Tensor) -> Tensor:
    """Return every fourth pair together: [B, P, …] → [B, 4, P/4, …]."""
    return pairs.unflatten(1, (-1, FOLDS)).transpose(1, 2)


def cross_fits(games: Tensor, gap: Tensor, weight: Tensor) -> list[Tensor]:
    """Fit the games to the gap by weighted least squares, for each fold without its own pairs.

    Shape: games [B, P, F], gap [B, P, K], weight [B, P] → one [B, F, K] per fold.
    """
    root = weight.sqrt()[..., None]
    inputs, targets = games * root, gap * root
    scale = inputs.square().sum(1, keepdim=True).sqrt() + _TINY
    inputs = inputs / scale
    inputs, targets = _in_folds(inputs), _in_folds(targets)
    grams, moments = inputs.mT @ inputs, inputs.mT @ targets
    ridge = _RIDGE * torch.eye(games.shape[2], dtype=games.dtype, device=games.device)
    grams, moments = grams.sum(1, keepdim=True) - grams, moments.sum(1, keepdim=True) - moments
    return list((torch.linalg.solve(grams + ridge, moments) / scale[:, None].mT).unbind(1))


def _foreseen(games: Tensor, fits: list[Tensor]) -> Tensor:
    """Return û of every pair, by the fit of its fold: [B, P, F] → [B, P, K]."""
    return (_in_folds(games) @ torch.stack(fits, 1)).transpose(1, 2).flatten(1, 2)


def _means(gap: Tensor, weight: Tensor, expected: Tensor) -> Batch:
    """Return the mean over pairs of g − û times w plus φ(û), and the squared deviations from it.

    They are taken around the first pair: where all agree, the deviations are exactly 0.
    Shape: gap [B, 4, P/4, K], weight [B, 4, P/4, m], expected [B, 4, m, K] → two [B, m, K].
    """
    parts = []
    for k in range(gap.shape[3]):
        draws = gap[..., k, None] * weight + expected[:, :, None, :, k]
        draws = draws.flatten(1, 2)
        first = draws[:, 0].clone()
        draws -= first[:, None]
        mean = draws.mean(1)
        parts.append((first + mean, draws.sub_(mean[:, None]).square_().sum(1)))
    means, squares = (torch.stack(column, -1) for column in zip(*parts, strict=True))
    return Batch(float(gap.shape[1] * gap.shape[2]), means, squares)
