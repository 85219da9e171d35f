"""Outputs and attributions of many rows, in chunks of bounded memory and in float64.

Sizes: n rows, N features, K outputs, M coalitions. Outputs are relative to the base value.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor

from sasanet.forks import note_computing
from sasanet.intervals import Batch, merge
from sasanet.malloc import steady_heap
from sasanet.network.coalitions import add_up
from sasanet.network.interface import TabularNetwork
from sasanet.network.player_game import Game, PlayerGame
from sasanet.network.sasanet import SASANet
from sasanet.threads import in_threads

_CELLS_AT_ONCE = 20_480  # about 20 MB of cell vectors: fits into caches, bounds memory
_CELLS_APART = 2_048  # fewer are not worth a thread of their own


def in_chunks(
    network: TabularNetwork | PlayerGame,
    cells: Tensor,
    per_row: int,
    function: Callable[[Tensor, slice], tuple[Tensor, ...]],
) -> list[Tensor]:
    """Run a function over chunks of rows, without gradients, and put its results together.

    Each result has one entry per row; they are written to one place as they come, so that a million
    rows are not held twice. On a CPU chunks run side by side, one thread each.
    """
    note_computing()
    device = next(network.parameters()).device
    n_threads = torch.get_num_threads() if device.type == "cpu" else 1
    size = _rows_at_once(len(cells), cells.shape[1] * per_row, n_threads)
    results: list[Tensor] = []
    first = threading.Lock()

    def compute(start: int) -> None:
        chunk = slice(start, start + size)
        with torch.no_grad():  # which every thread says for itself
            parts = [part.cpu() for part in function(cells[chunk].to(device), chunk)]
        if size >= len(cells):
            results.extend(parts)
            return
        with first:
            if not results:
                results.extend(part.new_empty(len(cells), *part.shape[1:]) for part in parts)
        for whole, part in zip(results, parts, strict=True):
            whole[chunk] = part

    # A single row makes no arrays worth keeping memory for, and setting malloc takes longer.
    with steady_heap() if len(cells) > 1 else nullcontext():
        in_threads(compute, range(0, len(cells), size), n_threads)
    return results


def _rows_at_once(n_rows: int, cells_per_row: int, n_threads: int) -> int:
    """Return rows of a chunk: few enough for caches, and for every thread to get some."""
    share = -(-n_rows // n_threads) * cells_per_row
    return max(1, min(_CELLS_AT_ONCE, max(share, _CELLS_APART)) // max(1, cells_per_row))


def outputs(network: TabularNetwork, cells: Tensor) -> Tensor:
    """Return the output of every row from its present cells: [n, N] → [n, K]."""

    def predict(part: Tensor, _: slice) -> tuple[Tensor, ...]:
        return (network.values(part, network.present(part)[:, None])[:, 0],)

    (result,) = in_chunks(network, cells, 1, predict)
    return result.double()


def attributions(network: SASANet, cells: Tensor, quickly: bool = False) -> Tensor:
    """Return φ of every row: [n, N] → [n, N, K], adding up to :func:`outputs` in float64."""
    return attributions_and_outputs(network, cells, quickly)[0]


def attributions_and_outputs(
    network: Game, cells: Tensor, quickly: bool = False
) -> tuple[Tensor, Tensor]:
    """Return φ of every row and the outputs they add up to: [n, N] → [n, P, K], [n, K].

    The players P of a network are its N features. ``quickly``: by the module that the formula
    taught, which the network must have.
    """
    if quickly:
        assert isinstance(network, SASANet)
        return _quick(network, cells)

    def attribute(part: Tensor, _: slice) -> tuple[Tensor, ...]:
        present = network.present(part)
        # Some devices know no float64.
        values, total = (each.cpu().double() for each in network.attribute(part, present))
        return add_up(values, total, present.cpu()), total

    values, total = in_chunks(network, cells, 1, attribute)
    return values, total


def _quick(network: SASANet, cells: Tensor) -> tuple[Tensor, Tensor]:
    """Return the same by the learned module; rows unlike those it was taught get the formula's.

    All of these together: a few in each chunk would cost the formula several times as long.
    """

    def attribute(part: Tensor, _: slice) -> tuple[Tensor, ...]:
        present = network.present(part)
        *found, unlike = network.attribute_quickly(part, present)
        values, total = (each.cpu().double() for each in found)
        return add_up(values, total, present.cpu()), total, unlike

    values, total, unlike = in_chunks(network, cells, 1, attribute)
    if unlike.any():
        some = cells[unlike]
        values[unlike] = add_up(attributions(network, some), total[unlike], network.present(some))
    return values, total


def members(game: PlayerGame, cells: Tensor, totals: Tensor) -> Tensor:
    """Return the Owen values of features within groups that add up to totals.

    Shape: cells [n, N], totals [n, P, K] float64 → [n, N, K].
    """

    def divide(part: Tensor, chunk: slice) -> tuple[Tensor, ...]:
        return (game.members(part, totals[chunk].to(part.device)),)

    (result,) = in_chunks(game, cells, 1, divide)
    return result


def interactions(game: PlayerGame, cells: Tensor) -> Tensor:
    """Return the Shapley interaction index of all pairs of players: [n, N] → [n, P, P, K]."""
    n_players = len(game.membership)

    def interact(part: Tensor, _: slice) -> tuple[Tensor, ...]:
        return (game.interactions(part, game.present(part)),)

    (result,) = in_chunks(game, cells, n_players, interact)
    return result.double()


def profiles(network: SASANet, cells: Tensor) -> Tensor:
    """Return the position profiles φ_{i,k} of every row: [n, N] → [n, N, R, K]."""

    def profile(part: Tensor, _: slice) -> tuple[Tensor, ...]:
        return (network.profiles(part, network.present(part))[0],)

    (result,) = in_chunks(network, cells, 1, profile)
    return result.double()


def coalition_outputs(network: Game, cells: Tensor, coalitions: Tensor) -> Tensor:
    """Return v(S) of coalitions of each row's players: [n, N], [1 or n, M, P] bool → [n, M, K]."""

    def evaluate(part: Tensor, chunk: slice) -> tuple[Tensor, ...]:
        mask = coalitions[chunk] if len(coalitions) > 1 else coalitions
        return (network.values(part, mask.to(part.device) & network.present(part)[:, None]),)

    (result,) = in_chunks(network, cells, coalitions.shape[1], evaluate)
    return result.double()


def mean_of_draws(draw: Callable[[], Tensor], n_draws: int) -> tuple[Tensor, Tensor]:
    """Return the mean of equally distributed draws in float64, and the variance of that mean."""
    zero = torch.zeros((), dtype=torch.float64)
    draws = Batch(0, zero, zero)
    for _ in range(n_draws):
        draws = merge(draws, Batch(1, draw().cpu().double(), zero))
    return draws.mean, draws.squares / n_draws / max(1, n_draws - 1)
