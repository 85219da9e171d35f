"""Attributions closer to the Shapley values than the formula's: what effort is spent on.

1. Rows with few present players have all their coalitions evaluated: their error is 0.
2. Of a set network the formula is computed more closely
   (:mod:`~sasanet.network.attribution.closer_look`), which no number of draws does as cheaply.
3. Random coalitions estimate what the formula still misses (:mod:`~.draws`).
4. Formula and draws are combined by their errors (:mod:`~.combination`), so that few draws make
   nothing worse and many lead to the Shapley value, whatever the formula said.

Sizes: n or B rows, N features, P players, m present ones, K outputs, S coalitions.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sasanet.arrays import Floats, Masks
from sasanet.intervals import Batch, merge
from sasanet.malloc import steady_heap
from sasanet.network.coalitions import add_up
from sasanet.network.player_game import Game, PlayerGame, of_single_columns
from sasanet.network.refinement.combination import Combined, combined
from sasanet.network.refinement.draws import ResidualGame, Slopes
from sasanet.network.refinement.effort import (
    MOST_PAIRS,
    blocks,
    first_pairs,
    more_pairs,
    warn_of_larger_errors,
)
from sasanet.shapley.exact import exact_shapley

ENUMERATED = 11  # present players: 2,048 coalitions take about as long as the closer formula
_VALUES_AT_ONCE = 16_384  # coalitions evaluated at once
_MOST_ROWS = 32  # at once
_TINY = 1e-60


@dataclass(frozen=True)
class _Rows:
    """Rows with equally many present players.

    Shape: cells [B, N], places (of the present ones among all players) [B, m], known (the plain
    attributions) [B, m, K], whole (v) [B, K], seeds [B].
    """

    game: Game
    n_players: int
    cells: Tensor
    places: Tensor
    known: Tensor
    whole: Tensor
    seeds: Tensor

    def take(self, rows: Tensor | slice) -> _Rows:
        """Return some of the rows."""
        names = ("cells", "places", "known", "whole", "seeds")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def values(self, chosen: Tensor) -> Tensor:
        """Return v of coalitions of present players: [B, S, m] bool → [B, S, K], float64."""
        return self.game.values(self.cells, self._among_all(chosen)).double()

    def exact(self) -> Tensor:
        """Return the Shapley values, from the values of all coalitions: [B, m, K]."""

        def value(masks: Masks) -> Floats:
            chosen = torch.from_numpy(masks).to(self.places.device)
            return self.values(chosen.expand(len(self.cells), -1, -1)).cpu().numpy()

        return torch.from_numpy(exact_shapley(value, self.places.shape[1])).to(self.known)

    def closely(self, game: PlayerGame) -> Tensor:
        """Return the attributions of the closer formula, which add up: [B, m, K]."""
        present = self._among_all(torch.ones_like(self.places, dtype=torch.bool)[:, None])[:, 0]
        found = self._of_present(game.attribute(self.cells, present, closely=True)[0].double())
        return add_up(found, self.whole, torch.ones_like(self.places, dtype=torch.bool))

    def slopes_of(self, game: PlayerGame) -> Slopes:
        """Return a function of coalitions: how v grows with the weight of every present player."""

        def slopes(chosen: Tensor) -> Tensor:
            found = game.slopes(self.cells, self._among_all(chosen))  # [B, S, P, K]
            places = self.places[:, None, :, None].expand(*chosen.shape, found.shape[3])
            return found.gather(2, places)

        return slopes

    def _among_all(self, chosen: Tensor) -> Tensor:
        masks = chosen.new_zeros(*chosen.shape[:2], self.n_players)
        return masks.scatter_(2, self.places[:, None].expand(-1, chosen.shape[1], -1), chosen)

    def _of_present(self, found: Tensor) -> Tensor:
        return found.gather(1, self.places[..., None].expand(-1, -1, found.shape[2]))


def refined(
    network: Game,
    cells: Tensor,
    attributions: Tensor,
    totals: Tensor,
    effort: int | float,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Return attributions nearer to the Shapley values of the output, and their standard errors.

    An integer effort is a number of orders, each worth as many evaluations as it has prefixes. A
    float is a standard error to reach, in the units of the network. Standard errors are roots of
    expected squared errors: of chance, and of what is left of the formula's.

    Shape: cells [n, N], attributions [n, P, K], totals [n, K], float64 → two [n, P, K].
    """
    values, errors = attributions.clone(), torch.zeros_like(attributions)
    if network.is_exact:
        return values, errors
    device = next(network.parameters()).device
    present = network.present(cells.to(device)).cpu()
    every = cells.to(device), attributions.to(device), totals.to(device)
    with torch.no_grad(), steady_heap():
        for index, places in _alike(present, effort):
            part, known, whole = (column[index.to(device)] for column in every)
            seeds, places = _row_seeds(cells[index], generator), places.to(device)
            known = known.gather(1, places[..., None].expand(-1, -1, known.shape[2]))
            rows = _Rows(network, present.shape[1], part, places, known, whole, seeds)
            for whole_column, found in zip((values, errors), _refined(rows, effort), strict=True):
                whole_column[index[:, None], places.cpu()] = found.cpu()
    if isinstance(effort, float):
        warn_of_larger_errors(errors, effort)
    return values, errors


def _alike(present: Tensor, effort: int | float) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield positions of rows with equally many present players, and which these are.

    In chunks that fit into memory: [B], [B, m].
    """
    sizes = present.sum(1)
    for size in sizes[sizes > 0].unique().tolist():
        pairs = min(MOST_PAIRS, max(2**ENUMERATED // 2, first_pairs(effort, size)))
        at_once = min(_MOST_ROWS, max(1, _VALUES_AT_ONCE // (2 * pairs)))
        for index in (sizes == size).nonzero()[:, 0].split(at_once):
            yield index, present[index].nonzero()[:, 1].view(len(index), size)


def _row_seeds(cells: Tensor, generator: torch.Generator) -> Tensor:
    """Return a seed for every row by what it holds: alone and among others its draws are the same.

    Shape: cells [n, N] → [n] long.
    """
    base = generator.initial_seed() % 2**31
    rows = cells.cpu().float().nan_to_num(nan=-1.0).numpy()
    return torch.tensor([base + zlib.crc32(row.tobytes()) for row in rows])


def _refined(rows: _Rows, effort: int | float) -> tuple[Tensor, Tensor]:
    """Return refined attributions of present players, and their standard errors: [B, m, K]."""
    everyone = torch.ones_like(rows.places, dtype=torch.bool)
    if rows.places.shape[1] <= ENUMERATED:
        found = rows.exact()
        return add_up(found, rows.whole, everyone), torch.zeros_like(found)
    game = of_single_columns(rows.game)
    known = rows.known if game is None else rows.closely(game)
    correction = _drawn(rows, game, known, effort)
    values = known + correction.values
    # The sum is known: what it lacks belongs to those that are most in doubt.
    doubt = correction.error_std.square()
    share = doubt / doubt.sum(1, keepdim=True).clamp_min(_TINY)
    values = values + share * (rows.whole - values.sum(1))[:, None]
    return add_up(values, rows.whole, everyone), correction.error_std


def _drawn(rows: _Rows, game: PlayerGame | None, known: Tensor, effort: int | float) -> Combined:
    """Draw blocks of pairs until every row has as many as planned; combine them with the formula.

    Rows that need as many draw together; which these are changes nothing for any of them.
    """
    generators = [torch.Generator().manual_seed(int(seed)) for seed in rows.seeds]
    difference = None if game is None else known - rows.known
    single = _residual(rows, game, known).of_single_players()
    n_rows, m = rows.places.shape
    means = Batch(known.new_zeros(n_rows), torch.zeros_like(known), torch.zeros_like(known))
    more = torch.full((n_rows,), first_pairs(effort, m))
    while (more > 0).any():
        for wanted in more[more > 0].unique().tolist():
            some = (more == wanted).nonzero()[:, 0]
            residual = _residual(rows.take(some), game, known[some])
            own = [generators[row] for row in some.tolist()]
            for size in blocks(wanted):
                _add(means, some, residual.draw(size, own))
        spread = _error_std(means)
        found = combined(single + means.mean, spread, known, difference)
        more = torch.zeros_like(more)
        if isinstance(effort, float):
            more = more_pairs(means.count, spread, found.error_std, effort, m).cpu()
    return found


def _residual(rows: _Rows, game: PlayerGame | None, known: Tensor) -> ResidualGame:
    slopes = None if game is None else rows.slopes_of(game)
    return ResidualGame(rows.values, slopes, known)


def _add(means: Batch, rows: Tensor, draws: Batch) -> None:
    """Add a block of draws to those of some rows: count [B], mean and squares [B, m, K]."""
    before = Batch(means.count[rows][:, None, None], means.mean[rows], means.squares[rows])
    count, means.mean[rows], means.squares[rows] = merge(before, draws)
    means.count[rows] = count[:, 0, 0]


def _error_std(means: Batch) -> Tensor:
    count = means.count[:, None, None]
    found: Tensor = (means.squares / count / (count - 1)).sqrt()
    return found
