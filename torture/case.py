"""One case: a right answer, a refusal in one clear sentence, or a defect.

A campaign's ``run(seed)`` returns an :class:`Outcome`, raises a :class:`Defect` where something
does not hold, and lets any exception through that should not have come.
"""

from __future__ import annotations

import resource
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sklearn.exceptions import DataConversionWarning

from sasanet import errors

RIGHT, REFUSED = "right answer", "refused in one sentence"
_LONGEST_SENTENCE = 1000
_NAMES_DIFFER = "The feature names should match"  # scikit-learn's wording has several lines
_PROJECT = Path(__file__).parent.parent
_ALLOWED_WARNINGS = (
    errors.InterruptedFitWarning,
    errors.RefinementWarning,
    errors.ShortFitWarning,
    errors.UniqueLevelsWarning,
    errors.UnknownLevelWarning,
    DataConversionWarning,
)
_ALLOWED_TEXTS = ("X does not have valid feature names", "X has feature names")  # scikit-learn's


class Defect(AssertionError):
    """Something that must hold does not."""


@dataclass(frozen=True)
class Outcome:
    """How a case ended well: by counts of what was tried in it, most often one."""

    counts: dict[str, int]

    @classmethod
    def of(cls, what: str) -> Outcome:
        """Return the outcome of a case that tried one thing."""
        return cls({what: 1})


@dataclass(frozen=True)
class Result:
    """What became of a seed; ``defect`` says what does not hold, and where."""

    seed: int
    counts: dict[str, int] = field(default_factory=dict)
    defect: str = ""
    seconds: float = 0.0
    memory_mib: float = 0.0  # the most the case held beyond what the process held before
    peak_mib: float = 0.0  # the most the process has held so far


def expect(holds: Any, what: str) -> None:
    """Raise a defect where something does not hold."""
    if not holds:
        raise Defect(what)


def check_sentence(error: BaseException) -> None:
    """Expect one of our errors, and that it is one sentence a person can read."""
    text = str(error)
    expect(isinstance(error, errors.SasanetError), f"{type(error).__name__} is none of our errors")
    expect(text.strip(), "the error says nothing")
    expect(len(text) <= _LONGEST_SENTENCE, f"an error of {len(text)} characters")
    expect("\n" not in text or text.startswith(_NAMES_DIFFER), f"lines, not a sentence: {text!r}")


@contextmanager
def watched_warnings() -> Iterator[None]:
    """Expect no warning but those meant for users."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for note in caught:
        known = issubclass(note.category, _ALLOWED_WARNINGS)
        if not known and not str(note.message).startswith(_ALLOWED_TEXTS):
            place = Path(note.filename).name
            raise Defect(f"{note.category.__name__} at {place}:{note.lineno}: {note.message}")


def attempt(run: Callable[[int], Outcome], seed: int) -> Result:
    """Run one case and note what became of it."""
    start, before = time.perf_counter(), _reset_peak()
    counts: dict[str, int] = {}
    defect = ""
    try:
        counts = run(seed).counts
    except Exception as error:  # any other ends the worker, and the runner notes that
        defect = describe(error)
    used = max(0.0, _peak_mib() - before)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Result(seed, counts, defect, time.perf_counter() - start, used, peak)


def describe(error: BaseException) -> str:
    """Return a defect in one line: what it is and the innermost place in this project."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PROJECT / "src")]
    where = ""
    if ours and not isinstance(error, Defect):
        place = Path(ours[-1].filename).relative_to(_PROJECT / "src" / "sasanet")
        where = f" in {place}:{ours[-1].name}"
    text = " ".join(str(error).split())
    name = "" if isinstance(error, Defect) else f"{type(error).__name__}{where}: "
    return f"{name}{text}"[:240]


def _reset_peak() -> float:
    """Forget the largest resident size so far where the system can, and return the present one."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return _status_mib("VmRSS")


def _peak_mib() -> float:
    found = _status_mib("VmHWM")
    return found or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _status_mib(name: str) -> float:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(name)), 0.0)
