"""Random Parquet files of one model: odd types and huge ids that must survive, and broken ones."""

from __future__ import annotations

import datetime as dt
import io
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
from pyarrow import parquet

from torture.draw import Draw
from torture.inputs.csv_files import ID, TARGET, TableFile

_HUGE = (2**53 + 1, 2**53 + 2, 2**62 + 1, -(2**63), 2**63 - 1, 0, 7)


def whole(draw: Draw, X: pd.DataFrame, ids: list[Any]) -> TableFile:
    """Return a file that must be read: any way to store the columns, ids with and without nulls."""
    kind = draw.one_of(("text", "text with nulls", "integers", "integers with nulls", "unsigned"))
    ids = _draw_ids(draw, kind, ids)
    types = {"unsigned": pyarrow.uint64(), "integers": pyarrow.int64()}
    column = pyarrow.array(ids, types.get(kind.split()[0], pyarrow.string()))
    table = _features(draw, X)
    table = table.append_column(ID, column)
    table = table.append_column(TARGET, pyarrow.array([i % 2 for i in range(len(X))]))
    return TableFile(_packed(draw, table), X, ids, f"Parquet, ids: {kind}", name="table.parquet")


def _draw_ids(draw: Draw, kind: str, ids: list[Any]) -> list[Any]:
    if kind.startswith("integers"):
        ids = [draw.one_of(_HUGE) for _ in ids]
    elif kind == "unsigned":
        ids = [draw.one_of((2**64 - 1, 2**63, 2**53 + 1, 0)) for _ in ids]
    return [None if draw.happens(0.4) else one for one in ids] if "nulls" in kind else ids


def _features(draw: Draw, X: pd.DataFrame) -> Any:
    """Return the model's columns, each with one of the types that can hold its values."""
    table = pyarrow.Table.from_pandas(X, preserve_index=False).replace_schema_metadata(None)
    age = table.column("age").cast(draw.one_of((pyarrow.int64(), pyarrow.int8(), pyarrow.float32(),
                                                pyarrow.float64())))  # fmt: skip
    table = table.set_column(0, "age", age)
    city = table.column("city").cast(pyarrow.string())
    form = draw.one_of(("text", "large", "dictionary"))
    if form == "large":
        city = city.cast(pyarrow.large_string())
    elif form == "dictionary":
        city = city.dictionary_encode()
    table = table.set_column(2, "city", city)
    if draw.happens(0.3):
        return table.select(draw.random.sample(table.column_names, table.num_columns))
    return table


def _packed(draw: Draw, table: Any) -> bytes:
    content = io.BytesIO()
    parquet.write_table(
        table,
        content,
        row_group_size=draw.one_of((1, 3, 1000)),
        compression=draw.one_of(("none", "snappy", "zstd", "gzip")),
        version=draw.one_of(("1.0", "2.6")),
        use_dictionary=draw.happens(0.5),
    )
    return content.getvalue()


def broken(draw: Draw, X: pd.DataFrame, ids: list[Any]) -> TableFile:
    """Return a file that must be refused."""
    n = len(X)
    strange: dict[str, Any] = {
        "dates": pyarrow.array([dt.date(2020, 1, 1)] * n),
        "times": pyarrow.array([dt.datetime(2020, 1, 1)] * n),
        "lists": pyarrow.array([[1, 2]] * n),
        "structs": pyarrow.array([{"a": 1}] * n),
        "bytes": pyarrow.array([b"a\xff"] * n),
        "words": pyarrow.array(["about 30"] * n),
        "infinity": pyarrow.array(np.full(n, np.inf)),
    }
    good = whole(draw, X, ids)
    what = draw.one_of([*strange, "half", "no rows", "a feature twice", "only its mark"])
    table = parquet.read_table(io.BytesIO(good.content))
    if what in strange:
        place = table.column_names.index("age")
        table = table.set_column(place, "age", strange[what])
    elif what == "no rows":
        table = table.slice(0, 0)
    elif what == "a feature twice":
        table = table.append_column("age", table.column("age"))
    content = _packed(draw, table)
    if what == "half":
        content = content[: draw.between(8, len(content) - 1)]
    elif what == "only its mark":
        content = b"PAR1" + draw.numbers.bytes(draw.between(0, 60)) + b"PAR1"
    name, learned = "table.parquet", what in ("dates", "times", "lists", "words")
    return TableFile(
        content, X, ids, f"Parquet: {what}", legal=False, name=name, can_be_learned=learned
    )
