"""An exception at a random call inside fit, save, report and explain.

Afterwards everything is as it was before, or as it was to be: a model that predicts what it did, a
file that is the old one. Every function of the package that is called is a place for the fault.
"""

from __future__ import annotations

import functools
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import sasanet
from sasanet import load
from sasanet.errors import InterruptedFitWarning
from sasanet.report import write_report
from torture.case import Outcome, expect
from torture.draw import Draw
from torture.models import FILES, check_sums, raw, same_answers, small_model
from torture.processes import contents

BEFORE, AFTER = "the state before", "the state after"
_PACKAGE = str(Path(sasanet.__file__).parent)
_KINDS: tuple[type[BaseException], ...] = (MemoryError, OSError, KeyboardInterrupt, RuntimeError)


class _Counter:
    """Counts calls inside the package, and raises at one of them."""

    def __init__(self, last: int, kind: type[BaseException]) -> None:
        self.calls, self.last, self.kind = 0, last, kind
        self.where = ""

    def __call__(self, frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(_PACKAGE):
            return
        self.calls += 1
        if self.calls == self.last:
            self.where = f"{Path(code.co_filename).name}:{code.co_name}"
            sys.setprofile(None)
            raise self.kind("injected")


@contextmanager
def _watching(counter: _Counter) -> Any:
    sys.setprofile(counter)
    try:
        yield
    finally:
        sys.setprofile(None)


@functools.cache
def _n_calls(name: str) -> int:
    """Return how many calls of the package one job makes when nothing goes wrong."""
    counter = _Counter(-1, RuntimeError)
    with tempfile.TemporaryDirectory() as place:
        job, _ = _JOBS[name](Path(place))
        with _watching(counter):
            job()
    return counter.calls


def run(seed: int) -> Outcome:
    """Let one job fail somewhere."""
    draw = Draw("faults", seed)
    name = draw.one_of(sorted(_JOBS))
    counter = _Counter(draw.between(1, _n_calls(name)), draw.one_of(_KINDS))
    with tempfile.TemporaryDirectory() as place:
        job, check = _JOBS[name](Path(place))
        failed = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InterruptedFitWarning)
            try:
                with _watching(counter):
                    job()
                failed = False
            except BaseException as error:
                if "injected" not in f"{error} {error.__cause__} {error.__context__}":
                    raise
        try:
            return Outcome.of(f"{name}: {check(failed)}")
        except AssertionError as error:
            raise type(error)(
                f"{error} ({name}, {counter.kind.__name__} at {counter.where})"
            ) from None


Job = tuple[Callable[[], Any], Callable[[bool], str]]


def _fit(place: Path) -> Job:
    """Return a second fit on other rows, and the check of what is left."""
    del place
    model, X = small_model(0)
    before = raw(model, X)
    n_history, table = len(model.history_), X.rename(columns={"age": "years"})
    y = np.arange(len(X)) % 2

    def check(failed: bool) -> str:
        if "years" in model.encoder_.names:
            expect(not failed or model.network_, "a new model without a network")
            check_sums(model, table)
            return AFTER
        expect((raw(model, X) == before).all(), "the old model answers otherwise")
        expect(len(model.history_) == n_history, "the old model has another history")
        return BEFORE

    return (lambda: model.fit(table, y)), check


def _save(place: Path) -> Job:
    one, X = small_model(0)
    other, _ = small_model(1)
    folder = place / "model"
    one.save(folder)

    def check(failed: bool) -> str:
        found = load(folder)
        if same_answers(found, other, X):
            return AFTER
        expect(failed and same_answers(found, one, X), "neither model is there")
        expect(len(contents(folder)) == FILES, f"{len(contents(folder))} files instead of {FILES}")
        return BEFORE

    return (lambda: other.save(folder)), check


def _file(write: Callable[[Path], Any], is_whole: Callable[[bytes], bool]) -> Callable[[Path], Job]:
    """Return a job that replaces one file."""

    def make(place: Path) -> Job:
        out = place / "file.html"
        out.write_bytes(b"old")

        def check(failed: bool) -> str:
            content = out.read_bytes()
            expect(sorted(contents(place)) == ["file.html"], "a draft was left behind")
            if content == b"old":
                expect(failed, "nothing was written, and nothing said")
                return BEFORE
            expect(is_whole(content), "half a file")
            return AFTER

        return (lambda: write(out)), check

    return make


@functools.cache
def _fitted() -> tuple[Any, Any]:
    model, X = small_model(0)
    model.audit(X, n_rows=4, n_orders=4)
    return model, X


def _explain(place: Path) -> Job:
    """Return an explanation, which must leave the model as it was."""
    del place
    model, X = small_model(0)
    right = model.explain(X).values

    def check(failed: bool) -> str:
        expect((model.explain(X).values == right).all(), "the next explanation is another")
        return BEFORE if failed else AFTER

    return (lambda: model.explain(X, n_orders=4)), check


_JOBS: dict[str, Callable[[Path], Job]] = {
    "fit": _fit,
    "save": _save,
    "explain": _explain,
    "report": _file(
        lambda out: write_report(*_fitted(), out), lambda text: text.rstrip().endswith(b"</html>")
    ),
    "audit file": _file(lambda out: _fitted()[0].audit_.save(out), lambda text: b"seal" in text),
    "explanation file": _file(
        lambda out: _fitted()[0].explain(_fitted()[1]).save(out), lambda text: text[-4:] == b"PAR1"
    ),
}
