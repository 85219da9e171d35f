"""Jobs that are made to fail somewhere inside, and the checks of what each leaves.

A job is a call and a check: told whether the call failed, it says whether everything is as it was
before or as it was to be, and raises a defect where it is something between.
"""

from __future__ import annotations

import functools
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sasanet import SASANetClassifier, load
from sasanet.errors import InterruptedFitWarning
from sasanet.report import write_report
from sasanet.scale import explain_batches
from torture.case import expect
from torture.models import FILES, Answers, check_sums, raw, same_answers, small_model, tiny
from torture.processes import contents

BEFORE, AFTER = "the state before", "the state after"
ON = "the state before, and the same call went on"
Job = tuple[Callable[[], Any], Callable[[bool], str]]


class _Told:
    """A call of which is known whether it said that it was interrupted: it then keeps the best."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call, self.interrupted = call, False

    def __call__(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InterruptedFitWarning)
            self.call()
        self.interrupted = any(note.category is InterruptedFitWarning for note in caught)


def _fit(place: Path) -> Job:
    """Return a second fit on other rows, and the check of what is left."""
    del place
    model, X = small_model(0)
    table = X.rename(columns={"age": "years"})
    fit = _Told(lambda: model.fit(table, _labels(X)))
    return fit, _kept(model, X, table, fit)


def _partial_fit(place: Path) -> Job:
    """Return further training on other rows."""
    del place
    model, X = small_model(0)
    fit = _Told(lambda: model.partial_fit(X, _labels(X)))
    return fit, _kept(model, X, X, fit)


def _labels(X: pd.DataFrame) -> Any:
    return np.arange(len(X)) % 2


def _kept(model: Any, X: pd.DataFrame, table: pd.DataFrame, fit: _Told) -> Callable[[bool], str]:
    """Return the check that a fitted model is the old one, or one of the other table."""
    before, n_history = raw(model, X), len(model.history_)
    names = model.encoder_.names

    def check(failed: bool) -> str:
        if fit.interrupted or model.encoder_.names != names or len(model.history_) != n_history:
            check_sums(model, table)
            return AFTER
        expect(failed, "nothing was learned, and nothing said")
        expect((raw(model, X) == before).all(), "the old model answers otherwise")
        return BEFORE

    return check


def _unfitted() -> Any:
    return tiny(SASANetClassifier, 0, max_epochs=3, batch_size=8)


@functools.cache
def _learned_alone() -> Answers:
    """Return what a fit gives that nobody disturbs."""
    _, X = small_model(0)
    return Answers.of(_unfitted().fit(X, _labels(X)), X)


def _fit_with_checkpoint(place: Path) -> Job:
    """Return a fit whose same call goes on where it failed."""
    _, X = small_model(0)
    right, model = _learned_alone(), _unfitted()
    fit = _Told(lambda: model.fit(X, _labels(X), checkpoint=place / "state"))

    def check(failed: bool) -> str:
        fitted = hasattr(model, "network_")
        expect(fitted or failed, "nothing was learned, and nothing said")
        if fitted and Answers.of(model, X).equal(right):
            return AFTER
        if fitted:  # Ctrl-C keeps the best state so far
            expect(fit.interrupted, "another model, and nothing said")
            check_sums(model, X)
        fit()
        expect(Answers.of(model, X).equal(right), "the same call went on to another model")
        return ON

    return fit, check


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


def _load(place: Path) -> Job:
    """Return a load, which must leave the files as they were."""
    model, X = small_model(0)
    model.save(place / "model")
    before = contents(place)

    def check(failed: bool) -> str:
        expect(contents(place) == before, "loading has changed the files")
        expect(same_answers(load(place / "model"), model, X), "the next load gives another model")
        return BEFORE if failed else AFTER

    return (lambda: load(place / "model")), check


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
def _fitted() -> tuple[Any, pd.DataFrame]:
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


@functools.cache
def parts_and_explained() -> tuple[list[pd.DataFrame], dict[str, bytes]]:
    """Return parts of a table, and what explaining them leaves when nobody interferes."""
    model, X = small_model(0)
    parts = [X.iloc[start : start + 2] for start in range(0, len(X), 2)]
    with tempfile.TemporaryDirectory(prefix="torture-") as place:
        explain_batches(model, parts, Path(place) / "parts", n_jobs=1)
        return parts, contents(Path(place) / "parts")


def _explain_batches(place: Path) -> Job:
    """Return explanations of parts, which the same call goes on with."""
    model, _ = small_model(0)
    parts, right = parts_and_explained()
    parts, out = parts[:3], place / "parts"

    def explain() -> None:
        explain_batches(model, parts, out, n_jobs=1)

    def check(failed: bool) -> str:
        found = contents(out) if out.exists() else {}
        parts_left = {name: text for name, text in found.items() if name.endswith(".parquet")}
        whole = all(right.get(name) == text for name, text in parts_left.items())
        expect(whole, "a part is not whole")
        expect(failed or len(parts_left) == len(parts), "parts are missing, and nothing was said")
        explain()
        again = contents(out)
        expect(all(again.get(name) == right[name] for name in parts_left), "other parts")
        n_parts = sum(name.endswith(".parquet") for name in again)
        expect(n_parts == len(parts), f"{sorted(again)} after the same call")
        expect(not any("draft" in name for name in again), "a draft stays")
        return ON if failed else AFTER

    return explain, check


JOBS: dict[str, Callable[[Path], Job]] = {
    "fit": _fit,
    "fit with checkpoint": _fit_with_checkpoint,
    "partial_fit": _partial_fit,
    "save": _save,
    "load": _load,
    "explain": _explain,
    "explain_batches": _explain_batches,
    "report": _file(
        lambda out: write_report(*_fitted(), out), lambda text: text.rstrip().endswith(b"</html>")
    ),
    "audit file": _file(lambda out: _fitted()[0].audit_.save(out), lambda text: b"seal" in text),
    "explanation file": _file(
        lambda out: _fitted()[0].explain(_fitted()[1]).save(out), lambda text: text[-4:] == b"PAR1"
    ),
}
