"""The result of an audit: records of numbers and words, to print, save, load and plot.

Nothing here needs the model or torch.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from sasanet.checksums import read_json, seal, sealed
from sasanet.errors import InvalidInputError, SavedFileError
from sasanet.whole_files import read_path, write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAME_AS_SELF_GAME = "the same measurement as self-game: a set module's Δ is the difference of v"
_Record = TypeVar("_Record", "Finding", "Bin")


@dataclass(frozen=True)
class Finding:
    """One measured quantity.

    Parameters
    ----------
    name : str
        What was measured.
    value, low, high : float
        The quantity and its 95 % interval over rows; NaN where the rows do not define it.
    noise : float
        What the sampling error of the true values alone would cause, in the same units; 0: exact.
        It is subtracted from RMSE and R², not from agreements and calibration errors.
    noise_high : float
        Of a calibration error: what the labels' noise alone stays below 19 times out of 20; a
        larger value is beyond chance. 0: not estimated.
    n_orders : int
        Orders used per row; 0: the comparison is exact.
    seconds : float
        Duration of the measurement; findings of one measurement share it.
    note : str
        Definition, or what else to know.

    Examples
    --------
    >>> Finding("self-game RMSE", 0.02, 0.018, 0.023, noise=0.007, n_orders=400).noise
    0.007
    """

    name: str
    value: float
    low: float
    high: float
    noise: float = 0.0
    n_orders: int = 0
    seconds: float = 0.0
    note: str = ""
    noise_high: float = 0.0


@dataclass(frozen=True)
class Bin:
    """Rows with similar predictions: mean predicted, mean observed, its 95 % interval, how many."""

    predicted: float
    observed: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class SizeCalibration:
    """How well v(S) predicts labels when a given number of features is known.

    Parameters
    ----------
    features : int
        Known features, the size of S; in rows with fewer present features, all of those.
    n_rows : int
        Labelled rows, one random S each.
    loss, loss_low, loss_high : float
        Mean loss of v(S): cross-entropy; squared error or Huber's in the target's squared units,
        pinball loss in its units; the unit deviance of rates.
    base_loss : float
        Loss of the base value on the same rows.
    gain, gain_low, gain_high : float
        Loss of the base value minus loss of v(S).
    error, error_low, error_high : float
        Expected calibration error: the mean over rows of the distance between predicted and
        observed, by bin.
    noise, noise_high : float
        The calibration error that chance alone gives a perfectly calibrated v on these rows: the
        mean, and what it stays below 19 times out of 20.
    slope, slope_low, slope_high : float
        Of observed on predicted: 1 is calibrated, less is overconfident; NaN if v(S) is constant.
    bins : tuple of Bin
        Ten of equal count, fewer where predictions are equal; multiclass pools all classes.
    """

    features: int
    n_rows: int
    loss: float
    loss_low: float
    loss_high: float
    base_loss: float
    gain: float
    gain_low: float
    gain_high: float
    error: float
    error_low: float
    error_high: float
    noise: float
    noise_high: float
    slope: float
    slope_low: float
    slope_high: float
    bins: tuple[Bin, ...]

    @property
    def is_beyond_chance(self) -> bool:
        """Whether the calibration error is larger than the labels' noise explains."""
        return self.error > self.noise_high


@dataclass(frozen=True)
class Audit:
    """The certificate of an audit: what was measured, on which rows, how, and how long it took.

    Parameters
    ----------
    findings : tuple of Finding
        Look one up by name: ``audit["self-game R²"]``.
    calibration : tuple of SizeCalibration
        By number of known features; empty without labels.
    n_rows, n_exact : int
        Audited rows, and how many of them by enumeration of all coalitions.
    n_orders : int
        Orders for each of the other rows; 0 if there are none.
    seconds : float
        Duration of the whole audit.
    units : str
        What one unit of an attribution means.
    model, network, task : str
        The class of the model, its marginal module, and the task.
    n_features : int
        Columns of the table.
    weights : str
        SHA-256 of the audited weights, as in ``model.json``.
    method : str
        ``"learned"`` where the module that the formula taught was audited; else empty.

    Examples
    --------
    >>> found = Finding("additivity gap", 0.0, 0.0, 0.0)
    >>> report = Audit((found,), (), n_rows=50, n_orders=0, seconds=0.1)
    >>> report["additivity gap"].value
    0.0
    >>> Audit.from_dict(report.to_dict()) == report
    True
    """

    findings: tuple[Finding, ...]
    calibration: tuple[SizeCalibration, ...]
    n_rows: int
    n_orders: int
    seconds: float
    units: str = ""
    model: str = ""
    network: str = ""
    task: str = ""
    n_features: int = 0
    n_exact: int = 0
    weights: str = ""
    method: str = ""

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise InvalidInputError(f"No finding {name!r}; there are {[f.name for f in self.findings]}")

    def __contains__(self, name: str) -> bool:
        return any(finding.name == name for finding in self.findings)

    def __str__(self) -> str:
        from sasanet.audit.text import describe  # it reads this file's records

        return describe(self)

    def _repr_html_(self) -> str:
        from sasanet.audit.html import audit_html  # it reads this file's records

        return audit_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON; undefined numbers are None."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Audit:
        """Return the certificate from the data that :meth:`to_dict` made."""
        try:
            findings = tuple(_read(Finding, finding) for finding in found["findings"])
            sizes = tuple(_read_size(size) for size in found["calibration"])
            return cls(**{**found, "findings": findings, "calibration": sizes})
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(
                f"A certificate must be a dict that to_dict made, got {error}; audit anew"
            ) from error

    def to_frame(self) -> pd.DataFrame:
        """Return the findings as a table, one row each."""
        return pd.DataFrame([asdict(f) for f in self.findings]).set_index("name")

    def calibration_frame(self) -> pd.DataFrame:
        """Return the calibration of v(S) as a table, one row per number of known features."""
        names = [name for name in SizeCalibration.__annotations__ if name != "bins"]
        rows = [[getattr(size, name) for name in names] for size in self.calibration]
        return pd.DataFrame(rows, columns=names).set_index("features")

    def to_json(self) -> str:
        """Return the certificate as JSON text with a checksum."""
        return json.dumps(sealed(self.to_dict()), indent=1, allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON; :meth:`load` refuses a file that was edited."""
        write_whole(path, self.to_json().encode())

    @classmethod
    def load(cls, path: str | Path) -> Audit:
        """Read what :meth:`save` wrote, or the ``audit.json`` of a saved model."""
        file = read_path(path)
        try:
            found = read_json(file.read_text("utf-8"))
            noted = found.pop("seal")
            unchanged = noted == seal(found)
            audit = cls.from_dict(found)
        except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
            raise SavedFileError(f"{path} is not a saved audit: {error}") from None
        if not unchanged:
            raise SavedFileError(
                f"{path} was changed after it was saved; delete it and audit the model anew"
            )
        return audit

    def plot(self, axes: tuple[Axes, Axes] | None = None) -> tuple[Axes, Axes]:
        """Draw the loss and the calibration of v(S): :func:`sasanet.plots.plot_audit`."""
        from sasanet.plots import plot_audit  # plots stand above this room

        return plot_audit(self, axes)


def _plain(value: Any) -> Any:
    """Return nested records as JSON can hold them: lists for tuples, None for NaN."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _read(kind: type[_Record], found: dict[str, Any]) -> _Record:
    return kind(**_undefined(found))


def _read_size(found: dict[str, Any]) -> SizeCalibration:
    bins = tuple(_read(Bin, part) for part in found["bins"])
    return SizeCalibration(**{**_undefined(found), "bins": bins})


def _undefined(found: dict[str, Any]) -> dict[str, Any]:
    return {key: math.nan if part is None else part for key, part in found.items()}
