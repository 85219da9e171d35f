"""A date is its time, its weekday, its month and, where there are times of day, its hour.

The time is a number, so that a trend is learned, in seconds since 1970; the others are read in the
time zone of the column, as a clock and a calendar on the wall would show them.
"""

from __future__ import annotations

import datetime as dt
from reprlib import repr as short
from typing import Any

import numpy as np
import pandas as pd

from sasanet.errors import InvalidInputError
from sasanet.table.bags.calendar_names import MONTHS, WEEKDAYS

DATES = (dt.date, np.datetime64, pd.Period)  # of single cells; a datetime is a date


def holds_dates(series: pd.Series) -> bool:
    """Tell whether all cells of a column, of which there are some, are dates."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return len(dtype.categories) > 0 and holds_dates(pd.Series(dtype.categories))
    if dtype.kind == "M" or isinstance(dtype, pd.PeriodDtype):
        return True
    if dtype.kind != "O" or isinstance(dtype, pd.StringDtype):
        return False
    cells = series[series.notna().to_numpy()]
    # The first cell decides almost always: a column of text is not gone through.
    return (
        len(cells) > 0
        and isinstance(cells.iloc[0], DATES)
        and all(issubclass(kind, DATES) for kind in set(map(type, cells)))
    )


def expand(series: pd.Series, name: str, zone: str) -> dict[str, pd.Series]:
    """Return the parts of a column of dates; those of missing dates are missing.

    Examples
    --------
    >>> days = pd.Series(pd.to_datetime(["2026-11-15 14:30", None]))
    >>> {part: cells.tolist() for part, cells in expand(days, "posted", "").items()}
    {'time': [1794753000.0, nan], 'weekday': ['Sunday', nan], 'month': ['November', nan], 'hour': [14.5, nan]}
    """  # noqa: E501 - a line of output
    times = read_times(series, name, zone)
    fine = (times.tz_convert("UTC").tz_localize(None) if zone else times).as_unit("us")
    seconds = np.where(times.isna(), np.nan, fine.asi8 / 1e6)
    hour = times.hour + times.minute / 60 + times.second / 3600
    return {
        "time": pd.Series(seconds, dtype=np.float64),
        "weekday": _names(times.day_of_week, WEEKDAYS),
        "month": _names(times.month - 1, MONTHS),
        "hour": pd.Series(np.asarray(hour, dtype=np.float64)),
    }


def _names(numbers: Any, names: tuple[str, ...]) -> pd.Series:
    codes = np.nan_to_num(np.asarray(numbers, dtype=np.float64), nan=-1).astype(np.intp)
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(names)))


def zone_of(series: pd.Series, name: str) -> str:
    """Return the name of the time zone that a training column has; empty: none.

    Examples
    --------
    >>> zone_of(pd.Series(pd.to_datetime(["2026-11-15"]).tz_localize("Europe/Rome")), "posted")
    'Europe/Rome'
    """
    times, zones = _read(series, name)
    if len(zones) > 1:
        raise InvalidInputError(
            f"Column {name!r} must hold times of one time zone, got {short(sorted(zones))}; "
            f"convert it first: X[{name!r}] = pd.to_datetime(X[{name!r}], utc=True)."
        )
    zone = next(iter(zones), "")
    if zone:
        try:
            times.tz_convert(zone)
        except (KeyError, ValueError, TypeError):  # not a name that pandas finds again
            raise InvalidInputError(
                f"Column {name!r} must have a time zone with a name, got {short(zone)}; convert it "
                f"first: X[{name!r}] = X[{name!r}].dt.tz_convert('UTC')."
            ) from None
    return zone


def read_times(series: pd.Series, name: str, zone: str) -> pd.DatetimeIndex:
    """Return the times of a column in the zone of training; NaT where missing."""
    times, zones = _read(series, name)
    present = not times.isna().all()
    if zone and present and not zones:
        raise InvalidInputError(
            f"Column {name!r} must hold times with a time zone, as in training ({zone}), got times "
            f"without one; say which with X[{name!r}].dt.tz_localize({zone!r})."
        )
    if zones and not zone:
        raise InvalidInputError(
            f"Column {name!r} must hold times without a time zone, as in training, got "
            f"{short(sorted(zones))}; drop it with X[{name!r}].dt.tz_localize(None)."
        )
    if not zone:
        return times
    return (times if times.tz is not None else times.tz_localize("UTC")).tz_convert(zone)


def _read(series: pd.Series, name: str) -> tuple[pd.DatetimeIndex, set[str]]:
    """Return times, in UTC where they have a zone, and the names of their zones."""
    dtype: Any = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        series = series.astype(dtype.categories.dtype)
        dtype = series.dtype
    if isinstance(dtype, pd.PeriodDtype):
        return pd.DatetimeIndex(series.dt.to_timestamp()), set()
    if isinstance(dtype, np.dtype | pd.DatetimeTZDtype) and dtype.kind == "M":
        times = pd.DatetimeIndex(series)
        if times.tz is None:
            return times, set()
        return times.tz_convert("UTC"), {_zone_name(times.tz)}
    return _read_objects(series, name)


def _read_objects(series: pd.Series, name: str) -> tuple[pd.DatetimeIndex, set[str]]:
    """Read dates, times, periods, and text that ISO 8601 calls a date, one by one."""
    missing = series.isna().to_numpy()
    cells = series.to_numpy(dtype=object)
    found = [_time(cell, name) for cell in cells[~missing]]
    zones = {_zone_name(time.tzinfo) for time in found if time.tzinfo is not None}
    if zones and any(time.tzinfo is None for time in found):
        raise InvalidInputError(
            f"Column {name!r} must hold times that all have a time zone, or none, got both; "
            f"convert it first: X[{name!r}] = pd.to_datetime(X[{name!r}], utc=True)."
        )
    values = np.full(len(cells), "NaT", dtype="datetime64[us]")
    values[~missing] = [_in_utc(time, name) for time in found]
    times = pd.DatetimeIndex(values)
    return (times.tz_localize("UTC") if zones else times), zones


def _time(cell: Any, name: str) -> dt.datetime:
    time = read_time(cell)
    if time is None:
        raise _not_a_date(name, cell.item() if isinstance(cell, np.generic) else cell)
    return time


def read_time(cell: Any) -> dt.datetime | None:
    """Return one cell as a time, ``None`` if it is none; whole days begin at midnight."""
    try:
        if isinstance(cell, str):
            return dt.datetime.fromisoformat(cell.strip())
        if isinstance(cell, pd.Period):
            cell = cell.to_timestamp()
        if isinstance(cell, np.datetime64):
            cell = pd.Timestamp(cell)
        if isinstance(cell, pd.Timestamp):
            return cell.to_pydatetime(warn=False)
        if isinstance(cell, dt.datetime):
            return cell
        if isinstance(cell, dt.date):
            return dt.datetime(cell.year, cell.month, cell.day)
    except (ValueError, OverflowError):
        pass
    return None


def _not_a_date(name: str, cell: object) -> InvalidInputError:
    """Return the error for a cell that is no date in a column of dates."""
    return InvalidInputError(
        f"Column {name!r} must hold dates as in training, got {short(cell)}; convert it first: "
        f"X[{name!r}] = pd.to_datetime(X[{name!r}]), or set it to None if it is missing."
    )


def _in_utc(time: dt.datetime, name: str) -> dt.datetime:
    if time.tzinfo is None:
        return time
    try:
        return time.astimezone(dt.UTC).replace(tzinfo=None)
    except OverflowError:  # the first or last hours of the calendar
        raise _not_a_date(name, time) from None


def _zone_name(zone: Any) -> str:
    """Return the name that finds a zone again: "Europe/Rome", "UTC", "UTC+01:00"."""
    return str(getattr(zone, "key", None) or getattr(zone, "zone", None) or zone)


def time_of(seconds: float, zone: str) -> dt.datetime:
    """Return the time that is so many seconds after 1970, in a zone."""
    time = pd.Timestamp(seconds, unit="s").as_unit("us")
    return (time.tz_localize("UTC").tz_convert(zone) if zone else time).to_pydatetime(warn=False)
