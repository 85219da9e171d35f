"""User errors: one sentence that says what must hold, what came, and the remedy.

Every error also *is* the standard error a user would catch (``ValueError``, ``ImportError``), so
code written for scikit-learn keeps working, and ``except SasanetError`` catches exactly ours.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from pathlib import Path
from typing import Any

__all__ = [
    "FileWriteError",
    "InterruptedFitWarning",
    "InvalidInputError",
    "MissingPackageError",
    "RefinementWarning",
    "SasanetError",
    "SavedFileError",
    "ShortFitWarning",
    "SlowTeacherWarning",
    "UniqueLevelsWarning",
    "UnknownLevelWarning",
]
_PACKAGE = str(Path(__file__).parent)


class SasanetError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidInputError(SasanetError, ValueError):
    """The table, the labels or an argument cannot be used as given."""


class SavedFileError(SasanetError, ValueError):
    """A saved model or explanation is truncated, edited or not ours."""


class FileWriteError(SasanetError, OSError):
    """A file cannot be written; what was there before is unchanged."""


class MissingPackageError(SasanetError, ImportError):
    """An optional package is needed for this call."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"This call needs the package {package!r}, which is not installed; "
            f'install it with: pip install "sasanet[{extra}]"'
        )


class UnknownLevelWarning(UserWarning):
    """A category was never seen in training and gets the reserved place."""


class UniqueLevelsWarning(UserWarning):
    """A category has another level in most rows, as names and ids have."""


class RefinementWarning(UserWarning):
    """Refining did not reach the standard error that was asked for."""


class ShortFitWarning(UserWarning):
    """A time limit ended training before the network had learned much."""


class SlowTeacherWarning(UserWarning):
    """LightGBM cannot be loaded, and slower trees take its place."""


class InterruptedFitWarning(UserWarning):
    """Training was stopped from the keyboard; the best state so far was kept."""


def need_package(module: str, extra: str) -> Any:
    """Import an optional package, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(module.split(".")[0], extra) from error


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the package, however deep inside the reason was found."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
