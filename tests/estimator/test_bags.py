"""A column of bags is one player: all that holds of features holds of it."""

import numpy as np
import pandas as pd
import pytest
import torch

import bag_models
from sasanet import SASANetRegressor, load
from sasanet.baselines import NAMRegressor
from sasanet.errors import InvalidInputError
from sasanet.network.embedding.cells import BagEmbedding, TableEmbedding
from sasanet.posthoc import FastSHAP
from sasanet.table.bags import ids, text

TABLE = bag_models.table()
BAGS = [name for name in TABLE if name not in ("size", "shop")]
KINDS = ("number", "binary", "classes", "sequence")


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_one_attribution_per_column_and_they_add_up(kind):
    model = bag_models.fitted(kind)
    e = model.explain(TABLE[:60])
    assert e.feature_names == tuple(TABLE)
    raw = model.value(TABLE[:60], np.ones(TABLE.shape[1], dtype=bool))
    np.testing.assert_allclose(e.base_values + e.values.sum(1), raw, atol=1e-9)
    assert (e.values[TABLE[:60].isna().to_numpy()] == 0).all()
    assert np.abs(e.values[TABLE[:60].notna().to_numpy()]).mean() > 1e-4


@pytest.mark.parametrize("name", BAGS)
def test_a_bag_is_known_or_unknown_as_a_whole(name):
    model, rows = bag_models.fitted(), TABLE[:60]
    without = model.value(rows, [other != name for other in TABLE])
    np.testing.assert_array_equal(without, model.predict(rows.assign(**{name: None})))
    # Broken twin: were further parts left in, hiding the first would not be enough.
    cells = torch.from_numpy(model.encoder_.transform(rows))
    known = torch.ones(len(rows), TABLE.shape[1], dtype=torch.bool)
    known &= model.network_.present(cells)
    embedding = model.network_.marginal.embedding
    sums = embedding.coalition_sums(cells, known[:, None])[:, 0]
    vectors = model.network_.marginal.cell_vectors(cells, known)
    torch.testing.assert_close(vectors.sum(1), sums)
    known[:, list(TABLE).index(name)] = False
    hidden = embedding.coalition_sums(cells, known[:, None])[:, 0]
    left = list(embedding.owners).index(list(TABLE).index(name)) + TABLE.shape[1]
    leaking = torch.cat([known, ~cells[:, TABLE.shape[1] :].isnan()], 1)
    assert left < leaking.shape[1]
    broken = embedding.of_cells.coalition_sums(cells, leaking[:, None])[:, 0]
    assert (hidden - broken).abs().max() > 1e-3


def test_vectors_of_bags_are_the_sums_of_those_of_their_parts():
    torch.manual_seed(0)
    of_cells = TableEmbedding((5, 4, 3, 6), (True, False, False, True), 7, 1.0)
    embedding = BagEmbedding(of_cells, (1, 1))
    cells = torch.tensor([[0.5, 1.0, 2.0, 3.5], [1.0, 2.0, 1.0, torch.nan]])
    plain = of_cells(cells)
    found = embedding(cells)
    torch.testing.assert_close(found[:, 0], plain[:, 0])
    torch.testing.assert_close(found[0, 1], plain[0, 1:].sum(0))
    torch.testing.assert_close(found[1, 1], plain[1, 1] + plain[1, 2])
    assert (found[1, 1] - plain[1, 1:].sum(0)).abs().max() > 1e-3  # the twin that reads NaN as 0


def test_rows_can_be_explained_in_any_company_and_columns_be_in_any_order():
    model = bag_models.fitted()
    whole = model.explain(TABLE[:30])
    alone = model.explain(TABLE[7:8])
    np.testing.assert_allclose(alone.values[0], whole.values[7], atol=1e-6)
    moved = model.explain(TABLE[:30][list(TABLE)[::-1]])
    np.testing.assert_array_equal(moved.values, whole.values)
    row = TABLE.iloc[7].to_dict()
    assert model.predict_one(row) == pytest.approx(model.predict(TABLE[7:8])[0], abs=1e-6)
    np.testing.assert_allclose(model.explain_one(row).values, whole.values[7], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_saved_models_answer_the_same(kind, tmp_path):
    model = bag_models.fitted(kind)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.explain(TABLE[:40]).values, model.explain(TABLE[:40]).values
    )


def test_explanations_keep_the_cells_of_the_user(tmp_path):
    e = bag_models.fitted().explain(TABLE[:20])
    pd.testing.assert_frame_equal(e.data, TABLE[:20])
    e.save(tmp_path / "e.parquet")
    again = type(e).load(tmp_path / "e.parquet")
    pd.testing.assert_frame_equal(again.data, e.data)
    assert again.words == e.words
    tags = again.data["tags"].dropna()
    assert all(type(cell) is list for cell in tags)  # not Parquet's arrays
    rows = TABLE[:20].assign(tags=[("new", "sale")] * 20)
    with pytest.raises(InvalidInputError, match="Parquet must keep every cell"):
        bag_models.fitted().explain(rows).save(tmp_path / "tuples.parquet")  # would be lists


def test_groups_interactions_units_and_audit_know_players():
    model, rows = bag_models.fitted("binary"), TABLE[:12]
    others = [name for name in TABLE if name != "size"]
    grouped = model.explain(rows, groups={"all": others})
    np.testing.assert_allclose(grouped.values.sum(1), model.explain(rows).values.sum(1), atol=1e-6)
    pairs = model.interactions(rows)
    assert pairs.shape == (12, TABLE.shape[1], TABLE.shape[1])
    shares = model.explain(rows, units="probability")
    np.testing.assert_allclose(shares.prediction, model.predict_proba(rows)[:, 1], atol=1e-6)
    assert model.audit(TABLE[:40])["self-game R²"].value > 0.999


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda m, _: m.to_onnx("x.onnx"), "numbers or categories in ONNX, got 'posted'"),
        (lambda m, _: m.learn_attributions(TABLE), "learn_attributions needs .* got others"),
        (lambda m, _: m.recourse(TABLE, 0.0, {"posted": None}), "got 'posted', a column of dates"),
        (lambda _, y: NAMRegressor(max_epochs=1).fit(TABLE, y), "NAMRegressor needs .* got dates"),
        (
            lambda m, _: FastSHAP().fit(TABLE, m.predict, "regression"),
            "FastSHAP needs columns of numbers",
        ),
    ],
)
def test_what_cannot_read_bags_says_so(call, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        call(bag_models.fitted(), bag_models.target())


def test_the_weekday_is_learned_from_a_date_and_not_from_a_timestamp():
    random = np.random.default_rng(3)
    hours = pd.to_timedelta(random.integers(0, 600 * 24, 1500), unit="h")
    posted = pd.Series(pd.Timestamp("2024-01-01") + hours)
    y = np.where(posted.dt.day_of_week >= 5, 2.0, 0.0) + random.normal(0, 0.5, 1500)
    scores = []
    for column in (posted, posted.astype(np.int64)):
        X = pd.DataFrame({"posted": column})
        model = SASANetRegressor(random_state=0, max_epochs=15, teacher_weight=0)
        scores.append(model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]))
    assert scores[0] > 0.7
    assert scores[1] < 0.2


def test_the_report_shows_bags(tmp_path):
    from sasanet.report import write_report

    model = bag_models.fitted()
    path = tmp_path / "report.html"
    write_report(model, TABLE[:60].assign(y=bag_models.target()[:60]), path, target="y")
    page = path.read_text()
    assert "1 column of dates, 1 column of tags, 1 column of vectors, 1 column of text" in page
    assert "2024-" in page


def test_a_folder_larger_than_memory_has_bags_too(tmp_path, monkeypatch):
    from sasanet.estimator.fitting import given

    folder = tmp_path / "parts"
    folder.mkdir()
    whole = TABLE.assign(y=bag_models.target())
    for i in range(2):
        whole[i * 200 : (i + 1) * 200].to_parquet(folder / f"{i}.parquet")
    small = SASANetRegressor(**bag_models.QUICK).fit(str(folder), target="y")
    monkeypatch.setattr(given, "MOST_CELLS", 10)
    streamed = SASANetRegressor(**bag_models.QUICK).fit(str(folder), target="y")
    assert [c.kind for c in streamed.encoder_.columns] == [c.kind for c in small.encoder_.columns]
    e = streamed.explain(TABLE[:30])
    np.testing.assert_allclose(e.prediction, streamed.predict(TABLE[:30]), atol=1e-9)
    assert (e.values[TABLE[:30].isna().to_numpy()] == 0).all()


def test_reasons_name_the_words_that_drove_them():
    random = np.random.default_rng(5)
    notes = [" ".join(random.choice([*bag_models.WORDS, "a", "this"], 6)) for _ in range(700)]
    X = pd.DataFrame({"note": notes, "x": random.normal(size=700)})
    y = 2.0 * X["note"].str.contains("broken") + X["x"]
    model = SASANetRegressor(random_state=0, max_epochs=15, teacher_weight=0).fit(X[:600], y[:600])
    e, row = model.explain(X[600:]), {"note": "This lid: BROKEN, and late", "x": 0.0}
    assert model.score(X[600:], y[600:]) > 0.7
    first = model.explain_one(row).reasons(1)[0]
    assert first.startswith("note with 'broken'")
    assert first == model.explain(pd.DataFrame([row])).reasons(0, 1)[0]
    # What a word adds is the output with it, less the output without it.
    effect = e.words["note"][0]
    word = next(iter(effect))
    hidden = X[600:601].assign(note=X["note"][600].replace(word, ""))
    pairs = text.buckets_of(text.words_of(hidden["note"][600]))
    assert pairs  # neighbours of the word become neighbours: nearly, not exactly, the same text
    gain = model.predict(X[600:601]) - model.predict(hidden)
    assert abs(gain[0] - effect[word][0]) < 0.5
    assert e[5:6, ["note"]].words == {"note": [e.words["note"][5]]}
    assert e[:, ["x"]].words == {}
    told = model.reasons(X[600:], 1.0, k=1)
    assert told["reason"].str.contains("note with 'broken'").mean() > 0.5
    with pytest.raises(AssertionError):  # the twin: of another row they are others
        assert e[6:7, ["note"]].words == {"note": [e.words["note"][5]]}


def test_ids_of_many_levels_are_one_player(monkeypatch, tmp_path):
    monkeypatch.setattr(ids, "MOST_LEVELS", 200)
    random = np.random.default_rng(6)
    shop = random.integers(0, 320, 2400)
    X = pd.DataFrame({"shop": [f"shop {j}" for j in shop], "x": random.normal(size=2400)})
    X.loc[::50, "shop"] = None
    y = np.where(X["shop"].isna(), 0, random.normal(size=320)[shop] * 2) + X["x"]
    model = SASANetRegressor(random_state=0, max_epochs=20, teacher_weight=0).fit(
        X[:2000], y[:2000]
    )
    assert model.encoder_.columns[0].kind == "ids"
    assert model.score(X[2000:], y[2000:]) > 0.6
    shuffled = X[2000:].assign(shop=X["shop"][2000:].sample(frac=1, random_state=0).to_numpy())
    assert model.score(shuffled, y[2000:]) < 0.3  # the twin that reads other ids
    e = model.explain(X[2000:])
    np.testing.assert_allclose(e.prediction, model.predict(X[2000:]), atol=1e-9)
    assert (e.values[X[2000:].isna().to_numpy()] == 0).all()
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    with pytest.raises(InvalidInputError, match="got 'shop', a column of ids"):
        model.to_onnx("x.onnx")
    with pytest.raises(InvalidInputError, match="got 1 for 'shop', a column of ids"):
        SASANetRegressor(monotonic_cst={"shop": 1}, **bag_models.QUICK).fit(X, y)


@pytest.mark.parametrize("kind", ["tags", "vectors"])
def test_what_a_list_says_is_learned(kind):
    random = np.random.default_rng(4)
    if kind == "tags":
        cells = [[t for t in ("new", "sale", "rare") if random.random() < 0.4] for _ in range(900)]
        y = np.array([2.0 * ("sale" in cell) for cell in cells])
    else:
        cells = random.normal(size=(900, 5))
        y = cells @ [1.0, -1.0, 0.0, 0.5, 0.0]
        cells = cells.tolist()
    X = pd.DataFrame({"x": pd.Series(cells), "n": random.normal(size=900)})
    model = SASANetRegressor(random_state=0, max_epochs=15, teacher_weight=0).fit(X[:600], y[:600])
    assert model.score(X[600:], y[600:]) > 0.8
    shuffled = X[600:].assign(x=X["x"][600:].sample(frac=1, random_state=0).to_list())
    assert model.score(shuffled, y[600:]) < 0.3  # the twin that reads other cells
