"""One step of a small network by two workers, each with some of the rows: run as processes."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist

from sasanet.network.architecture import Architecture
from sasanet.network.sasanet import SASANet
from sasanet.table.columns import Columns
from sasanet.training.loop import Phase, Rows, Surroundings, train
from sasanet.training.losses import Objective
from sasanet.training.sasanet_losses import value_batch_loss
from sasanet.training.shared.fellows import Alone, Workers
from sasanet.training.shared.rows import SharedRows

COLUMNS = Columns((6, 3, 5, 4), (True, False, True, True))
N_ROWS, SPLIT = 40, 25  # the workers have 25 and 15 rows


def make_rows() -> Rows:
    """Return rows whose weights differ, heavier at the end."""
    generator = torch.Generator().manual_seed(5)
    draws = torch.rand(N_ROWS, len(COLUMNS), generator=generator)
    cells = (draws * torch.tensor(COLUMNS.places)).floor()
    cells[torch.rand(cells.shape, generator=generator) < 0.2] = torch.nan
    targets = (torch.rand(N_ROWS, generator=generator) < 0.5).float()
    return Rows(cells, targets, torch.linspace(0.2, 3, N_ROWS))


def make_network() -> SASANet:
    torch.manual_seed(0)
    shape = Architecture(width=8, marginal_layers=(6,))
    return SASANet(COLUMNS, 1, shape, cap=10.0, dropout=0.0)


def step(rows, fellows: Alone, seed: int) -> dict[str, torch.Tensor]:
    """Return the gradient of a step from all rows, and the weights after it.

    Gradients are compared: the step follows their signs alone, also where one is nothing but
    rounding, as that of the last bias is, which cancels in v(S) − v(∅).
    """
    network = make_network()
    loss = partial(value_batch_loss, objective=Objective("binary", torch.zeros(1), 0.5))
    phase = Phase(
        name="value", loss=loss, parts=("marginal",), steps=1, batch_size=50, learning_rate=0.01
    )
    around = Surroundings(fellows=fellows)
    train(network, rows, [phase], torch.Generator().manual_seed(seed), surroundings=around)
    gradients = {n: p.grad for n, p in network.named_parameters() if p.grad is not None}
    return gradients | {f"after.{name}": value for name, value in network.state_dict().items()}


class Unweighted(Workers):
    """A broken twin: every worker counts as much as any other."""

    def average(self, parameters, batch):
        ones = Rows(batch.cells, batch.targets, torch.ones_like(batch.weights[:1]))
        super().average(parameters, ones)


def work(rank: int, folder: str) -> None:
    """Be one of two workers: write the weights after the step, and what the others answer."""
    torch.set_num_threads(1)
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", store, rank=rank, world_size=2, timeout=timedelta(seconds=120))
    try:
        whole = make_rows()
        own = whole[slice(0, SPLIT)] if rank == 0 else whole[slice(SPLIT, N_ROWS)]
        rows = SharedRows(own, (SPLIT, N_ROWS - SPLIT), rank)
        found = {
            kind.__name__: step(rows, kind(torch.device("cpu")), seed=rank)
            for kind in (Workers, Unweighted)
        }
        found["answers"] = _ask(Workers(torch.device("cpu")))
        torch.save(found, Path(folder) / f"{rank}.pt")
    finally:
        dist.destroy_process_group()


def _ask(workers: Workers) -> dict[str, object]:
    """Return what two workers answer each other, and whether both fail where one does."""

    def fail_second() -> None:
        if workers.rank == 1:
            raise ValueError("the second failed")

    failed = ""
    try:
        workers.each(fail_second)
    except ValueError as error:
        failed = str(error)
    return {
        "once": workers.once(lambda: workers.rank),
        "each": workers.each(lambda: workers.rank),
        "fold": workers.fold(lambda: [workers.rank], list.extend),
        "failed": failed,
    }
