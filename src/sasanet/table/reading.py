"""Anything tabular in, a pandas DataFrame and its columns as plain numbers or levels out.

What cannot be read is refused here, in one sentence with its remedy.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from reprlib import repr as short
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet import errors
from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError

Level = str | bool | int | float
MOST_COLUMNS = 2**15  # 1 GB of weights with all that training keeps of them
NUMBERS = (int, float, Decimal, np.integer, np.floating, np.bool_)  # bool is an int
_ARROW_INTEGERS: dict[str, Any] = {
    **{f"int{bits}": getattr(pd, f"Int{bits}Dtype")() for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(pd, f"UInt{bits}Dtype")() for bits in (8, 16, 32, 64)},
}
_DATES = (dt.date, dt.time, dt.timedelta, np.datetime64, np.timedelta64, pd.Period)


class TableTypeError(errors.SasanetError, TypeError):
    """The table, or a cell of it, is of a type that has no encoding."""


def read_table(X: Any) -> pd.DataFrame:
    """Return any table as a pandas DataFrame with at least one row and one column.

    X is a DataFrame (returned as it is), a 2-d array or a list of rows (the columns are labelled
    0, 1, 2, …), or a table of another library that speaks Arrow, such as polars or pyarrow.

    Examples
    --------
    >>> read_table([[1.5, "a"], [2.5, None]]).shape
    (2, 2)
    """
    if hasattr(X, "tocsr"):  # scipy.sparse, recognised without importing it
        raise TableTypeError("Sparse tables are not supported; make it dense with X.toarray().")
    foreign = hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__")
    if isinstance(X, pd.DataFrame):
        frame = X
    elif foreign and len(getattr(X, "shape", (0, 0))) == 2:
        frame = _read_foreign(X)
    else:
        rows = _read_rows(X) if isinstance(X, list | tuple) else np.asanyarray(X)
        if rows.ndim != 2:
            raise _no_table(X, rows.shape)
        try:
            frame = pd.DataFrame(rows)
        except UnicodeEncodeError as error:  # half of a surrogate pair
            raise InvalidInputError(
                f"X must hold text that UTF-8 can write, got {error.object!r:.80}"
            ) from None
    for size, what in zip(frame.shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            found = f"Found array with 0 {what} (shape={frame.shape})"
            raise InvalidInputError(f"{found} while a minimum of 1 is required.")
    return frame


def _read_rows(X: list[Any] | tuple[Any, ...]) -> Any:
    """Return a list of rows as an array of objects, in which each cell keeps its own type.

    Plain ``np.asarray([[1, "a"]])`` would turn 1 into "1". Where every cell is a list (tags, a
    vector) of one length, NumPy would make columns of their parts, and only then.
    """
    rows = np.asarray(X, dtype=object)
    if rows.ndim < 3 or not all(isinstance(row, list | tuple) for row in X):
        return rows
    table = np.empty(rows.shape[:2], dtype=object)
    for i, row in enumerate(X):
        for j, cell in enumerate(row):
            table[i, j] = cell
    return table


def _no_table(X: Any, shape: tuple[int, ...]) -> InvalidInputError:
    """Return the error for what has no rows and columns: paths, datasets and streams among it."""
    what = f"X must be a table in memory, got {type(X).__name__} of shape {shape}"
    if shape:
        remedy = "rows of equal length, or X.reshape(-1, 1) for a single column"
    else:
        remedy = (
            "rows and columns; files, datasets and streams are read by fit with target=, by "
            "predict, explain and value, and part by part by sasanet.scale"
        )
    return InvalidInputError(f"{what}. Reshape your data: {remedy}.")


def check_width(n_columns: int) -> None:
    """Refuse a table with more columns than a network can learn in bounded time and memory."""
    if n_columns > MOST_COLUMNS:
        raise InvalidInputError(
            f"X must have at most {MOST_COLUMNS:,} columns, got {n_columns:,}: each has vectors of "
            "its own, and every step of training reads them all. Keep those that say most about "
            "the target (such as sklearn.feature_selection.SelectKBest finds), or combine them "
            "(sklearn.decomposition.PCA), and fit these."
        )


def check_names(frame: pd.DataFrame) -> None:
    """Refuse a table to learn from in which two columns have one name, or one has no good one."""
    names = Counter(str(label) for label in frame.columns)
    if twice := sorted(name for name, count in names.items() if count > 1):
        raise InvalidInputError(f"Column names must be unique, got twice: {short(twice)}.")
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:  # half of a surrogate pair: no file and no page could hold it
            raise InvalidInputError(
                f"Column names must be text that UTF-8 can write, got {name!r}; rename it."
            ) from None


def _read_foreign(X: Any) -> pd.DataFrame:
    try:
        from pyarrow import Table, interchange, table
    except ImportError:
        raise errors.MissingPackageError("pyarrow", "parquet") from None
    names = X.column_names if isinstance(X, Table) else getattr(X, "columns", ())
    if cut := [name for name in names if "\0" in str(name)]:
        # Names travel as C strings: one library would cut them there, another ends the process.
        raise InvalidInputError(f"Column names must not hold NUL, got {cut[0]!r}; rename it.")
    convert = table if hasattr(X, "__arrow_c_stream__") else interchange.from_dataframe
    return arrow_to_pandas(convert(X))


def arrow_to_pandas(table: Any) -> pd.DataFrame:
    """Return an Arrow table as a DataFrame whose whole numbers stay whole.

    pandas' own way makes floats of integers beside a null, which merges neighbours beyond 2⁵³.
    """
    try:
        frame = table.to_pandas()
    except (TypeError, ValueError, NotImplementedError) as error:  # Arrow's errors among them
        raise TableTypeError(
            f"X must be a table that pandas can hold, got {short(str(error))} when it was read"
        ) from None
    for j, field in enumerate(table.schema):
        column = table.column(j)
        if column.null_count and str(field.type) in _ARROW_INTEGERS:
            dtype = _ARROW_INTEGERS[str(field.type)]
            frame.isetitem(j, column.to_pandas(types_mapper=lambda _, dtype=dtype: dtype))
    return frame


def factor(series: pd.Series, name: str) -> tuple[NDArray[Any], list[Any]]:
    """Split a column into codes (-1 is missing) and the distinct values they stand for."""
    try:
        if isinstance(series.dtype, pd.CategoricalDtype):
            used = series.cat.remove_unused_categories().cat
            codes, values = used.codes.to_numpy(), used.categories.tolist()
        else:
            # A Series of objects would guess their type anew, and stumble over huge integers.
            cells = series.to_numpy() if series.dtype == object else series
            codes, found = pd.factorize(cells)
            values = found.tolist()
            if series.dtype == object and any(value in (0, 1) for value in values):
                codes, values = _tell_truth_from_numbers(cells, codes, values)
    except (TypeError, NotImplementedError):  # lists, dicts and arrays cannot be hashed
        unhashable = [cell for cell in series if not pd.api.types.is_hashable(cell)]
        raise refusal(name, unhashable[0] if unhashable else series.dtype) from None
    for kind in set(map(type, values)):
        if not is_readable(kind):
            raise refusal(name, next(value for value in values if type(value) is kind))
    return codes, values


def is_readable(kind: type) -> bool:
    """Tell whether cells of a type are numbers or levels."""
    return not issubclass(kind, _DATES) and issubclass(kind, (*NUMBERS, str, pd.Interval))


def _tell_truth_from_numbers(
    cells: Any, codes: NDArray[Any], values: list[Any]
) -> tuple[NDArray[Any], list[Any]]:
    """Give True and 1 codes of their own: to a hash table they are one value, whichever is first.

    Otherwise what a cell means would depend on the rows beside it.
    """
    truth = np.fromiter((isinstance(cell, bool | np.bool_) for cell in cells), bool, len(cells))
    codes, values = codes.copy(), list(values)
    for code, value in enumerate(list(values)):
        if value not in (0, 1):
            continue
        here = codes == code
        split = here & (truth != truth[here.argmax()])
        if split.any():
            codes[split] = len(values)
            values.append(cells[split.argmax()])
    return codes, values


def text_refusal(name: str, value: object, remedy: str) -> InvalidInputError:
    """Return the error for text in a column of numbers."""
    must = f"must hold numbers as in training, got {short(value)}"
    return InvalidInputError(f"Column {name!r} {must}. Convert it first: {remedy}.")


def refusal(name: str, value: object) -> errors.SasanetError:
    """Return the error for a cell that is neither a finite number nor a level."""
    what = f"got {short(value)} ({type(value).__name__})"
    if isinstance(value, float):
        remedy = "replace it by a finite number or by NaN (missing)"
        return InvalidInputError(f"Column {name!r} contains infinity or exceeds float64; {remedy}.")
    if isinstance(value, complex | np.complexfloating):
        return InvalidInputError(f"Complex data not supported, {what} in column {name!r}.")
    if isinstance(value, _DATES):
        if isinstance(value, dt.time | dt.timedelta | np.timedelta64):
            remedy = "turn them into numbers, such as seconds, or drop the column"
            return InvalidInputError(
                f"Column {name!r} must not hold durations or times of day, {what}; {remedy}."
            )
        remedy = f"make all of its cells dates, or text: X[{name!r}].astype(str)"
        return InvalidInputError(
            f"Column {name!r} must not hold dates as numbers or levels, {what}; {remedy}."
        )
    must = "each cell of the argument must be a string or a number"
    return TableTypeError(f"Column {name!r}: {must}, {what}. Convert the column or drop it.")


def read_numbers(series: pd.Series, name: str) -> Floats:
    """Return a column as finite float64 numbers, NaN where missing."""
    if series.dtype.kind in "iuf":
        with np.errstate(over="ignore"):  # long doubles may overflow: caught below
            values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        codes, found = factor(series, name)
        if text := [value for value in found if not isinstance(value, NUMBERS)]:
            raise text_refusal(name, text[0], f"X[{name!r}] = pd.to_numeric(X[{name!r}])")
        try:
            values = np.array([*found, np.nan], dtype=np.float64)[codes]
        except OverflowError:  # a Python integer beyond 1e308
            raise refusal(name, np.inf) from None
    if np.isinf(values).any():
        raise refusal(name, np.inf)
    return values


def read_levels(series: pd.Series, name: str) -> tuple[NDArray[Any], list[Level]]:
    """Return a column as codes (-1 is missing) and the levels they stand for."""
    codes, found = factor(series, name)
    levels = [value if type(value) is str else plain_level(value) for value in found]
    if not {np.inf, -np.inf}.isdisjoint(levels):
        raise refusal(name, np.inf)
    return codes, levels


def plain_level(value: Any) -> Level:
    """Return a level that JSON can write; 3.0 is 3, as a missing cell turns integers to floats."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, int | str | pd.Interval):  # True and False are integers
        return value if isinstance(value, int) else str(value)
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
