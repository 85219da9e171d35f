"""The steady heap: nested, interrupted, or without glibc, the block runs and all is set back."""

from __future__ import annotations

import ctypes
import sys

import pytest
import torch

from sasanet import heap
from sasanet.heap import steady_heap


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
    monkeypatch.setattr(heap, "_glibc", lambda: library)
    return library


def check_set_back(settings):
    """What glibc starts with, for every option that was touched."""
    assert set(settings) == {-1, -2, -3}
    assert set(settings.values()) == {128 * 1024}


def test_memory_is_kept_inside_and_given_back_outside(library):
    with steady_heap():
        assert library.settings[-3] == library.settings[-1] == 1 << 30
        assert library.trimmed == 0
        with pytest.raises(AssertionError):  # inside, nothing is set back yet
            check_set_back(library.settings)
    check_set_back(library.settings)
    assert library.trimmed == 1


def test_blocks_may_be_nested(library):
    with steady_heap(), steady_heap():
        pass
    check_set_back(library.settings)


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


def test_without_glibc_the_block_just_runs(monkeypatch):
    monkeypatch.setattr(heap, "_glibc", lambda: None)
    seen = []
    with steady_heap():
        seen.append("inside")
    assert seen == ["inside"]
    with pytest.raises(ValueError, match="from inside"), steady_heap():
        raise ValueError("from inside")


def test_there_is_no_glibc_on_other_systems(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert heap._glibc() is None


def missing(_):
    raise OSError("libc.so.6: cannot open shared object file")


class Musl:
    """A C library without the settings of glibc."""


@pytest.mark.parametrize("load", [missing, lambda _: Musl()])
def test_there_is_no_glibc_on_other_linuxes(monkeypatch, load):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", load)
    assert heap._glibc() is None
