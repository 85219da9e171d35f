"""Tables into Parquet files, part by part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sasanet.errors import need_package

if TYPE_CHECKING:
    import pandas as pd


class ParquetWriter:
    """Write a table in parts: one row group for each; the first part decides the types."""

    def __init__(self, path: Path) -> None:
        self._pa = need_package("pyarrow", "parquet")
        self._pq = need_package("pyarrow.parquet", "parquet")
        self._path = path
        self._writer: Any = None

    def write(self, part: pd.DataFrame) -> None:
        """Add rows; every part has the same columns."""
        schema = self._writer.schema if self._writer else None
        table = self._pa.Table.from_pandas(part, schema=schema, preserve_index=False)
        if self._writer is None:
            table = table.cast(self._with_types(table.schema))
            self._writer = self._pq.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def _with_types(self, schema: Any) -> Any:
        """Return the schema with text where a column of objects was empty in the first part."""
        null, text = self._pa.types.is_null, self._pa.string()
        return self._pa.schema([f.with_type(text) if null(f.type) else f for f in schema])

    def close(self) -> None:
        """End the file."""
        if self._writer is not None:
            self._writer.close()
