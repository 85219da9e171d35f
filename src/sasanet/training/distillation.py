"""Teach a Shapley module what the formula says (:mod:`sasanet.network.attribution.distilled`).

Half of the rows it learns from are as given; of a quarter cells are missing, so that it knows
coalitions; of a quarter cells are replaced by any place or level of their column, so that it knows
shifted rows. A tenth of them is held out: it tells how close the module came, and from where on a
row counts as unlike those taught.

Sizes: n rows, N features, D the length of a cell vector, W directions, K outputs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from sasanet.malloc import steady_heap
from sasanet.network import inference
from sasanet.network.attribution.distilled import POINTS, DistilledAttribution, RowFacts
from sasanet.network.attribution.moment_propagation import smoothed_gradient
from sasanet.network.coalitions import add_up
from sasanet.network.embedding.cells import TableEmbedding
from sasanet.network.layers import GLOBAL_GENERATOR
from sasanet.network.sasanet import SASANet
from sasanet.network.set_value import SetValue
from sasanet.table.columns import Columns
from sasanet.training.loop import Phase, train
from sasanet.training.rows import shuffled_batches

KINDS = ("as given", "cells missing", "cells replaced")
_OF_FOUR = torch.tensor([0, 1, 0, 2])  # kinds of every four rows
_KEPT = 0.999  # share of ψ · ∂E[v] that the directions keep
_MOST_DIRECTIONS, _DIRECTIONS_STEP = 128, 16
_ROWS_FOR_DIRECTIONS = 1_000
_HIDDEN = 128
_FEWEST_STEPS, _MOST_STEPS, _ROWS_PER_STEP = 200, 800, 15
_BATCH, _RATE = 256, 4e-3
_GAP_WEIGHT = 0.02  # of what the raw φ miss of v: small, but it must tell good rows from bad
_HELD_OUT = 10  # every tenth row
_ORDINARY = 0.995  # share of held-out rows that count as like those taught
_LABELLING_TIME = 0.5  # of a time limit
_ROWS_AT_ONCE = 1_000  # labelled between two looks at the clock
_FEWEST_ROWS = 200
_TINY = 1e-300


@dataclass(frozen=True)
class TaughtRows:
    """Rows with the formula's φ: what is known of them, and targets [n, N, K]."""

    cells: Tensor  # [n, N], NaN absent
    facts: RowFacts
    targets: Tensor

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index: Tensor | slice) -> TaughtRows:
        facts = RowFacts(*(part[index] for part in self.facts))
        return TaughtRows(self.cells[index], facts, self.targets[index])

    def batches(self, size: int, generator: torch.Generator, skip: int = 0) -> Iterator[Any]:
        """Yield the rows once, shuffled."""
        return shuffled_batches(self, size, generator, skip)

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        return self.cells.device


def distil(
    network: SASANet, cells: Tensor, n_rows: int, seconds: float, generator: torch.Generator
) -> tuple[DistilledAttribution, dict[str, Any]]:
    """Return a taught module, and a record of how close it comes to the formula.

    The network stays as it is. Shape: cells [n, N] of rows such as will be explained.
    """
    start = time.monotonic()
    cells = mixed_rows(cells, network.columns, n_rows, generator)
    cells, targets = _label(network, cells, start + seconds * _LABELLING_TIME)
    held_out = (torch.arange(len(cells)) // len(_OF_FOUR)) % _HELD_OUT == 0
    with torch.no_grad(), steady_heap():
        module = _make_module(network, cells[~held_out], generator)
        facts = _facts(network, module, cells)
    learn = TaughtRows(cells, facts, targets)[~held_out]
    left = max(0.1, seconds - (time.monotonic() - start))
    _teach(network, module, learn, left, generator)
    with torch.no_grad():
        record = _judge(network, module, cells[held_out], targets[held_out])
    return module, record | {"rows": len(cells), "seconds": time.monotonic() - start}


def mixed_rows(cells: Tensor, columns: Columns, n_rows: int, generator: torch.Generator) -> Tensor:
    """Draw rows of the three kinds, in turn: [n, N] → [n_rows, N]."""
    drawn = torch.randint(len(cells), (n_rows,), generator=generator)
    if n_rows <= len(cells):
        drawn = torch.randperm(len(cells), generator=generator)[:n_rows]
    rows, kinds = cells[drawn].clone(), _kinds(n_rows)
    shares = torch.rand(n_rows, 1, generator=generator)
    touched = torch.rand(rows.shape, generator=generator) < shares
    places = torch.tensor(columns.places, dtype=rows.dtype)
    anywhere = torch.rand(rows.shape, generator=generator)
    anywhere = torch.where(
        torch.tensor(columns.is_number),
        anywhere * (places - 1),
        (anywhere * places).floor().clamp_max(places - 1),
    )
    rows = torch.where(touched & (kinds == 2)[:, None], anywhere, rows)
    return rows.masked_fill(touched & (kinds == 1)[:, None], math.nan)


def _kinds(n_rows: int) -> Tensor:
    return _OF_FOUR.repeat(-(-n_rows // len(_OF_FOUR)))[:n_rows]


def _label(network: SASANet, cells: Tensor, deadline: float) -> tuple[Tensor, Tensor]:
    """Return rows and the formula's φ of them: all, or as many as there is time for."""
    found: list[Tensor] = []
    for part in cells.split(_ROWS_AT_ONCE):
        if sum(map(len, found)) >= _FEWEST_ROWS and time.monotonic() > deadline:
            break
        found.append(inference.attributions(network, part).float())
    targets = torch.cat(found)
    return cells[: len(targets)], targets


# --- the module's fixed part: directions and scales -----------------------------------------------


def _make_module(
    network: SASANet, cells: Tensor, generator: torch.Generator
) -> DistilledAttribution:
    """Return a module that knows the directions and the scale of its inputs, and no correction."""
    marginal = network.marginal
    assert isinstance(marginal, SetValue)
    to_cell, to_row = _directions(marginal, cells)
    length, directions = to_cell.shape
    # torch makes weights with its global generator: one at a time may seed it.
    with GLOBAL_GENERATOR, torch.random.fork_rng([]):
        torch.manual_seed(int(torch.randint(2**31, (), generator=generator)))
        module = DistilledAttribution(length, directions, _HIDDEN, network.n_outputs)
    module.to_cell, module.to_row = to_cell, to_row
    module = module.to(cells.device).eval()
    inputs = _facts(network, module, cells).inputs
    module.center, spread = inputs.mean(0), inputs.std(0)
    module.spread = torch.where(spread > 1e-6 * spread.max(), spread, 1.0)
    return module


def _directions(marginal: SetValue, cells: Tensor) -> tuple[Tensor, Tensor]:
    """Return A and Gᵀ: the projections of lowest rank that keep ψ_i · ∂E[v]/∂mean.

    With second moments P of ψ and Q of the gradients, the best ones are the leading singular
    vectors of P^½ Q^½: [D, W] twice.
    """
    some = cells[:: max(1, len(cells) // _ROWS_FOR_DIRECTIONS)]
    of_cells, of_rows = _second_moments(marginal, some, ~some.isnan())
    (root_p, inverse_p), (root_q, inverse_q) = _roots(of_cells), _roots(of_rows)
    left, sizes, right = torch.linalg.svd(root_p @ root_q)
    kept = sizes.square().cumsum(0) / sizes.square().sum().clamp_min(_TINY)
    needed = int((kept < _KEPT).sum()) + 1
    width = min(math.ceil(needed / _DIRECTIONS_STEP) * _DIRECTIONS_STEP, _MOST_DIRECTIONS)
    scale = sizes[:width].sqrt()
    to_cell, to_row = inverse_p @ left[:, :width] * scale, inverse_q @ right[:width].mT * scale
    return to_cell.float(), to_row.float()


def _second_moments(marginal: SetValue, cells: Tensor, present: Tensor) -> tuple[Tensor, Tensor]:
    """Return those of the cell vectors and of the gradients: [D, D] twice, float64."""
    vectors = marginal.cell_vectors(cells, present)
    own = marginal.member_vectors(vectors)  # [n, N, M, D]
    points = own.new_tensor(POINTS)[:, None, None, None]
    variance = points * (1 - points) * own.square().sum(1)
    gradients = smoothed_gradient(marginal.together, points * own.sum(1), variance)
    found = [part.double() for part in (vectors[present], gradients.flatten(0, -2))]
    of_cells, of_rows = (part.mT @ part / max(1, len(part)) for part in found)
    return of_cells, of_rows


def _roots(moments: Tensor) -> tuple[Tensor, Tensor]:
    """Return the square root of a positive matrix, and the inverse of the root."""
    sizes, vectors = torch.linalg.eigh(moments)
    sizes = sizes.clamp_min(max(float(sizes.max()) * 1e-7, _TINY))
    return (vectors * sizes.sqrt()) @ vectors.mT, (vectors / sizes.sqrt()) @ vectors.mT


def _facts(network: SASANet, module: DistilledAttribution, cells: Tensor) -> RowFacts:
    """Return what is known of rows before the correction, in chunks."""
    marginal = network.marginal
    assert isinstance(marginal, SetValue)

    def prepare(part: Tensor, _: slice) -> tuple[Tensor, ...]:
        return tuple(module.prepare(marginal, part, ~part.isnan())[1])

    return RowFacts(*inference.in_chunks(network, cells, 1, prepare))


# --- the learned part -----------------------------------------------------------------------------


def _teach(
    network: SASANet,
    module: DistilledAttribution,
    rows: TaughtRows,
    seconds: float,
    generator: torch.Generator,
) -> None:
    """Train the correction on the formula's φ."""
    marginal = network.marginal
    assert isinstance(marginal, SetValue)
    assert isinstance(marginal.embedding, TableEmbedding)
    with torch.no_grad():
        table = module.cell_table(marginal)
    present = ~rows.cells.isnan()
    scale = float(rows.targets[present].std().clamp_min(1e-9))
    loss = partial(_loss, read=partial(marginal.embedding.read, table), scale=scale)
    steps = min(max(len(rows) // _ROWS_PER_STEP, _FEWEST_STEPS), _MOST_STEPS)
    phase = Phase(
        name="attributions", loss=loss, steps=steps, batch_size=_BATCH, learning_rate=_RATE
    )
    history = train(module, rows, [phase], generator, seconds)
    if history.interrupted:
        raise KeyboardInterrupt  # a half-taught module is of no use
    module.requires_grad_(False)


def _loss(
    module: DistilledAttribution,
    rows: TaughtRows,
    generator: torch.Generator,
    *,
    read: Callable[[Tensor], Tensor],
    scale: float,
) -> Tensor:
    """Return the mean squared error of φ over present cells, and a little of the missed sum."""
    del generator
    present = ~rows.cells.isnan()
    with torch.no_grad():
        vectors = read(rows.cells)
    raw = module.raw(vectors, rows.facts) * present[..., None]
    gap = (rows.facts.output - raw.sum(1)).square().sum() * _GAP_WEIGHT
    wrong = (add_up(raw, rows.facts.output, present) - rows.targets).square().sum()
    count = present.sum().clamp_min(1) * raw.shape[2]
    return (wrong + gap) / count / scale**2


# --- how close it came ----------------------------------------------------------------------------


def _judge(
    network: SASANet, module: DistilledAttribution, cells: Tensor, targets: Tensor
) -> dict[str, Any]:
    """Set from where on a row is unlike those taught, and return errors by kind of row."""
    marginal = network.marginal
    assert isinstance(marginal, SetValue)

    def measure(part: Tensor, _: slice) -> tuple[Tensor, ...]:
        present = ~part.isnan()
        vectors, facts = module.prepare(marginal, part, present)
        raw = module.raw(vectors, facts) * present[..., None]
        gap = (facts.output - raw.sum(1)).abs()
        return add_up(raw, facts.output, present), gap, facts.inputs.square().mean(1)

    found, gap, distance = inference.in_chunks(network, cells, 1, measure)
    module.largest_gap = torch.quantile(gap, _ORDINARY, dim=0)
    module.reach = torch.quantile(distance, _ORDINARY)
    unlike = (gap > module.largest_gap).any(1) | (distance > module.reach)
    kinds = _kinds(len(cells))
    record: dict[str, Any] = {"r2": {}, "rmse": {}, "unlike": float(unlike.float().mean())}
    for number, kind in enumerate(KINDS):
        chosen = (kinds == number) & ~unlike
        true, error = targets[chosen], found[chosen] - targets[chosen]
        true, error = (part[~cells[chosen].isnan()].double() for part in (true, error))
        spread = (true - true.mean()).square().sum().clamp_min(_TINY)
        record["r2"][kind] = float((1 - error.square().sum() / spread).nan_to_num())
        record["rmse"][kind] = float(error.square().mean().sqrt().nan_to_num())
    return record
