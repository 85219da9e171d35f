"""An exception at a random place inside fit, save, load, report, explain and explain_batches.

Afterwards everything is as it was before, or as it was to be: a model that predicts what it did, a
file that is the old one, a call that goes on. A place for the fault is every call inside the
package, every input or output of a file, by whomever, and every function of a training step.
"""

from __future__ import annotations

import functools
import inspect
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import sasanet
from torture.case import Outcome
from torture.draw import Draw
from torture.jobs import JOBS

ANYWHERE, FILES, STEPS = "anywhere", "at an input or output", "in a training step"
PLACES = (ANYWHERE, FILES, STEPS)
_PACKAGE = str(Path(sasanet.__file__).parent)
_KINDS: tuple[type[BaseException], ...] = (MemoryError, OSError, KeyboardInterrupt, RuntimeError)


class _Fault:
    """Counts the places for a fault in a call, and raises at one of them."""

    def __init__(self, place: str, last: int, kind: type[BaseException]) -> None:
        self.place, self.last, self.kind = place, last, kind
        self.count, self.where = 0, ""

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        if not _is_place(self.place, frame, event, called):
            return
        self.count += 1
        if self.count == self.last:
            code = frame.f_code
            name = f" → {called.__name__}" if event == "c_call" else ""
            self.where = f"{Path(code.co_filename).name}:{code.co_name}{name}"
            sys.setprofile(None)
            raise self.kind("injected")


def _is_place(place: str, frame: FrameType, event: str, called: Any) -> bool:
    """Tell whether a call of a function, or of one written in C, is such a place."""
    if event == "c_call":
        return place == FILES and _is_of_files(called)
    code = frame.f_code
    # An exception where a generator is resumed would skip what it does at its end: none does that.
    if event != "call" or code.co_flags & inspect.CO_GENERATOR:
        return False
    inside = code.co_filename.startswith(_PACKAGE)
    return inside and (place == ANYWHERE or (place == STEPS and "/training/" in code.co_filename))


def _is_of_files(called: Any) -> bool:
    """Tell whether a function written in C reads, writes or moves files."""
    owner = getattr(called, "__self__", None)
    module = getattr(called, "__module__", None) or type(owner).__module__
    return module in ("posix", "nt", "io", "_io")


@contextmanager
def _watching(fault: _Fault) -> Any:
    sys.setprofile(fault)
    try:
        yield
    finally:
        sys.setprofile(None)


@functools.cache
def _n_places(name: str, place: str) -> int:
    """Return how many such places one job has when nothing goes wrong."""
    fault = _Fault(place, -1, RuntimeError)
    for _ in range(2):  # the first time it also imports
        fault.count = 0
        with tempfile.TemporaryDirectory() as folder:
            job, _ = JOBS[name](Path(folder))
            with _watching(fault):
                job()
    return fault.count


def run(seed: int) -> Outcome:
    """Let one job fail somewhere."""
    draw = Draw("faults", seed)
    name = draw.one_of(sorted(JOBS))
    place = draw.one_of([place for place in PLACES if _n_places(name, place)])
    fault = _Fault(place, draw.between(1, _n_places(name, place)), draw.one_of(_KINDS))
    with tempfile.TemporaryDirectory() as folder:
        job, check = JOBS[name](Path(folder))
        failed = _fails(job, fault)
        try:
            return Outcome.of(f"{name}, {place}: {check(failed)}")
        except AssertionError as error:
            what = f"{error} ({name}, {fault.kind.__name__} at {fault.where})"
            raise type(error)(what) from None


def _fails(job: Any, fault: _Fault) -> bool:
    """Run a job with its fault, and tell whether that came out of it."""
    try:
        with _watching(fault):
            job()
    except BaseException as error:
        if "injected" not in f"{error} {error.__cause__} {error.__context__}":
            raise
        return True
    return False
