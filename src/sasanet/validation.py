"""Checks of single arguments, each with one sentence that says what must hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np

from sasanet.errors import InvalidInputError, SasanetError

_LONGEST = 300  # characters of another package's message


@contextmanager
def our_refusals() -> Iterator[None]:
    """Turn what scikit-learn's checks raise into our error: the same words, in one sentence.

    Examples
    --------
    >>> with our_refusals():
    ...     float("one")
    Traceback (most recent call last):
    sasanet.errors.InvalidInputError: could not convert string to float: 'one'
    """
    try:
        yield
    except SasanetError:
        raise
    except (TypeError, ValueError) as error:
        text = " ".join(str(error).split())
        short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
        raise InvalidInputError(short) from error


def check_integer(name: str, given: object, least: int, most: int | None, remedy: str) -> int:
    """Return an integer argument, or say which ones are allowed and what else to do."""
    integral = isinstance(given, Integral) and not isinstance(given, bool)
    number = int(given) if integral else least - 1  # type: ignore[call-overload]
    if number < least or (most is not None and number > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InvalidInputError(f"{name} must be an integer {bounds}, got {given!r}; {remedy}")
    return number


def make_generator(random_state: int) -> np.random.Generator:
    """Return the one source of randomness of a call."""
    seed = check_integer("random_state", random_state, 0, None, "give a fixed seed such as 0")
    return np.random.default_rng(seed)


def _as_float(value: Any) -> float:
    """Return a real number as a float, NaN for everything else."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer beyond 1e308
        return math.inf


def read_real(
    parameters: dict[str, Any],
    name: str,
    above: float | None = None,
    below: float = math.inf,
    auto: float | None = None,
) -> float:
    """Return a parameter that must be a number of at least 0 (or above a bound), or "auto"."""
    value = parameters[name]
    if auto is not None and isinstance(value, str) and value == "auto":
        return auto
    number = _as_float(value)
    fits = number > above if above is not None else number >= 0
    if not (fits and (number < below or name == "time_limit")):
        floor = f"above {above}" if above is not None else "at least 0"
        ceiling = f" and below {below}" if below < math.inf else ""
        choice = "'auto' or " if auto is not None else ""
        must = f"{choice}a number {floor}{ceiling}"
        raise InvalidInputError(f"{name} must be {must}, got {value!r}")
    return number


def read_count(
    parameters: dict[str, Any], name: str, auto: int | None = None, least: int = 1
) -> int:
    """Return a parameter that must be a whole number, or "auto"."""
    value = parameters[name]
    if auto is not None and isinstance(value, str) and value == "auto":
        return auto
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        choice = "'auto' or " if auto is not None else ""
        raise InvalidInputError(
            f"{name} must be {choice}a whole number of at least {least}, got {value!r}"
        )
    return int(value)


def read_sizes(name: str, sizes: Any, least: int = 1) -> tuple[int, ...]:
    """Return sizes of layers: a tuple of so many whole numbers of at least 1, or more."""
    listed = isinstance(sizes, list | tuple)
    whole = listed and all(
        isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1 for n in sizes
    )
    if not whole or len(sizes) < least:
        must = f"hold {least} or more whole numbers of at least 1"
        raise InvalidInputError(f"{name} must {must}, got {sizes!r}")
    return tuple(map(int, sizes))


def read_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return a setting that must be one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInputError(f"{name} must be one of {choices}, got {value!r}")
    return str(value)
