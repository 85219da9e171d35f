"""Explanations as Parquet files: numbers, names and the rows as given.

A file is written whole or not at all. A digest over names and numbers shows whether it was edited.
When the format changes, raise ``FORMAT`` and say what becomes of older files.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError, SavedFileError, need_package
from sasanet.explanation.explanation import Explanation, flat
from sasanet.whole_files import read_path, replacing

FORMAT = 1
_DAMAGE = (OSError, LookupError, TypeError, ValueError, RecursionError)  # what it may lead to
# Stored beside the arrays:
NOTED = ("feature_names", "output_names", "units", "complete", "groups", "words")


def save(e: Explanation, path: str | Path) -> None:
    """Write one Parquet file; a column that would not survive unchanged is refused."""
    pa, pq = need_package("pyarrow", "parquet"), need_package("pyarrow.parquet", "parquet")
    try:
        with replacing(path) as draft:
            with draft.open("xb") as file:
                pq.write_table(_to_table(e, pa), file, write_page_checksum=True)
            came = load(draft).data
            changed = [name for name in came if not _same(came[name], e.data[name])]
            if changed or not came.index.equals(e.data.index):
                raise ValueError(f"column {changed or 'of row labels'} would come back changed")
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"Parquet must keep every cell, got {error}; turn that column into text first"
        ) from error


def _same(came: pd.Series, given: pd.Series) -> bool:
    """Tell whether a column is unchanged; whatever stands for a missing object is the same."""
    if given.dtype != object:
        return came.equals(given)
    as_before = came.map(type).equals(given.map(type)) if _has_lists(given) else True
    return as_before and came.where(came.notna(), None).equals(given.where(given.notna(), None))


def _has_lists(column: pd.Series) -> bool:
    return any(isinstance(cell, list | tuple | set | np.ndarray) for cell in column)


def load(path: str | Path) -> Explanation:
    """Read what :func:`save` wrote."""
    pa, pq = need_package("pyarrow", "parquet"), need_package("pyarrow.parquet", "parquet")
    place = read_path(path)
    try:
        with place.open("rb") as file:
            return _from_table(pq.ParquetFile(file, page_checksum_verification=True).read())
    except (*_DAMAGE, pa.ArrowException) as error:
        raise SavedFileError(f"{path} is not a saved explanation: {error}") from error


def _seal(note: dict[str, Any], numbers: Floats) -> str:
    """Return a digest of names and numbers."""
    text = json.dumps({**note, "seal": None}, sort_keys=True).encode()
    return hashlib.sha256(text + numbers.tobytes()).hexdigest()


def _dtype_note(column: pd.Series) -> Any:
    """Return what Parquet would lose of a column: that it held objects or lists, its categories."""
    dtype = column.dtype
    if not isinstance(dtype, pd.CategoricalDtype):
        if dtype != np.dtype(object):
            return None
        known = [cell for cell in column if cell is not None and not np.isscalar(cell)]
        return "list" if known and all(map(_is_plain_list, known)) else "object"
    levels = dtype.categories
    return {"levels": levels.tolist(), "of": str(levels.dtype), "ordered": bool(dtype.ordered)}


def _is_plain_list(cell: Any) -> bool:
    return isinstance(cell, list) and all(part is None or np.isscalar(part) for part in cell)


def _as_list(cell: Any) -> Any:
    return cell.tolist() if isinstance(cell, np.ndarray) else cell


def _to_table(e: Explanation, pa: Any) -> Any:
    """Return one Arrow table; columns are numbered, so that no two names can collide."""
    for name, column in e.data.items():
        try:
            pa.array(column, from_pandas=True)
        except (pa.ArrowException, OverflowError) as error:
            raise ValueError(f"column {name!r}: {error}") from error
    cells = e.data.set_axis([f"data.{j}.{n}" for j, n in enumerate(e.feature_names)], axis=1)
    errors = [] if e.error_std is None else [e.error_std]
    numbers = flat(np.concatenate([e.values, e.base_values[:, None], *errors], axis=1))
    note: dict[str, Any] = {name: getattr(e, name) for name in NOTED}
    note |= {"format": FORMAT, "dtypes": [_dtype_note(column) for _, column in e.data.items()]}
    note["seal"] = _seal(note, numbers)
    frames = [cells, pd.DataFrame(numbers, cells.index).add_prefix("number.")]
    table = pa.Table.from_pandas(pd.concat(frames, axis=1))
    return table.replace_schema_metadata({**table.schema.metadata, b"sasanet": json.dumps(note)})


def _from_table(table: Any) -> Explanation:
    note = dict(json.loads((table.schema.metadata or {}).get(b"sasanet", b"{}")))
    if (found := note.get("format")) != FORMAT:
        raise SavedFileError(f"its format must be {FORMAT}, got {found}")
    frame, d = table.to_pandas(integer_object_nulls=True), len(note["feature_names"])
    numbers = np.ascontiguousarray(frame.iloc[:, d:], dtype=np.float64)
    if _seal(note, numbers) != note["seal"]:
        raise SavedFileError("its names or numbers were edited")
    data = frame.iloc[:, :d].set_axis(note["feature_names"], axis=1)
    for name, kept in zip(note["feature_names"], note["dtypes"], strict=True):
        if isinstance(kept, dict):
            kept = pd.CategoricalDtype(pd.Index(kept["levels"], dtype=kept["of"]), kept["ordered"])
        if kept == "list":  # Parquet gives arrays back
            data[name] = data[name].map(_as_list).astype(object)
            continue
        data[name] = data[name].astype(kept or data[name].dtype)
    outputs = (len(note["output_names"]),) if note["output_names"] else ()
    parts = numbers.reshape(len(frame), numbers.shape[1] // math.prod(outputs), *outputs)
    return Explanation(
        values=parts[:, :d],
        base_values=parts[:, d],
        data=data,
        error_std=parts[:, d + 1 :] if parts.shape[1] > d + 1 else None,
        **{name: note[name] for name in NOTED},
    )
