"""Two workers make the step that one makes from the rows of both; where one fails, both do."""

from __future__ import annotations

import multiprocessing

import pytest
import torch
from two_workers import SPLIT, make_rows, step, work

from sasanet.errors import InvalidInputError
from sasanet.training import sasanet_losses
from sasanet.training.loop import Rows
from sasanet.training.shared import fellows
from sasanet.training.shared.fellows import Alone
from sasanet.training.shared.rows import SharedRows


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What two processes wrote."""
    folder = tmp_path_factory.mktemp("workers")
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=work, args=(rank, str(folder))) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(180)
        assert process.exitcode == 0
    return [torch.load(folder / f"{rank}.pt") for rank in range(2)]


@pytest.fixture
def joined_step(monkeypatch):
    """One process's step from all rows, with the coalitions of both workers."""
    rows, draw = make_rows(), sasanet_losses.random_coalitions
    orders = []
    for rank, part in enumerate((rows[slice(0, SPLIT)], rows[slice(SPLIT, len(rows))])):
        generator = torch.Generator().manual_seed(rank)
        batch = next(part.batches(len(part), generator))
        orders.append((batch, generator))
    joined = Rows(
        *(
            torch.cat([getattr(batch, name) for batch, _ in orders])
            for name in ("cells", "targets", "weights")
        )
    )

    def coalitions(present, _):
        drawn = [draw(batch.present, generator) for batch, generator in orders]
        assert present.shape == (len(joined), present.shape[1])
        return torch.cat(drawn)

    class InOrder:
        def __len__(self):
            return len(joined)

        def batches(self, *_):
            yield joined

    monkeypatch.setattr(sasanet_losses, "random_coalitions", coalitions)
    return step(InOrder(), Alone(), seed=0)


def largest_difference(first, second):
    """Of the gradients."""
    names = [name for name in first if not name.startswith("after.")]
    return max(float((first[name] - second[name]).abs().max()) for name in names)


def test_two_workers_make_the_step_of_one_process_from_the_rows_of_both(found, joined_step):
    for worker in found:
        assert largest_difference(worker["Workers"], joined_step) < 1e-6


def test_the_check_notices_workers_that_all_count_the_same(found, joined_step):
    assert largest_difference(found[0]["Unweighted"], joined_step) > 1e-3


def test_workers_stay_equal_bit_by_bit(found):
    first, second = (worker["Workers"] for worker in found)
    assert all(torch.equal(value, second[name]) for name, value in first.items())


def test_workers_answer_each_other_and_fail_together(found):
    expected = {"once": 0, "each": [0, 1], "fold": [0, 1], "failed": "the second failed"}
    assert [worker["answers"] for worker in found] == [expected, expected]


def test_a_worker_with_fewer_rows_gives_batches_that_do_not_count():
    rows = make_rows()
    shared = SharedRows(rows[slice(0, 5)], (30, 5), 1)
    batches = list(shared.batches(10, torch.Generator().manual_seed(0)))
    assert len(shared) == 35
    assert [float(batch.weights.sum()) > 0 for batch in batches] == [True] + 5 * [False]
    after = list(shared.batches(10, torch.Generator().manual_seed(0), skip=1))
    assert len(after) == 5


def test_a_batch_smaller_than_the_workers_is_refused():
    shared = SharedRows(make_rows(), (40, 40, 40), 0)
    with pytest.raises(InvalidInputError, match="batch_size must be at least 3"):
        next(shared.batches(2, torch.Generator()))


def test_the_first_worker_has_the_cores_of_those_that_wait_for_it(monkeypatch):
    monkeypatch.setattr(fellows.dist, "get_rank", lambda: 0)
    monkeypatch.setattr(fellows.dist, "get_world_size", lambda: 3)
    monkeypatch.setattr(fellows.torch, "get_num_threads", lambda: 2)
    three = fellows.Workers(torch.device("cpu"))
    for cores, expected in ((64, 6), (4, 4)):
        monkeypatch.setattr(fellows.os, "cpu_count", lambda n=cores: n)
        assert three.threads() == expected
    assert Alone().threads() == 2  # the twin: alone it has its own
