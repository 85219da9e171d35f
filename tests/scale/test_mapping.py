"""Explanations mapped over the tables of Dask and Spark are those of the model itself."""

from __future__ import annotations

import os
import pickle
import shutil
import sys

import numpy as np
import pandas as pd
import pytest

from sasanet.errors import InvalidInputError
from sasanet.scale import explain_batches, explainer, predictor
from small_models import fitted, rows


@pytest.fixture(scope="module")
def table():
    return rows(24).assign(id=range(24))


def test_a_mapped_table_is_what_batches_write(table, tmp_path):
    model = fitted("binary")
    written = explain_batches(model, [table], tmp_path / "out", keep=["id"], n_jobs=1)
    whole = pd.read_parquet(written.folder).drop(columns="row")
    function = pickle.loads(pickle.dumps(explainer(model, keep=["id"])))
    pd.testing.assert_frame_equal(function(table), whole)
    parts = list(function.each([table[:10], table[10:]]))
    assert [len(part) for part in parts] == [10, 14]
    assert parts[1].index.tolist() == list(range(10, 24))
    # Sums over other rows at once differ in their last bits.
    pd.testing.assert_frame_equal(pd.concat(parts), whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["binary", "classes", "number"])
@pytest.mark.parametrize("make", [explainer, predictor])
def test_a_table_without_rows_gives_one_with_the_same_columns(table, kind, make):
    function = make(fitted(kind), keep=["id"])
    empty = function(table[:0])
    pd.testing.assert_series_equal(empty.dtypes, function(table).dtypes)
    assert list(empty) == ["id", *function.columns]


def test_what_cannot_be_mapped_is_refused(table):
    with pytest.raises(InvalidInputError, match="must have the column 'nothing'"):
        explainer(fitted("binary"), keep=["nothing"])(table)
    with pytest.raises(InvalidInputError, match="keep must not name columns that are written"):
        explainer(fitted("binary"), keep=["prediction"])


def test_dask_maps_the_partitions_of_a_table(table):
    dask = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    function = explainer(fitted("binary"), keep=["id"])
    parted = dask.from_pandas(table, npartitions=3)
    found = parted.map_partitions(function, meta=function.empty(parted._meta))
    expected = function(table)
    pd.testing.assert_frame_equal(
        found.compute(scheduler="synchronous"), expected, rtol=1e-5, atol=1e-6
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Spark's own code
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_maps_the_batches_of_a_table(table, monkeypatch):
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none")
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    from pyspark.sql.types import DoubleType, StructField, StructType

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # the workers' own would lack packages
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    spark = (
        sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    try:
        function = explainer(fitted("binary"), keep=["id"])
        given = spark.createDataFrame(table)
        numbers = [StructField(name, DoubleType()) for name in function.columns]
        schema = StructType([given.schema["id"], *numbers])
        found = given.mapInPandas(function.each, schema).toPandas().sort_values("id")
    finally:
        spark.stop()
    np.testing.assert_allclose(found.to_numpy(), function(table).to_numpy(), rtol=1e-5, atol=1e-6)
