"""What the page says, as plain data: quality, caveats, rows, and nothing that could break out."""

import base64
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

from reported import HOSTILE, credit, fitted, hostile, masses, penguins, sequences
from sasanet import SASANetClassifier
from sasanet.errors import InvalidInputError, MissingPackageError
from sasanet.network.export import PortableNetwork
from sasanet.report import write_report
from sasanet.report.caveats import find_caveats
from sasanet.report.metrics import Judged, by_group, measure
from sasanet.report.packing import pack, pack_fixed, pack_network, packed_size
from sasanet.report.row_data import MOST_ROWS, _number_kind, fits, row_limit
from sasanet.report.summary import gather


def unpack(packed):
    data = np.frombuffer(base64.b64decode(packed["text"]), dtype=f"<{packed['kind']}")
    return data.reshape(packed["shape"]) * packed.get("step", 1)


@pytest.fixture
def labelled():
    random = np.random.default_rng(0)
    chance = random.random(400)
    labels = (random.random(400) < chance).astype(float)
    return labels, np.stack([1 - chance, chance], axis=1)


def test_measures_are_scikit_learns(labelled):
    labels, predicted = labelled
    found = {
        m["name"]: m for m in measure("binary", Judged(labels, predicted, np.array([0.5, 0.5])))
    }
    expected = {
        "Area under the ROC curve": roc_auc_score(labels, predicted[:, 1]),
        "Average precision": average_precision_score(labels, predicted[:, 1]),
        "Cross-entropy": log_loss(labels, predicted),
        "Brier score": np.mean((labels - predicted[:, 1]) ** 2),
    }
    for name, value in expected.items():
        assert found[name]["value"] == pytest.approx(value)
        assert found[name]["low"] < value < found[name]["high"]
    assert found["Area under the ROC curve"]["base"] == 0.5
    assert found["Cross-entropy"]["base"] == pytest.approx(np.log(2))


def test_intervals_of_large_tables_shrink_with_the_root_of_the_rows(labelled, monkeypatch):
    labels, predicted = labelled
    whole = measure("binary", Judged(labels, predicted, np.array([0.5, 0.5])))[3]
    monkeypatch.setattr("sasanet.report.metrics._MOST_RESAMPLED", 200)
    part = measure("binary", Judged(labels, predicted, np.array([0.5, 0.5])))[3]
    # Two estimates of one standard error, each from 100 draws: 7 % off, and half the rows.
    assert part["high"] - part["low"] == pytest.approx(whole["high"] - whole["low"], rel=0.3)


def test_one_class_has_no_ranking(labelled):
    _, predicted = labelled
    found = measure("binary", Judged(np.ones(400), predicted, np.array([0.5, 0.5])))
    assert np.isnan(found[0]["value"])
    assert np.isfinite(found[3]["value"])


def test_groups_are_levels_or_quarters(labelled):
    labels, predicted = labelled
    base, chance = np.array([0.5, 0.5]), pd.Series(predicted[:, 1])
    quarters = by_group("binary", Judged(labels, predicted, base), chance)
    assert [group["rows"] for group in quarters] == [100] * 4
    assert quarters[0]["name"].startswith(f"{chance.min():.6g} to ")
    assert quarters[3]["name"].endswith(f" to {chance.max():.6g}")
    assert quarters[0]["predicted"] < 0.25 < 0.75 < quarters[3]["predicted"]
    sides = chance.gt(0.5).map({True: "likely", False: "not"}).where(chance < 0.99, None)
    found = {
        group["name"]: group for group in by_group("binary", Judged(labels, predicted, base), sides)
    }
    assert set(found) <= {"likely", "not", "(missing)"}
    assert found["likely"]["observed"] == pytest.approx(labels[sides == "likely"].mean())
    assert found["likely"]["predicted"] > 0.5 > found["not"]["predicted"]


def test_caveats_name_the_rows_and_columns_they_are_about():
    model, table = credit()
    rows = table.drop(columns="bad").copy()
    rows.iloc[3, rows.columns.get_loc("status")] = "never heard of"
    rows.loc[rows.index[5], "age"] = 130
    rows["months"] = rows["months"].astype(float)
    rows.loc[rows.index[7], "months"] = np.nan
    cells = model.encoder_.transform(rows, warn=False)
    errors = np.linspace(0, 1, len(rows))
    found = {d.key: d for d in find_caveats(rows, cells, model.encoder_.columns, errors)}
    assert np.flatnonzero(found["missing"].rows).tolist() == [7]
    assert found["missing"].columns == [("months", 1, "")]
    assert 3 in np.flatnonzero(found["unknown"].rows)
    assert ("status", 1, "never heard of") in found["unknown"].columns
    assert 5 in np.flatnonzero(found["beyond"].rows)
    assert next(note for name, _, note in found["beyond"].columns if name == "age").startswith(
        "training: "
    )
    assert np.flatnonzero(found["error"].rows).tolist() == list(range(114, 120))
    assert found["error"].worst[0] == 119


def test_rows_are_the_explanation_of_the_model():
    model, table = penguins()
    X = table.drop(columns="species")
    data = gather(model, table, "species", None)["data"]
    e = model.explain(X)
    found = unpack(data["rows"]["attributions"])
    np.testing.assert_allclose(found, e.values, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(unpack(data["rows"]["predictions"]), e.prediction)
    assert data["rows"]["labels"] == [str(label) for label in table.index]
    actual = [data["classes"][int(k)] for k in unpack(data["actual"])]
    assert actual == table["species"].tolist()
    sexes = next(c for c in data["rows"]["columns"] if c["name"] == "sex")
    words = [None if c == 65535 else sexes["words"][c] for c in unpack(sexes["codes"])]
    assert words == [None if pd.isna(cell) else cell for cell in X["sex"]]


def packed_values(data, known):
    """Return v(S) as the page's arrays give it, one coalition a row: (n, K), raw."""
    packed, cells = data["network"], []
    for column in data["rows"]["columns"]:
        if "codes" in column:
            codes = unpack(column["codes"])
            places = np.array([*column["places"], np.nan])
            cells.append(places[np.where(codes == 65535, -1, codes)])
        else:
            values, knots = unpack(column["values"]), unpack(column["knots"])
            places = np.interp(values, knots, np.arange(len(knots)))
            cells.append(np.where(np.isnan(values), np.nan, places))
    network = PortableNetwork(
        tables=tuple(map(unpack, packed["tables"])),
        factors=unpack(packed["factors"]),
        bias=unpack(packed["bias"]),
        layers=tuple((unpack(weight), unpack(bias)) for weight, bias in packed["layers"]),
        slope=packed["slope"],
        cap=np.inf if packed["cap"] is None else packed["cap"],
    )
    grown = network.values(np.stack(cells, 1).astype(np.float32), known)
    return np.array(data["base"]) + data["scale"] * grown


@pytest.mark.parametrize("page_bytes", [4_500_000, 25_000])
def test_what_travels_values_coalitions_as_the_model_does(page_bytes, monkeypatch):
    monkeypatch.setattr("sasanet.report.row_data._PAGE_BYTES", page_bytes)
    model, table = credit()
    content = gather(model, table, "bad", None)
    labels = [int(label) for label in content["data"]["rows"]["labels"]]
    assert (len(labels) < len(table)) == (page_bytes < 1e6)
    X = table.loc[labels, list(model.encoder_.names)]
    known = np.random.default_rng(1).random(X.shape) < 0.6
    found = packed_values(content["data"], known)[:, 0]
    np.testing.assert_allclose(found, model.value(X, known), atol=1e-3)  # 16 bits
    wrong = packed_values(content["data"], np.roll(known, 1, axis=1))[:, 0]
    assert np.abs(wrong - found).max() > 0.01


def test_fixed_point_is_off_by_half_a_step_at_most():
    numbers = np.random.default_rng(0).normal(size=(40, 7))
    packed = pack_fixed(numbers)
    assert np.abs(unpack(packed) - numbers).max() <= packed["step"] / 2
    assert packed["step"] == np.abs(numbers).max() / 32767
    assert not unpack(pack_fixed(np.zeros((2, 2)))).any()
    assert unpack(pack(np.array([1.5, np.nan]), "f4")).tolist()[0] == 1.5


def test_large_networks_stay_out_and_many_outputs_mean_fewer_rows():
    model, _ = credit()
    columns = model.encoder_.columns

    def network(width):
        one = np.ones((1, width), dtype=np.float32)
        tables = tuple(np.ones((100, width), dtype=np.float32) for _ in columns)
        return PortableNetwork(tables, one, one, (), 0.0, 4.0)

    assert fits(network(256))
    assert not fits(network(2560))
    text = sum(len(table["text"]) for table in pack_network(network(256))["tables"])
    assert packed_size(network(256)) == pytest.approx(text, rel=0.01)
    assert row_limit(network(256), len(columns), 1, 80) == (MOST_ROWS, "")
    limit, why = row_limit(network(256), len(columns), 30, 80)
    assert limit < MOST_ROWS / 2
    assert "5 MB" in why


def test_numbers_travel_in_the_shortest_kind_that_holds_them():
    model, table = masses()
    rows = table.drop(columns="body_mass_g")
    data = gather(model, rows, None, None)["data"]
    packed = {c["name"]: c["values"] for c in data["rows"]["columns"] if "values" in c}
    assert packed["year"]["kind"] == "i2"
    assert packed["bill_length_mm"]["kind"] == "f4"
    for name, values in packed.items():
        np.testing.assert_allclose(unpack(values), rows[name], rtol=1e-6)
    kinds = {"u1": [0, 255], "i2": [-1, 255], "f4": [0, 2**15], "f8": [0, 2**24 + 1]}
    for kind, ends in kinds.items():
        assert _number_kind(np.array(ends, dtype=float), np.array([0.0, 9.0])) == kind
    assert _number_kind(np.array([1, np.nan]), np.array([0.0, 9.0])) == "f4"


def test_more_rows_than_fit_are_drawn_and_the_page_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr("sasanet.report.summary.MOST_ROWS", 50)
    monkeypatch.setattr("sasanet.report.row_data.MOST_ROWS", 50)
    model, table = credit()
    content = gather(model, table, "bad", "housing")
    assert content["facts"]["rows"]["shown"] == len(content["data"]["rows"]["labels"]) == 50
    assert content["facts"]["quality"]["rows"] == 120
    text = write_report(model, table, tmp_path / "page.html", "bad").read_text("utf-8")
    assert "50 rows drawn at random from 120" in re.sub(r"\s+", " ", text)


def test_without_labels_there_is_no_quality_and_the_audit_stays_the_users():
    model, table = masses()
    content = gather(model, table.drop(columns="body_mass_g"), None, None)
    assert content["facts"]["quality"] is None
    assert content["data"]["actual"] is None
    assert [caveat["key"] for caveat in content["facts"]["caveats"]] == [
        "unknown",
        "beyond",
        "missing",
    ]
    assert not hasattr(model, "audit_")


def test_a_model_that_cannot_travel_brings_the_values_without_each_feature():
    model, table = sequences()
    content = gather(model, table, "gentoo", None)
    X = table.drop(columns="gentoo")
    masks = np.broadcast_to(~np.eye(X.shape[1], dtype=bool), (len(X), X.shape[1], X.shape[1]))
    assert content["data"]["network"] is None
    found = unpack(content["data"]["without"])[..., 0]
    np.testing.assert_allclose(found, model.value(X, masks), rtol=1e-6, atol=1e-6)


def test_one_row_and_an_array_without_names_will_do(tmp_path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 3)), random.random(40) < 0.5
    model = fitted(SASANetClassifier, X, y)
    content = gather(model, X[:1], y[:1], None)
    assert content["facts"]["audit"] is None
    assert np.isnan(content["facts"]["quality"]["measures"][0]["value"])
    text = write_report(model, X[:1], tmp_path / "page.html", y[:1]).read_text("utf-8")
    assert "undefined" in text


def test_names_and_levels_cannot_leave_their_place(tmp_path):
    model, table = hostile()
    page = write_report(
        model, table, tmp_path / "page.html", "<i>y</i>", group="line\nbreak\u2028é"
    )
    text = page.read_text("utf-8")
    assert HOSTILE not in text
    assert text.count("<script") == text.count("</script>") == 2
    assert "onerror=alert(2)>" not in text
    assert "<i>" not in text
    assert "{{ 7 * 7 }}" in text


def test_the_page_asks_for_nothing(tmp_path):
    model, table = credit()
    text = write_report(model, table, tmp_path / "page.html", "bad").read_text("utf-8")
    assert re.search(r"default-src &#39;none&#39;", text)
    addresses = set(re.findall(r"https?://[^\"'\s]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of a namespace
    assert not re.search(r"\b(src|href)=\"(?!#)", text)


def test_bad_input_is_refused_in_one_sentence(tmp_path):
    model, table = credit()
    with pytest.raises(InvalidInputError, match="target must name a column"):
        write_report(model, table, tmp_path / "page.html", "good")
    with pytest.raises(InvalidInputError, match="one label for each of the 120 rows"):
        write_report(model, table, tmp_path / "page.html", [0, 1])
    with pytest.raises(InvalidInputError, match="group must name a column"):
        write_report(model, table, tmp_path / "page.html", "bad", group="planet")
    with pytest.raises(InvalidInputError, match="feature names should match"):
        write_report(model, table.drop(columns="age"), tmp_path / "page.html", "bad")
    assert not list(tmp_path.iterdir())


def test_without_jinja_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(MissingPackageError, match=r"sasanet\[report\]"):
        write_report(*credit(), tmp_path / "page.html")
