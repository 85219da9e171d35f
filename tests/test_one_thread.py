"""Products take one thread while several fits run, and no limit is left behind."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from sasanet import threads
from sasanet.threads import in_threads, one_thread_per_product


def widths():
    """Return how many threads each library of linear algebra may use."""
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_threads():
    """Products of two threads, whatever the machine and the environment."""
    with threadpool_limits(2, user_api="blas"):
        assert widths()
        yield


def test_products_take_one_thread_inside_and_two_again_outside():
    with one_thread_per_product():
        assert set(widths()) == {1}
        with one_thread_per_product():
            assert set(widths()) == {1}
        assert set(widths()) == {1}
    assert set(widths()) == {2}


def overlap(limit):
    """Enter a block in a thread, another in a second, and leave the first one before it."""
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))

    def first():
        with limit():
            first_is_in.set()
            second_is_in.wait(5)
        first_is_out.set()

    def second():
        first_is_in.wait(5)
        with limit():
            second_is_in.set()
            first_is_out.wait(5)

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(first), pool.submit(second)]:
            future.result()


class Limits:
    """A limit of a number that all threads share, which it puts back to what it was."""

    shared = 2

    def __init__(self, limits, user_api):  # noqa: ARG002 - as the real one has it
        self.before, Limits.shared = Limits.shared, limits

    def restore_original_limits(self):
        Limits.shared = self.before


@contextlib.contextmanager
def uncounted():
    """The twin: every block limits, and puts back what it met."""
    limits = Limits(1, "blas")
    yield
    limits.restore_original_limits()


@pytest.mark.parametrize(("block", "left"), [(one_thread_per_product, 2), (uncounted, 1)])
def test_blocks_that_overlap_leave_no_limit(monkeypatch, block, left):
    monkeypatch.setattr(threads, "threadpool_limits", Limits)
    monkeypatch.setattr(Limits, "shared", 2)
    overlap(block)
    assert Limits.shared == left


# --- tasks side by side --------------------------------------------------------------------------


@pytest.fixture
def three_threads():
    """Let torch have three threads, whatever the machine has."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield 3
    torch.set_num_threads(before)


def in_a_new_thread(function):
    """Return what a function returns in a thread that begins now."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_tasks", [1, 2, 40])
def test_every_task_is_run_once_with_one_thread_of_torch(three_threads, n_threads, n_tasks):
    seen = []
    in_threads(lambda task: seen.append((task, torch.get_num_threads())), range(n_tasks), n_threads)
    assert sorted(seen) == [(task, 1) for task in range(n_tasks)]
    assert torch.get_num_threads() == three_threads
    assert in_a_new_thread(torch.get_num_threads) == three_threads


def test_a_limit_left_behind_is_noticed(three_threads):
    torch.set_num_threads(1)  # the twin: what a task would leave
    assert torch.get_num_threads() != three_threads
    assert in_a_new_thread(torch.get_num_threads) != three_threads


@pytest.mark.usefixtures("three_threads")
def test_tasks_run_side_by_side():
    meeting = threading.Barrier(3, timeout=20)
    in_threads(lambda _: meeting.wait(), range(3), 3)
    with pytest.raises(threading.BrokenBarrierError):  # two are not enough
        in_threads(lambda _: threading.Barrier(3, timeout=0.05).wait(), range(2), 2)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_first_error_ends_all_and_is_raised(three_threads, n_threads):
    seen = []

    def fail(task):
        seen.append(task)
        if task == 2:
            raise KeyError(task)

    with pytest.raises(KeyError):
        in_threads(fail, range(10_000), n_threads)
    assert len(seen) < 10_000
    assert torch.get_num_threads() == three_threads
    assert in_a_new_thread(torch.get_num_threads) == three_threads


def test_a_thread_that_began_meanwhile_is_set_right_when_it_computes(three_threads):
    inside, outside = threading.Event(), threading.Event()

    def hold(_):
        inside.set()
        outside.wait(20)

    def late():
        before = torch.get_num_threads()
        in_threads(lambda _: None, range(1), 3)
        return before, torch.get_num_threads()

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(in_threads, hold, range(1), 3)
        inside.wait(20)
        found = in_a_new_thread(late)
        outside.set()
        first.result()
    assert found == (1, three_threads)
    assert in_a_new_thread(torch.get_num_threads) == three_threads
