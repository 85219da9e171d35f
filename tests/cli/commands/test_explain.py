"""`sasanet explain` and `predict` give what the model gives, whatever the file and its chunks."""

import json
import weakref

import numpy as np
import pandas as pd
import pytest

from cli_run import done, run
from sasanet import SASANetClassifier, SASANetRegressor
from sasanet.cli.files.model_rows import RowBatches
from sasanet.cli.files.reading import open_table
from sasanet.datasets import load_german_credit, load_penguins

TINY = {"random_state": 0, "max_epochs": 2, "teacher_weight": 0}
READ = {"keep_default_na": False, "na_values": [""]}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a directory with three models and their tables."""
    folder = tmp_path_factory.mktemp("models")
    X, y = load_german_credit()
    X, y = X[:230], y[:230]
    SASANetClassifier(**TINY).fit(X, y).save(folder / "credit")
    X.assign(bad=y, number=[f"{i:04d}" for i in range(len(X))]).to_csv(
        folder / "credit.csv", index=False
    )
    X, y = load_penguins()
    SASANetClassifier(**TINY).fit(X, y).save(folder / "penguins")
    X.assign(species=y).to_csv(folder / "penguins.csv", index=False)
    known = X["body_mass_g"].notna()
    X, y = X[known].drop(columns="body_mass_g"), X.loc[known, "body_mass_g"]
    SASANetRegressor(**TINY).fit(X, y).save(folder / "mass")
    return folder


@pytest.fixture
def in_chunks(monkeypatch):
    """Make every chunk a hundred rows."""
    monkeypatch.setattr("sasanet.scale.work._NUMBERS_AT_ONCE", 1)


def phi(frame, tail=""):
    return frame[[name for name in frame if name.startswith("phi_") and name.endswith(tail)]]


@pytest.mark.usefixtures("in_chunks")
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "jsonl"])
def test_chunks_of_a_file_give_what_the_whole_table_gives(place, tmp_path, ending):
    out = tmp_path / f"e.{ending}"
    done("explain", place / "credit", place / "credit.csv", "--out", out, "--id", "number")
    if ending == "parquet":
        found = pd.read_parquet(out)
    elif ending == "jsonl":
        found = pd.read_json(out, lines=True, dtype={"number": str}, precise_float=True)
    else:
        found = pd.read_csv(out, dtype={"number": str})
    X = pd.read_csv(place / "credit.csv", **READ).drop(columns=["bad", "number"])
    truth = SASANetClassifier.load(place / "credit").explain(X)
    assert list(phi(found)) == [f"phi_{name}" for name in X]
    np.testing.assert_allclose(phi(found), truth.values, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found["base_value"] + phi(found).sum(axis=1), found["prediction"])
    assert found["row"].tolist() == list(range(1, 231))
    assert found["number"].iloc[-1] == "0229"  # codes are copied as they are


def test_several_classes_have_a_column_each_or_one_is_chosen(place, tmp_path):
    done("explain", place / "penguins", place / "penguins.csv", "--out", tmp_path / "all.csv")
    done("explain", place / "penguins", place / "penguins.csv", "--out", tmp_path / "one.csv",
         "--class", "Gentoo")  # fmt: skip
    every, one = (pd.read_csv(tmp_path / name) for name in ("all.csv", "one.csv"))
    assert phi(every).shape == (344, 21)
    np.testing.assert_array_equal(phi(every, " | Gentoo"), phi(one))
    np.testing.assert_array_equal(every["prediction | Gentoo"], one["prediction"])


def test_regression_is_explained_in_the_targets_units(place, tmp_path):
    words = ("explain", place / "mass", place / "penguins.csv", "--out", tmp_path / "e.csv")
    told = json.loads(done(*words, "--json").stdout)
    assert told["units"] == "target"
    assert told["rows"] == 344
    assert 4000 < pd.read_csv(tmp_path / "e.csv")["base_value"][0] < 4400


def test_top_gives_reasons_in_words(place, tmp_path):
    words = ("explain", place / "credit", place / "credit.csv", "--out", tmp_path / "e.parquet")
    done(*words, "--top", 3)
    found = pd.read_parquet(tmp_path / "e.parquet")
    X = pd.read_csv(place / "credit.csv", **READ).drop(columns=["bad", "number"])
    truth = SASANetClassifier.load(place / "credit").explain(X).reasons(7, k=3)
    assert found.loc[7, ["reason_1", "reason_2", "reason_3"]].tolist() == truth
    assert "reason_4" not in found


def test_orders_add_standard_errors(place, tmp_path):
    X = pd.read_csv(place / "credit.csv", **READ)[:3]
    X.to_csv(tmp_path / "three.csv", index=False)
    words = ("explain", place / "credit", tmp_path / "three.csv", "--out", tmp_path / "e.csv")
    done(*words, "--orders", 4)
    found = pd.read_csv(tmp_path / "e.csv")
    errors = found[[name for name in found if name.startswith("error_")]]
    assert errors.shape == (3, 20)
    assert (errors > 0).any().any()


@pytest.mark.usefixtures("in_chunks")
def test_predictions_are_the_models(place, tmp_path):
    done("predict", place / "penguins", place / "penguins.csv", "--out", tmp_path / "p.csv")
    found, model = pd.read_csv(tmp_path / "p.csv"), SASANetClassifier.load(place / "penguins")
    X = pd.read_csv(place / "penguins.csv").drop(columns="species")
    assert found["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(found["probability_Gentoo"], model.predict_proba(X)[:, 2], rtol=1e-5)


def test_levels_are_read_as_the_model_knows_them(tmp_path):
    """Numbers, truths, huge codes and the word None, fitted in Python, read back from text."""
    X = pd.DataFrame(
        {
            "code": [1, 2, 3, 2**60] * 10,
            "member": [True, False] * 20,
            "note": pd.Series(["None", "x"] * 20, dtype="str"),
            "size": [1.0, 2.5, np.nan, 4.0] * 10,
        }
    )
    model = SASANetClassifier(**TINY, categorical_features=["code"]).fit(X, [0, 1, 1, 0] * 10)
    model.save(tmp_path / "m")
    X.to_csv(tmp_path / "t.csv", index=False)
    result = done("explain", tmp_path / "m", tmp_path / "t.csv", "--out", tmp_path / "e.csv")
    assert "never seen" not in result.stderr
    found = pd.read_csv(tmp_path / "e.csv")
    np.testing.assert_allclose(phi(found), model.explain(X).values, rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("in_chunks")
def test_levels_never_seen_are_noted_once(place, tmp_path):
    frame = pd.read_csv(place / "penguins.csv")
    frame["island"] = "Atlantis"
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = done("predict", place / "penguins", tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert result.stderr.count("Atlantis") == 1


def test_an_existing_file_is_replaced_only_by_force(place, tmp_path):
    out = tmp_path / "p.csv"
    out.write_text("precious")
    words = ("predict", place / "penguins", place / "penguins.csv", "--out", out)
    assert run(*words).exit_code == 1
    assert out.read_text() == "precious"
    done(*words, "--force")
    assert out.read_text().startswith("row,")
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


# --- memory ----------------------------------------------------------------------------------


def most_alive(frames):
    """Return how many of the frames an iterator gives are alive at once, beside the one held."""
    seen, most = [], 0
    for frame, *_ in frames:
        seen.append(weakref.ref(frame))
        del frame
        most = max(most, sum(ref() is not None for ref in seen))
    return most


@pytest.mark.usefixtures("in_chunks")
def test_batches_keep_one_chunk_and_no_more(place):
    model = SASANetClassifier.load(place / "credit")
    batches = RowBatches(model, place / "credit.csv", "utf-8", None, [])
    assert most_alive(batches) <= 1
    assert most_alive(list(batches)) == 3  # what keeping all of them would look like


def test_a_file_is_read_no_further_than_the_chunk_that_is_asked_for(tmp_path):
    rows = "".join(f"{i},{'x' * 90}\n" for i in range(20_000))
    (tmp_path / "long.csv").write_text(f"a,b\n{rows}")
    table = open_table(tmp_path / "long.csv")
    chunks = table.chunks(["a"], 100)
    next(chunks)
    assert table.share_read() < 0.05
    chunks.close()


@pytest.mark.usefixtures("in_chunks")
def test_explain_shows_the_model_one_chunk_at_a_time(place, tmp_path, monkeypatch):
    sizes, explain = [], SASANetClassifier.explain

    def watched(self, X, **options):
        sizes.append(len(X))
        return explain(self, X, **options)

    monkeypatch.setattr(SASANetClassifier, "explain", watched)
    done("explain", place / "credit", place / "credit.csv", "--out", tmp_path / "e.csv")
    assert sizes == [100, 100, 30]


# --- names of rows ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "taken"),
    [
        (("predict",), ["row", "prediction", "probability_Gentoo"]),
        (("explain",), ["row", "base_value | Adelie", "phi_island | Gentoo"]),
        (("explain", "--class", "Gentoo"), ["base_value", "phi_sex"]),
        (("explain", "--top", 2), ["reason_2"]),
        (("explain", "--orders", 4), ["error_year | Adelie"]),
    ],
)
def test_an_id_named_like_a_column_that_is_written_is_refused(command, taken, place, tmp_path):
    name, *options = command
    frame = pd.read_csv(place / "penguins.csv")[:20]
    for column in taken:
        frame[column] = range(20)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for column in taken:
        words = (place / "penguins", tmp_path / "t.csv", "--out", tmp_path / "o.csv", *options)
        result = run(name, *words, "--id", column)
        assert result.exit_code == 1
        assert result.stderr.startswith("--id must differ from the columns that are written")
        assert result.stderr.count("\n") == 1
        assert not (tmp_path / "o.csv").exists()


def test_an_id_may_have_a_name_that_is_not_written(place, tmp_path):
    frame = pd.read_csv(place / "penguins.csv")[:20].assign(reason_2=range(20, 40))
    frame.to_csv(tmp_path / "t.csv", index=False)
    done("explain", place / "penguins", tmp_path / "t.csv", "--out", tmp_path / "o.csv",
         "--id", "reason_2", "--top", 1)  # fmt: skip
    assert pd.read_csv(tmp_path / "o.csv")["reason_2"].tolist() == list(range(20, 40))


# --- groups -----------------------------------------------------------------------------------


def test_groups_of_a_file_are_those_of_the_model(place, tmp_path):
    groups = {"account": ["status", "savings"], "loan": ["months", "credit_amount"]}
    (tmp_path / "groups.json").write_text(json.dumps(groups))
    out = tmp_path / "e.csv"
    given = place / "credit", place / "credit.csv", "--groups", tmp_path / "groups.json"
    done("explain", *given, "--out", out)
    X, _ = load_german_credit()
    e = SASANetClassifier.load(place / "credit").explain(X[:230], groups=groups)
    found = pd.read_csv(out)
    np.testing.assert_allclose(phi(found).to_numpy(), e.values, atol=1e-5)
    assert [*phi(found)] == [f"phi_{name}" for name in e.feature_names]
    said = done("audit", *given, "--rows", 4, "--orders", 4)
    assert "18 features" in said.output


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1]", "JSON object"),
        ("{", "must be a JSON file"),
        ("[" * 100_000, "must be a JSON file"),
        ('{"a": ["months"], "a": ["age"]}', "twice"),
        ('{"a": ["mouths"]}', "'mouths' in 'a'"),
    ],
)
def test_what_is_no_groups_file_is_refused_before_anything_is_written(place, tmp_path, text, says):
    (tmp_path / "groups.json").write_text(text)
    out = tmp_path / "e.csv"
    given = place / "credit", place / "credit.csv", "--groups", tmp_path / "groups.json"
    refused = run("explain", *given, "--out", out)
    assert refused.exit_code == 1
    assert says in " ".join(refused.output.split())
    assert not out.exists()


def test_units_of_the_probability_add_up_to_it(place, tmp_path):
    given = place / "credit", place / "credit.csv"
    done("explain", *given, "--units", "probability", "--out", tmp_path / "e.csv", "--top", 1)
    done("predict", *given, "--out", tmp_path / "p.csv")
    found, predicted = pd.read_csv(tmp_path / "e.csv"), pd.read_csv(tmp_path / "p.csv")
    np.testing.assert_allclose(found["prediction"], predicted["probability_1"], atol=1e-6)
    np.testing.assert_allclose(phi(found).sum(axis=1) + found["base_value"], found["prediction"])
    assert found["reason_1"].str.contains("the probability by").all()
    refused = run("audit", *given, "--units", "probability", "--keep")
    assert refused.exit_code == 1
    assert "--keep saves the certificate of the plain explanation" in refused.output


def test_a_regressor_has_no_probability(place, tmp_path):
    given = place / "mass", place / "penguins.csv", "--units", "probability"
    refused = run("explain", *given, "--out", tmp_path / "e.csv")
    assert refused.exit_code == 1
    assert "for classifiers" in refused.output
    assert not (tmp_path / "e.csv").exists()


# --- interactions -----------------------------------------------------------------------------


@pytest.mark.usefixtures("in_chunks")
def test_the_strongest_pairs_of_every_row_are_written(place, tmp_path):
    out = tmp_path / "pairs.csv"
    given = place / "penguins", place / "penguins.csv"
    done("interactions", *given, "--class", "Gentoo", "--top", 3, "--out", out)
    found = pd.read_csv(out)
    X, _ = load_penguins()
    values = 2 * SASANetClassifier.load(place / "penguins").interactions(X)[..., 2]
    assert len(found) == 3 * len(X)
    names = list(X.columns)
    for line in found[found["row"] == 7].itertuples():
        pair = values[6, names.index(line.feature), names.index(line.other)]
        np.testing.assert_allclose(line.interaction, pair, atol=1e-6)
    strongest = np.abs(np.where(np.eye(7, dtype=bool), 0, values[6])).max()
    np.testing.assert_allclose(found[found["row"] == 7]["interaction"].abs().max(), strongest)
    refused = run("interactions", *given, "--out", tmp_path / "other.csv")
    assert refused.exit_code == 1
    assert "--class must choose one of" in refused.output


# --- reasons ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("in_chunks")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_reasons_of_a_file_are_those_of_the_model(place, tmp_path, ending):
    X, _ = load_german_credit()
    X, out = X[:230], tmp_path / f"notice.{ending}"
    (tmp_path / "codes.json").write_text(json.dumps(dict.fromkeys(X.columns, "R")))
    given = place / "credit", place / "credit.csv", "--threshold", 0.3, "--exclude", "age"
    done("reasons", *given, "--codes", tmp_path / "codes.json", "--id", "number", "--out", out)
    found = pd.read_parquet(out) if ending == "parquet" else pd.read_csv(out)
    codes = dict.fromkeys(X.columns, "R")
    wanted = SASANetClassifier.load(place / "credit").reasons(X, 0.3, codes=codes, exclude=["age"])
    assert len(found) == len(wanted) > 20
    assert (found["row"] - 1).tolist() == wanted["row"].tolist()
    assert found["feature"].tolist() == wanted["feature"].tolist()
    assert found["code"].eq("R").all()
    refused = run("reasons", *given[:4], "--exclude", "agee", "--out", tmp_path / "n.csv")
    assert refused.exit_code == 1
    assert "exclude must name features" in refused.output


@pytest.mark.usefixtures("in_chunks")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_recourse_of_a_file_is_that_of_the_model(place, tmp_path, ending):
    change = {"months": {"from": 6, "to": 24}, "savings": None, "housing": ["own", "rent"]}
    (tmp_path / "change.json").write_text(json.dumps(change))
    given = place / "credit", place / "credit.csv", "--threshold", 0.4
    out = tmp_path / f"changes.{ending}"
    done("recourse", *given, "--change", tmp_path / "change.json", "--id", "number", "--out", out)
    found = pd.read_parquet(out) if ending == "parquet" else pd.read_csv(out)
    X = pd.read_csv(place / "credit.csv", **READ).drop(columns=["bad", "number"])
    allowed = {**change, "months": (6, 24)}
    wanted = SASANetClassifier.load(place / "credit").recourse(X, 0.4, allowed)
    assert len(found) == len(wanted) > 2
    assert (found["row"] - 1).tolist() == wanted["row"].tolist()
    np.testing.assert_allclose(found["new_score"], wanted["new_score"], atol=1e-6)
    assert (found["new_score"].dropna() < 0.4).all()
    (tmp_path / "change.json").write_text('{"moon": null}')
    words = "--change", tmp_path / "change.json", "--out", tmp_path / "other.csv"
    refused = run("recourse", *given, *words)
    assert refused.exit_code == 1
    assert "change must name features" in refused.output


def test_drift_of_two_files_is_that_of_their_explanations(place, tmp_path):
    whole, out = pd.read_csv(place / "credit.csv", **READ), tmp_path / "drift.csv"
    later = whole.assign(status="below 0 DM")
    later.to_csv(tmp_path / "later.csv", index=False)
    given = place / "credit", place / "credit.csv", tmp_path / "later.csv"
    told = json.loads(done("drift", *given, "--out", out, "--json").stdout)
    model = SASANetClassifier.load(place / "credit")
    parts = [model.explain(X.drop(columns=["bad", "number"])) for X in (whole, later)]
    wanted = parts[0].drift(parts[1]).reset_index()
    found = pd.read_csv(out)
    assert found["feature"].tolist() == wanted["feature"].tolist()
    np.testing.assert_allclose(found["adjusted"], wanted["adjusted"])
    assert found["feature"][0] == "status"
    assert found["drifted"].tolist() == [True, *[False] * 19]
    assert (told["drifted"], told["rows"], told["features"][0]["feature"]) == (1, 230, "status")
    said = done("drift", *given, "--rows", 50).stdout
    assert "features drifted, by 50 and 50 rows" in said
    flat = " ".join(run("drift", *given, "--out", tmp_path / "later.csv", "--force").output.split())
    assert "must not be the table" in flat
    classes = place / "penguins", place / "penguins.csv", place / "penguins.csv"
    assert "--class must choose one of" in run("drift", *classes).output
    assert "0 of 7 features" in done("drift", *classes, "--class", "Gentoo").stdout
