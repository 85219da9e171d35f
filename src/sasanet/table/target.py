"""Labels in, numbers for the network out, and its outputs back in the user's units.

A :class:`Target` remembers what one task means: the base value φ0 (fixed from the training labels,
never learned), the scale, the class labels. It keeps no labels once training is set up.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from reprlib import repr as short
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.objectives import POWERS, check_rates
from sasanet.validation import our_refusals

_LARGEST = 5e307  # of a target: a prediction may lie some standard deviations beyond
_LARGEST_SCORE = 1e15
_SMALLEST_RATE = 1e-30  # of the mean rate
LARGEST_LOG, SMALLEST_LOG = 709.78, -744.45  # of a number that float64 can hold
_DATES = (dt.date, dt.timedelta, np.datetime64, np.timedelta64)


@dataclass(frozen=True)
class Target:
    """What the labels mean.

    Attributes
    ----------
    task : {"binary", "multiclass", "regression"}
    base : tuple of float
        φ0 per output: log-odds, log class priors, or the mean.
    scale : float
        Target units per unit of network output (the standard deviation, for regression).
    labels : tuple
        Class labels in order; () for regression.
    numbers : ndarray (n,)
        The training labels as the network reads them; emptied by :meth:`forget_labels`.
    objective : str
        Of a regression: see :mod:`sasanet.objectives`.
    quantiles : tuple of float
        Those that are predicted; () for means.
    """

    task: str
    base: tuple[float, ...]
    scale: float
    labels: tuple[Any, ...]
    numbers: Floats
    objective: str = "squared"
    quantiles: tuple[float, ...] = ()

    @property
    def loss(self) -> str:
        """What predictions are judged by: the task, or an objective that is not "squared"."""
        return self.task if self.objective == "squared" else self.objective

    @property
    def has_log_link(self) -> bool:
        """Whether raw predictions are logarithms of means."""
        return self.objective in POWERS

    @property
    def units(self) -> str:
        """What one unit of an attribution means."""
        if self.has_log_link:
            return "log rate"
        return "target" if self.task == "regression" else "log-odds"

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of several outputs: classes, or quantiles; () for one output."""
        if len(self.base) == 1:
            return ()
        if self.quantiles:
            return tuple(f"q{quantile:g}" for quantile in self.quantiles)
        return tuple(map(str, self.labels))

    @property
    def network_base(self) -> tuple[float, ...]:
        """φ0 on the network's own scale (a standardised target has mean 0, a rate is relative)."""
        if self.quantiles:
            return tuple((base - self._center) / self.scale for base in self.base)
        return (0.0,) if self.task == "regression" else self.base

    @property
    def gaps(self) -> tuple[float, ...]:
        """The distances of successive quantiles when nothing is known, on the network's scale."""
        return tuple(np.diff(self.network_base).tolist()) if self.quantiles else ()

    @property
    def loss_scale(self) -> float:
        """What turns losses of the network's numbers into those of the target's units."""
        if self.has_log_link:  # a deviance of power p grows like the mean to the power 2 − p
            return math.exp(self.base[0] * (2 - POWERS[self.objective]))
        return self.scale if self.quantiles else self.scale**2

    @property
    def _center(self) -> float:
        """What the network's numbers are relative to: φ0, of several quantiles the middle one."""
        return self.base[len(self.base) // 2]

    def cap(self, n_rows: int) -> float:
        """Return the bound of the network's output: no log-odds beyond what n rows support."""
        bounded = self.task != "regression" or self.has_log_link
        return max(4.0, math.log(n_rows)) if bounded else math.inf

    def to_raw(self, outputs: Floats) -> Floats:
        """Return network outputs as raw predictions: [..., K] → [..., K]."""
        return outputs * self.scale + np.array(self.base)

    def to_target(self, raw: Floats) -> Floats:
        """Return raw predictions of a regression in the target's units: any shape."""
        # The largest rates of all are far beyond any that was seen, and no reason for infinity.
        return np.exp(np.minimum(raw, LARGEST_LOG)) if self.has_log_link else raw

    def read(self, y: Any) -> Floats:
        """Return other labels of the same task as the network reads them."""
        if self.task != "regression":
            return _class_index(_read_labels(y), self.labels)
        y = read_numbers(y)
        if self.has_log_link:
            check_rates(y, self.objective)
            return above(within(y / math.exp(self._center)), self.objective)
        unit = unit_of(np.array([*self.base, self.scale]))
        return within((y / unit - self._center / unit) / (self.scale / unit))

    def to_labels(self, numbers: Floats) -> Floats:
        """Return what :meth:`read` made of a regression's labels in the target's units."""
        if self.has_log_link:
            return numbers * math.exp(self._center)
        return numbers * self.scale + self._center

    def hold_out(self, fraction: float, random: np.random.RandomState) -> NDArray[np.bool_]:
        """Choose validation rows, by class where there are classes; none of tiny tables."""
        n_rows = len(self.numbers)
        held_out = np.zeros(n_rows, dtype=bool)
        fraction = min(fraction, 0.5)  # at least as much to learn from as to stop by
        if round(fraction * n_rows) < 2:
            return held_out
        order = random.permutation(n_rows)
        if self.labels:  # every k-th row of each class: the classes keep their shares
            order = order[np.argsort(self.numbers[order], kind="stable")]
            ranks = np.arange(n_rows) - np.searchsorted(self.numbers[order], self.numbers[order])
            held_out[order[np.floor(ranks * fraction) < np.floor((ranks + 1) * fraction)]] = True
        else:
            held_out[order[: round(fraction * n_rows)]] = True
        return held_out

    def forget_labels(self) -> Target:
        """Return the same meaning without the training labels."""
        return replace(self, numbers=np.empty(0))


def to_probability(raw: Floats) -> Floats:
    """Return the probabilities that raw predictions of classes mean: [..., K] → [..., K].

    One number is the log-odds of the second of two classes; several go through the softmax.
    """
    return np.asarray(expit(raw) if raw.shape[-1] == 1 else softmax(raw, axis=-1))


def class_shares(raw: Floats) -> Floats:
    """Return the probability of every class, also of two: [n, K] → [n, C]."""
    if raw.shape[1] == 1:
        raw = np.hstack([np.zeros_like(raw), raw])  # log-odds are a softmax against 0
    shares = np.exp(raw - raw.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def read_classes(y: Any, weights: Floats) -> Target:
    """Learn the meaning of class labels."""
    y = _read_labels(y)
    labels = np.unique(y)
    if len(labels) < 2:
        raise InvalidInputError(
            f"y must hold at least two classes, got only one class, {labels.tolist()}"
        )
    numbers = _class_index(y, tuple(labels.tolist()))
    # A class without weight still needs a finite base value: it counts as a thousandth of a row.
    mass = np.maximum(np.bincount(numbers.astype(int), weights), 1e-3 * weights.mean())
    priors = np.log(mass / mass.sum())
    binary = len(labels) == 2
    base = (float(priors[1] - priors[0]),) if binary else tuple(priors.tolist())
    return Target("binary" if binary else "multiclass", base, 1.0, tuple(labels.tolist()), numbers)


def read_quantities(y: Any, weights: Floats) -> Target:
    """Learn the mean and the spread of a regression target."""
    y = read_numbers(y)
    check_size(y)
    unit = unit_of(y)
    scaled = y / unit
    mean = float(np.average(scaled, weights=weights))
    spread = math.sqrt(float(np.average((scaled - mean) ** 2, weights=weights)))
    scale = spread if spread > 1e-12 * abs(mean) else 1.0
    numbers = within((scaled - mean) / scale)
    return Target("regression", (mean * unit,), scale * unit, (), numbers)


def check_size(y: Floats) -> None:
    """Refuse numbers that predictions could not lie beyond."""
    if (largest := np.abs(y).max()) > _LARGEST:
        raise InvalidInputError(
            f"y must stay within ±{_LARGEST:g}, so that predictions near it are finite, got "
            f"{largest:g}; divide it by a constant"
        )


def within(numbers: Floats) -> Floats:
    """Return standard scores whose squares float32 can hold; only rows without weight go beyond."""
    return np.clip(numbers, -_LARGEST_SCORE, _LARGEST_SCORE)


def above(rates: Floats, objective: str) -> Floats:
    """Return rates that the logarithm of a gamma deviance can take in float32."""
    return np.maximum(rates, _SMALLEST_RATE) if objective == "gamma" else rates


def unit_of(y: Floats) -> float:
    """Return a power of two to divide by where squares of the target would leave the floats."""
    largest = float(np.abs(y).max(initial=0.0))
    if largest == 0 or 1e-100 < largest < 1e100:
        return 1.0
    return float(2.0 ** (math.frexp(largest)[1] - 1))


def _read_labels(y: Any) -> Any:
    with our_refusals():
        # Before NumPy sees it: np.asarray(["a", nan]) would make a class of the text "nan".
        plain = isinstance(y, list | tuple | pd.Series | np.ndarray) and np.ndim(y) == 1
        if plain and (missing := pd.isna(pd.Series(y, dtype=object))).any():
            raise InvalidInputError(
                f"y must not have missing labels, got Input y contains NaN in {missing.sum()} rows"
            )
        _refuse_dates(y)
        if plain and getattr(y, "dtype", np.dtype(object)).kind not in "iufb":
            _refuse_cut_text(y)
        if plain and getattr(y, "dtype", None) == np.dtype(object):
            inferred = pd.Series(y).infer_objects()  # numbers or truths that stand as objects
            y = inferred.to_numpy() if inferred.dtype.kind in "iufb" else y
        _check_finite(y)
        check_classification_targets(y)
        return column_or_1d(y, warn=True)


def _refuse_cut_text(y: Any) -> None:
    """Refuse text that NumPy would cut: it takes NUL at the end for padding, and merges classes."""
    for label in pd.unique(pd.Series(y, dtype=object)):
        if isinstance(label, str) and label.endswith("\0"):
            raise InvalidInputError(
                f"y must hold labels that do not end in NUL, got {label!r:.200}; rename it"
            )


def _refuse_dates(y: Any) -> None:
    """Refuse dates as classes: neither JSON nor a prediction would give them back as they were."""
    labels = np.asarray(y) if hasattr(y, "dtype") else np.asarray(y, dtype=object)
    found = next(iter(labels.ravel()[:1]), None)
    if isinstance(found, _DATES) or labels.dtype.kind in "mM":
        raise InvalidInputError(
            f"y must hold classes as text, numbers or booleans, got dates such as {found!r}; "
            "use y.astype(str)"
        )


def _check_finite(y: Any) -> None:
    with np.errstate(invalid="ignore", over="ignore"):  # it adds all up first
        assert_all_finite(y, input_name="y")


def read_numbers(y: Any) -> Floats:
    """Return labels as finite numbers, or refuse them."""
    with our_refusals():
        y = column_or_1d(y, warn=True)
    if y.dtype.kind not in "iufb":
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InvalidInputError(
                f"y must hold numbers for regression, got {short(y[:3].tolist())}; "
                "for classes use SASANetClassifier"
            ) from None
    with our_refusals():
        _check_finite(y)
    return np.asarray(y, dtype=np.float64)


def _class_index(y: Any, labels: tuple[Any, ...]) -> Floats:
    """Return the index of each label; a label not in training is refused."""
    known = np.array(labels)
    index = np.searchsorted(known, y).clip(max=len(known) - 1)
    if (strange := np.asarray(known[index] != y)).any():
        raise InvalidInputError(
            f"y must hold the classes {known.tolist()}, got {np.unique(y[strange]).tolist()}"
        )
    return index.astype(np.float64)
