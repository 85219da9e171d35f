"""An exception at a random place inside fit, save, load, report, explain and explain_batches.

Afterwards everything is as it was before, or as it was to be: a model that predicts what it did, a
file that is the old one, a call that goes on. A place for the fault is every call inside the
package, every input or output of a file, by whomever, and every function of a training step. The
first thousand seeds take random places; those after them take every input or output and every
function of a training step in turn, and then random ones again.
"""

from __future__ import annotations

import functools
import inspect
import io
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
N_RANDOM = 1_000  # seeds before those that take places in turn
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
    if isinstance(owner, io.StringIO | io.BytesIO):  # these are memory
        return False
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


@functools.cache
def _in_turn() -> list[tuple[str, str, int]]:
    """Return job, kind of place and number of every place that is tried in turn."""
    pairs = [(name, place) for name in sorted(JOBS) for place in (FILES, STEPS)]
    return [(*pair, k + 1) for pair in pairs for k in range(_n_places(*pair))]


def _draw_place(draw: Draw, seed: int) -> tuple[str, str, int]:
    """Return a job, a kind of place, and which of them it is."""
    turn = seed - N_RANDOM
    if turn >= 0 and turn < len(_in_turn()):
        return _in_turn()[turn]
    name = draw.one_of(sorted(JOBS))
    place = draw.one_of([place for place in PLACES if _n_places(name, place)])
    return name, place, draw.between(1, _n_places(name, place))


def run(seed: int) -> Outcome:
    """Let one job fail somewhere."""
    draw = Draw("faults", seed)
    name, place, number = _draw_place(draw, seed)
    fault = _Fault(place, number, draw.one_of(_KINDS))
    with tempfile.TemporaryDirectory() as folder:
        job, check = JOBS[name](Path(folder))
        failed = _fails(job, fault)
        try:
            left = check(failed)
        except AssertionError as error:
            what = f"{error} ({name}, {fault.kind.__name__} at {fault.where})"
            raise type(error)(what) from None
    return Outcome.of(f"{name}, {place}: {left if fault.where else 'a call fewer this time'}")


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
