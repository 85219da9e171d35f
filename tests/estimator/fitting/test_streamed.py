"""Fits from sources: small ones as from memory, large ones from encoded rows on disk."""

import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

from bench.practice.monotone import find_violations
from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.errors import InvalidInputError, ShortFitWarning
from sasanet.estimator.fitting import given
from sasanet.streaming import survey
from sasanet.streaming.parts import Reader
from sasanet.table.sources import open_source

RANDOM = np.random.default_rng(0)
N = 1_200
X = pd.DataFrame(
    {
        "a": RANDOM.normal(size=N),
        "b": np.where(RANDOM.random(N) < 0.2, np.nan, RANDOM.random(N)),
        "c": RANDOM.choice(["red", "green", "blue"], N),
    }
)
SCORE = X["a"] + np.where(X["c"] == "red", 1.5, 0) + 0.3 * RANDOM.normal(size=N)
Y = pd.Series(np.where(SCORE > 0.5, "yes", "no"), name="y")
FULL = X.assign(y=Y)
QUICK = {"network": Architecture(width=8, marginal_layers=(8,)), "random_state": 0}
QUICK |= {"max_epochs": 4, "teacher_weight": 0, "validation_fraction": 0, "batch_size": 32}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("parts")
    for number, rows in enumerate(np.array_split(np.arange(N), 4)):
        FULL.iloc[rows].to_parquet(place / f"{number}.parquet", row_group_size=160)
    return place


@pytest.fixture
def streamed(monkeypatch):
    monkeypatch.setattr(given, "MOST_CELLS", 1_000)


def sources(folder):
    return {
        "folder": lambda: folder,
        "dataset": lambda: pa.dataset.dataset(folder),
        "table": lambda: pa.Table.from_pandas(FULL),
        "reader": lambda: pa.Table.from_pandas(FULL).to_reader(200),
        "frames": lambda: [FULL[:500], FULL[500:]],
        "generator": lambda: (FULL[i : i + 300] for i in range(0, N, 300)),
        "frame": lambda: FULL,
    }


KINDS = ["folder", "dataset", "table", "reader", "frames", "generator", "frame"]


@pytest.fixture(scope="module")
def in_memory():
    return SASANetClassifier(**QUICK).fit(X, Y)


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_source_gives_the_model_of_a_table_in_memory(folder, in_memory, kind):
    found = SASANetClassifier(**QUICK).fit(sources(folder)[kind](), target="y")
    np.testing.assert_array_equal(found.predict_proba(X), in_memory.predict_proba(X))
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["folder", "reader", "frames", "generator"])
@pytest.mark.usefixtures("streamed")
def test_a_large_source_gives_nearly_that_model(folder, in_memory, tmp_path, kind):
    model = SASANetClassifier(**QUICK)
    found = model.fit(sources(folder)[kind](), target="y", scratch=tmp_path)
    assert not list(tmp_path.iterdir())
    assert found.encoder_.columns[2] == in_memory.encoder_.columns[2]
    np.testing.assert_allclose(found.encoder_.columns[0].knots, in_memory.encoder_.columns[0].knots)
    np.testing.assert_allclose(found.base_value_, in_memory.base_value_)
    both = [model.decision_function(X) for model in (found, in_memory)]
    assert np.corrcoef(both)[0, 1] > 0.95
    e = found.explain(X[:20])
    np.testing.assert_allclose(e.prediction, found.decision_function(X[:20]), atol=1e-5)


@pytest.mark.usefixtures("streamed")
def test_a_large_table_in_memory_is_read_in_parts_too(in_memory):
    weights = np.where(Y == "yes", 2.0, 1.0)
    found = SASANetClassifier(**QUICK, class_weight="balanced").fit(X, Y, weights)
    direct = in_memory.base_value_[0]
    counted = np.log((Y == "yes").sum() / (Y == "no").sum())
    assert direct == pytest.approx(counted)
    assert found.base_value_[0] == pytest.approx(np.log(2))


@pytest.mark.usefixtures("streamed")
def test_one_seed_gives_one_model(folder):
    first, second = (SASANetClassifier(**QUICK).fit(folder, target="y") for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


@pytest.mark.parametrize("make", [SASANetClassifier, SASANetRegressor])
@pytest.mark.usefixtures("streamed")
def test_teachers_soften_the_labels_of_the_sample(monkeypatch, make):
    monkeypatch.setattr(survey, "_SAMPLE_ROWS", 300)
    classes = np.digitize(SCORE, [-0.5, 0.5, 1.5])  # four: soft labels have one number for each
    table = X.assign(y=classes if make is SASANetClassifier else SCORE, w=1.0)
    model = make(**(QUICK | {"teacher_weight": 0.5, "max_epochs": 3}))
    model.fit(table, target="y", sample_weight="w")
    assert model.score(X, table["y"]) > 0.5
    if make is SASANetRegressor:
        assert model.base_value_[0] == pytest.approx(SCORE.mean())
        assert model.target_.scale == pytest.approx(SCORE.std(ddof=0))


@pytest.mark.usefixtures("streamed")
def test_rows_that_choose_the_best_epoch_are_not_trained_on(monkeypatch):
    seen = []
    original = given.StreamedTable.store

    def store(self, data, settings):
        seen.append(original(self, data, settings))
        return seen[0]

    monkeypatch.setattr(given.StreamedTable, "store", store)
    model = SASANetClassifier(**(QUICK | {"validation_fraction": 0.2}))
    model.fit(FULL, target="y")
    assert len(seen[0].validation) == pytest.approx(0.2 * N, abs=2)
    assert len(seen[0].stored) == N - len(seen[0].validation)
    assert "validation_loss" in model.history_[0]


@pytest.mark.usefixtures("streamed")
def test_a_source_that_takes_longer_than_its_share_is_read_in_part():
    def slow():
        import time

        for start in range(0, N, 200):
            time.sleep(0.2)
            yield FULL[start : start + 200]

    model = SASANetClassifier(**QUICK, time_limit=2.0)
    with pytest.warns(ShortFitWarning, match=r"enough to read [\d,]+ rows"):
        model.fit(slow(), target="y")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.fit(FULL, Y, target="y"), "requires y to be passed"),
        (lambda m: m.fit([X, X]), "requires y to be passed"),
        (lambda m: m.fit(FULL, target="z"), "must have the column 'z'"),
        (lambda m: m.fit(FULL, target="y", sample_weight=[1.0]), "must name a column"),
        (lambda m: m.fit(FULL, target="y", sample_weight="a"), "finite numbers of at least 0"),
        (lambda m: m.fit([FULL, X], target="y"), "must have the column 'y'"),
        (lambda m: m.fit([FULL[:800], FULL[["c", "y"]]], target="y"), "the same columns"),
        (lambda m: m.fit(iter([FULL[:0]]), target="y"), "must have rows"),
        (lambda m: m.fit(FULL.assign(y=None), target="y"), "missing labels"),
    ],
)
@pytest.mark.usefixtures("streamed")
def test_what_cannot_be_learned_from_is_refused_in_a_sentence(call, message):
    model = SASANetClassifier(**QUICK)
    with pytest.raises(InvalidInputError, match=message):
        call(model)
    assert not hasattr(model, "network_")


@pytest.mark.usefixtures("streamed")
def test_directions_hold_of_streamed_fits(folder):
    model = SASANetClassifier(**QUICK, monotonic_cst={"a": -1}).fit(folder, target="y")
    assert model.monotonic_cst_.tolist() == [-1, 0, 0]
    found = find_violations(model, X, {"a": -1}, 2_000)
    assert found.violations == 0
    free = SASANetClassifier(**QUICK).fit(folder, target="y")
    assert find_violations(free, X, {"a": -1}, 2_000).violations > 0


@pytest.mark.parametrize("named", [True, False])
def test_a_wide_table_is_read_in_few_rows_between_two_looks_at_the_clock(tmp_path, named):
    wide = pd.DataFrame(np.zeros((9_000, 1_000), dtype=np.float32)).add_prefix("x")
    source = open_source(wide if named else [wide])
    assert (source.names is not None) == named
    reader = Reader(source, tmp_path, 0)
    sizes = [len(frame) for _, frame in reader.frames("reading", time.monotonic() + 60)]
    assert sizes == [4194, 4194, 612]
    first = next(Reader(source, tmp_path, 0).frames("reading", 0.0))
    assert len(first[1]) == 4194


def test_a_large_table_in_memory_is_read_in_random_order_whatever_its_own(monkeypatch):
    monkeypatch.setattr(given, "MOST_CELLS", 100)
    monkeypatch.setattr(given, "_ROWS_PER_PART", 100)
    model = SASANetClassifier(**QUICK)
    maker = given.Maker("SASANetClassifier", model._make_encoder, model._resolve)
    what = given.Given(X, Y, None, None, None)
    with given.training_table(what, maker, 0, time.monotonic()) as table:
        order = table.reader.chosen
        assert sorted(order) == list(range(12))
        assert order != sorted(order)
        rows = table.sample  # all of them, in the table's own order again
        pd.testing.assert_frame_equal(rows.features.astype(X.dtypes), X)
        assert rows.labels.tolist() == Y.tolist()


@pytest.mark.filterwarnings("ignore:time_limit=1e-06 s ended training")
def test_of_a_small_source_that_takes_too_long_random_parts_are_read(folder):
    model = SASANetClassifier(**QUICK, time_limit=1e-6)
    with pytest.warns(ShortFitWarning, match="enough to read 160 of 1,200 rows"):
        model.fit(folder, target="y")
    maker = given.Maker("SASANetClassifier", model._make_encoder, model._resolve)
    what = given.Given(folder, None, None, "y", None)
    with pytest.warns(ShortFitWarning), given.training_table(what, maker, 1, 0.0) as table:
        found = table.given[0]
    assert found.index.tolist() == list(range(len(found)))
    assert not found["a"].isin(X["a"][:140]).any()  # another part than the first
