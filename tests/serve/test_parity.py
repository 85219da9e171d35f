"""Every protocol answers with the numbers of the model itself, for every kind of table and target.

Rows are asked for as they are, with columns left out, and from some columns alone.
"""

import io

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import bag_models
from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.datasets import (
    make_discrete,
    make_gaussian_linear,
    make_gaussian_probit,
    make_gaussian_quadratic,
)
from sasanet.serve import make_app
from sasanet.table.bags import ids

QUICK = {"random_state": 0, "max_epochs": 1, "teacher_weight": 0}
N_ROWS = 8
ROUNDING = 1e-5  # of float32, in batches of other sizes; relative to the target's scale


def mixed():
    """Return a table of codes, truth values, text and numbers, in which cells are missing."""
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "code": random.integers(0, 4, 200),
            "member": random.random(200) < 0.5,
            "city": random.choice(["Rome", "Oslo", "Åre"], 200),
            "size": random.normal(size=200),
        }
    ).astype({"city": object, "size": object})
    table.loc[::7, "city"] = None
    table.loc[::5, "size"] = None
    return table.assign(size=table["size"].astype(float)), random.poisson(2.0, 200)


def quickly(known):
    y = known.y
    kind = SASANetClassifier if len(np.unique(y)) == 2 else SASANetRegressor
    return kind(**QUICK).fit(known.X, y), known.X


def learned():
    """Return a model whose learned Shapley module explains, and rows."""
    known = make_gaussian_probit(300, n_features=12)
    model = SASANetClassifier(**QUICK).fit(known.X, known.y)
    return model.learn_attributions(known.X, n_rows=200), known.X


def by_shop(table):
    """Return a model of a column of ids, rows with an unseen one among them."""
    shops = [f"shop {i}" for i in range(100)] * 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids, "MOST_LEVELS", 50)
        model = SASANetRegressor(**QUICK).fit(table.assign(shop=shops), table["size"].fillna(0))
    assert model.encoder_.columns[-1].kind == "ids"
    return model, table.assign(shop=["shop 3", "new", None, *shops[3:]])


@pytest.fixture(scope="module")
def served(models):
    """Return models by name, each with rows."""
    table, counts = mixed()
    tables = {"synthetic_probit": make_gaussian_probit(200, n_features=4)}
    tables |= {"synthetic_linear": make_gaussian_linear(200, n_features=4)}
    tables |= {"synthetic_quadratic": make_gaussian_quadratic(200, n_features=4)}
    tables |= {"synthetic_discrete": make_discrete(200)}
    quantiles = SASANetRegressor(objective="quantile", quantile=(0.1, 0.5), **QUICK)
    several = SASANetClassifier(Architecture(members=2), **QUICK).fit(table, counts % 3)
    return models | {name: quickly(known) for name, known in tables.items()} | {
        "bags": (bag_models.fitted(), bag_models.table()),
        "codes": (
            SASANetClassifier(categorical_features=["code"], **QUICK).fit(table, counts % 3),
            table,
        ),
        "rates": (SASANetRegressor(objective="poisson", **QUICK).fit(table, counts), table),
        "learned": learned(),
        "members": (several, table),
        "ids": by_shop(table),
        "quantiles": (quantiles.fit(table, counts.astype(float)), table),
    }  # fmt: skip


NAMES = (
    "credit", "birds", "mass", "synthetic_probit", "synthetic_linear", "synthetic_quadratic",
    "synthetic_discrete", "bags", "codes", "rates", "learned", "members", "ids", "quantiles",
)  # fmt: skip


@pytest.fixture(scope="module")
def client(served, tmp_path_factory):
    place = tmp_path_factory.mktemp("parity")
    for name, (model, _) in served.items():
        model.save(place / name)
    with TestClient(make_app([place / name for name in served])) as found:
        yield found


def as_json(table):
    """Return rows as JSON has them: missing cells are null, dates are text."""

    def cell(value):
        if isinstance(value, list):
            return value
        return None if pd.isna(value) else getattr(value, "isoformat", lambda: value)()

    return [
        {name: cell(value) for name, value in row.items()}
        for row in table.astype(object).to_dict("records")
    ]


# --- one function per protocol: rows and options in, one dict per row out -------------------------


def own(post, name, records, options):
    return post(f"/models/{name}/explain", {"rows": records, **options})["rows"]


def kserve(post, name, records, options):
    body = {"instances": records, "parameters": options}
    found = post(f"/v1/models/{name}:explain", body)["explanations"]
    plain = post(f"/v1/models/{name}:predict", body)["predictions"]
    assert plain == [row["prediction"] for row in found]
    return found


def mlflow(post, name, records, options):
    params = {"params": {"explain": True, **options}}
    names = [*dict.fromkeys(key for record in records for key in record)]
    lists = [[record.get(key) for key in names] for record in records]
    split = {"dataframe_split": {"columns": names, "data": lists}, **params}
    found = post(f"/invocations?model={name}", split)["predictions"]
    same = post(f"/invocations?model={name}", {"dataframe_records": records, **params})
    assert same["predictions"] == found
    return found


def open_inference(post, name, records, options):
    names = [*dict.fromkeys(key for record in records for key in record)]
    inputs = [
        {"name": key, "shape": [len(records)], "datatype": _datatype(cells), "data": cells}
        for key in names
        for cells in [[record.get(key) for record in records]]
    ]
    outputs = ["prediction", "raw", "base_value", "attributions", "reasons"]
    asked = {"inputs": inputs, "outputs": [{"name": one} for one in outputs], "parameters": options}
    tensors = {
        one["name"]: np.array(one["data"]).reshape(one["shape"]).tolist()
        for one in post(f"/v2/models/{name}/infer", asked)["outputs"]
    }
    told = {one["name"]: one for one in post.client.get(f"/v2/models/{name}").json()["outputs"]}
    for key, values in tensors.items():
        assert told[key]["shape"] == [-1, *np.shape(values)[1:]]
    tensors["reasons"] = [[text for text in row if text] for row in tensors["reasons"]]
    features = post.columns(name)
    tensors["attributions"] = [
        dict(zip(features, row, strict=True)) for row in tensors["attributions"]
    ]
    return [{key: values[i] for key, values in tensors.items()} for i in range(len(records))]


def _datatype(cells):
    kinds = {type(cell) for cell in cells if cell is not None} or {float}
    if kinds <= {int, float}:
        return "FP64"
    return {bool: "BOOL", str: "BYTES"}[kinds.pop()]


PROTOCOLS = {one.__name__: one for one in (own, kserve, mlflow, open_inference)}


class Post:
    """Ask the server; every answer must be a good one."""

    def __init__(self, client):
        self.client = client

    def __call__(self, path, body):
        answer = self.client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def columns(self, name):
        return [one["name"] for one in self.client.get(f"/models/{name}").json()["columns"]]


def check(found, model, rows):
    """The answers are those of the model to rounding."""
    said = model.explain(rows)
    near = {"rtol": ROUNDING, "atol": ROUNDING * model.target_.scale}
    pairs = {
        "attributions": ([[*row["attributions"].values()] for row in found], said.values),
        "base_value": ([row["base_value"] for row in found], said.base_values),
        "raw": ([row["raw"] for row in found], said.prediction),
    }
    predictions, right = [row["prediction"] for row in found], model.predict(rows).tolist()
    if model.target_.labels:
        assert predictions == right
    else:
        pairs["prediction"] = (predictions, right)
    for what, (came, expected) in pairs.items():
        np.testing.assert_allclose(came, expected, **near, err_msg=what)
    assert [row["reasons"] for row in found] == said.all_reasons(5)
    assert [*found[0]["attributions"]] == [*said.feature_names]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", NAMES)
def test_every_protocol_gives_the_models_own_numbers(client, served, name, protocol):
    model, table = served[name]
    rows = table[:N_ROWS].reset_index(drop=True)
    names, ask, records = [*model.encoder_.names], PROTOCOLS[protocol], as_json(rows)
    if protocol == "open_inference" and name == "bags":  # its tensors have no lists in cells
        names = [one for one in names if one not in ("tags", "vector")]
        rows, records = rows.assign(tags=None, vector=None), as_json(rows[names])
    post, some = Post(client), names[: len(names) // 2]
    nothing = rows.assign(**dict.fromkeys([one for one in rows if one not in some]))
    check(ask(post, name, records, {}), model, rows)
    left = [{key: record[key] for key in some} for record in records]
    check(ask(post, name, left, {}), model, nothing)
    found = ask(post, name, records, {"only": some})
    check(found, model, nothing)
    coalition = [one in some for one in model.encoder_.names]
    values = model.value(rows, np.array(coalition))
    near = {"rtol": ROUNDING, "atol": ROUNDING * model.target_.scale}
    np.testing.assert_allclose([row["raw"] for row in found], values, **near)
    with pytest.raises(AssertionError):  # the twin: other rows have other answers
        check(found[::-1], model, nothing)


def test_a_file_comes_back_with_the_numbers_of_every_output(client, served):
    model, table = served["quantiles"]
    rows = table[:3]
    answer = client.post("/models/quantiles/csv", content=rows.to_csv(index=False).encode())
    found, said = pd.read_csv(io.StringIO(answer.text)), model.explain(rows)
    columns = [name for name in found if name.startswith("phi_")]
    assert len(columns) == 2 * table.shape[1]
    came = found[columns].to_numpy().reshape(said.values.shape)
    np.testing.assert_allclose(came, said.values, rtol=ROUNDING, atol=ROUNDING)
