"""Products take one thread while several fits run, and no limit is left behind."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sasanet import threads
from sasanet.threads import one_thread_per_product


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
