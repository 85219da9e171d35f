"""A served model reads dates as JSON writes them, and says what is wrong with others."""

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import bag_models
from sasanet.serve import make_app


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "posts"
    bag_models.fitted().save(folder)
    with TestClient(make_app([folder])) as found:
        yield found


def test_dates_are_read_as_in_a_table(client):
    rows = bag_models.table()[:10]
    records = rows.assign(
        posted=rows["posted"].map(lambda day: day.isoformat(), na_action="ignore")
    )
    records = records.astype(object).where(rows.notna(), None).to_dict("records")
    answer = client.post("/models/posts/explain", json=records)
    assert answer.status_code == 200, answer.text
    found, own = answer.json()["rows"], bag_models.fitted().explain(rows)
    attributions = [[*row["attributions"].values()] for row in found]
    np.testing.assert_allclose(attributions, own.values, rtol=1e-5, atol=1e-5)
    assert [row["reasons"] for row in found] == own.all_reasons(5)
    assert any("2024," in reason for row in found for reason in row["reasons"])


@pytest.mark.parametrize("cell", [3, "2026-02-30", "2026-02-20T12:00+01:00"])
def test_what_is_no_date_of_this_column_is_refused(client, cell):
    answer = client.post("/models/posts/predict", json=[{"posted": cell}])
    assert answer.status_code == 422
    assert "'posted' must hold dates" in answer.text


def test_times_after_training_are_warned_of(client):
    answer = client.post("/models/posts/predict", json=[{"posted": "2031-01-01"}]).json()
    assert "outside 2024-01-0" in answer["rows"][0]["warnings"][0]
    columns = client.get("/models/posts").json()["columns"]
    assert "ISO 8601 without an offset, from 2024-01-0" in columns[0]["description"]
    assert pd.Timestamp("2031-01-01") > bag_models.table()["posted"].max()
