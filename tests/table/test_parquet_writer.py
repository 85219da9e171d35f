"""Parts of a table become row groups of one file."""

import numpy as np
import pandas as pd
import pytest

from sasanet.table.parquet_writer import ParquetWriter

pytest.importorskip("pyarrow")


def test_a_column_that_is_empty_in_the_first_part_may_have_texts_later(tmp_path):
    parts = [
        pd.DataFrame({"id": np.array([None, None], dtype=object), "a": [1.0, 2.0]}),
        pd.DataFrame({"id": np.array(["x", None], dtype=object), "a": [np.nan, 4.0]}),
    ]
    writer = ParquetWriter(tmp_path / "rows.parquet")
    for part in parts:
        writer.write(part)
    writer.close()
    found = pd.read_parquet(tmp_path / "rows.parquet")
    assert found["id"].isna().tolist() == [True, True, False, True]
    assert found["id"][2] == "x"
    np.testing.assert_array_equal(found["a"], [1.0, 2.0, np.nan, 4.0])
