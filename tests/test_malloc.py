"""The steady heap: nested, interrupted, or without glibc, the block runs and all is set back."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest
import torch

from sasanet import malloc
from sasanet.malloc import steady_heap


class Library:
    """A C library that remembers its settings."""

    def __init__(self):
        self.settings, self.calls, self.trimmed = {}, 0, 0

    def mallopt(self, option, value):
        self.settings[option] = value
        self.calls += 1
        return 1

    def malloc_trim(self, keep):
        self.trimmed += 1
        return keep


@pytest.fixture
def library(monkeypatch):
    """Return a library in the place of glibc."""
    library = Library()
    monkeypatch.setattr(malloc, "_glibc", lambda: library)
    return library


def check_set_back(settings):
    """Where glibc would have brought itself, for every option that was touched."""
    assert settings == {-1: 64 << 20, -2: 128 << 10, -3: 32 << 20, -4: 65_536}


def test_memory_is_kept_inside_and_given_back_outside(library):
    with steady_heap():
        assert library.settings[-4] == 0
        assert library.settings[-1] == 1 << 30
        assert library.trimmed == 0
        with pytest.raises(AssertionError):  # inside, nothing is set back yet
            check_set_back(library.settings)
    check_set_back(library.settings)
    assert library.trimmed == 1


def test_blocks_may_be_nested(library):
    with steady_heap(), steady_heap():
        pass
    check_set_back(library.settings)


def test_the_last_of_overlapping_blocks_sets_back(library):
    first, second = steady_heap(), steady_heap()  # of two threads
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with pytest.raises(AssertionError):  # the second still runs
        check_set_back(library.settings)
    second.__exit__(None, None, None)
    check_set_back(library.settings)


def test_an_environment_variable_leaves_malloc_alone(library, monkeypatch):
    monkeypatch.setenv("SASANET_MALLOC", "0")
    with steady_heap():
        pass
    assert library.calls == 0
    monkeypatch.setenv("SASANET_MALLOC", "1")
    with steady_heap():
        pass
    assert library.calls > 0


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
def test_exceptions_pass_and_all_is_set_back(library, error):
    with pytest.raises(error, match="from inside"), steady_heap():
        raise error("from inside")
    check_set_back(library.settings)
    assert library.trimmed == 1


def test_the_real_library_survives_nesting_and_large_tensors():
    for _ in range(3):
        with steady_heap():
            first = torch.ones(1 << 18)
            with steady_heap():
                second = torch.ones(1 << 20).sum()
            third = torch.full((1 << 18,), 2.0)
        assert first.sum() + third.sum() == 3 << 18
        assert second == 1 << 20


FAULTS_LATER = """
import ctypes, resource
from sasanet import malloc
libc = ctypes.CDLL("libc.so.6")
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
malloc._OUTSIDE |= {changed}
with malloc.steady_heap():
    pass
def use():
    block = libc.malloc(2 << 20)
    libc.memset(block, 1, 2 << 20)
    libc.free(block)
use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults_later(changed):
    """Count the page faults of twenty blocks of 512 pages in a process that had a steady heap."""
    run = [sys.executable, "-c", FAULTS_LATER.replace("{changed}", repr(changed))]
    return int(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(malloc._glibc() is None, reason="needs glibc")
def test_what_a_process_does_later_is_not_slowed_down():
    assert faults_later({}) < 512
    first = {-3: 128 << 10, -1: 128 << 10}  # what glibc starts with, frozen
    assert faults_later(first) >= 20 * 512


def test_without_glibc_the_block_just_runs(monkeypatch):
    monkeypatch.setattr(malloc, "_glibc", lambda: None)
    seen = []
    with steady_heap():
        seen.append("inside")
    assert seen == ["inside"]
    with pytest.raises(ValueError, match="from inside"), steady_heap():
        raise ValueError("from inside")


def test_there_is_no_glibc_on_other_systems(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert malloc._glibc() is None


def missing(_):
    raise OSError("libc.so.6: cannot open shared object file")


class Musl:
    """A C library without the settings of glibc."""


@pytest.mark.parametrize("load", [missing, lambda _: Musl()])
def test_there_is_no_glibc_on_other_linuxes(monkeypatch, load):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", load)
    assert malloc._glibc() is None


def test_threads_share_heaps_where_glibc_is_used(library, monkeypatch):
    malloc.share_heaps(2)
    assert library.settings == {-8: 2}  # M_ARENA_MAX
    monkeypatch.setenv("SASANET_MALLOC", "0")
    malloc.share_heaps(3)
    monkeypatch.delenv("SASANET_MALLOC")
    monkeypatch.setattr(malloc, "_glibc", lambda: None)
    malloc.share_heaps(4)
    assert library.settings == {-8: 2}
