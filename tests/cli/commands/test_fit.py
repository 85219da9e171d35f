"""`sasanet fit` reads tables as a new user has them, and says what it concluded."""

import gzip
import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sasanet
from cli_run import done, files, run
from sasanet import load
from sasanet.datasets import load_penguins
from sasanet.errors import InterruptedFitWarning

QUICK = ("--time-limit", 1)

pytestmark = pytest.mark.usefixtures("small_default", "few_trees")  # how a command fits, not what


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "penguins.csv"
    X, y = load_penguins()
    X.assign(species=y).dropna()[::6].to_csv(path, index=False)
    return path


@pytest.fixture
def small(tmp_path):
    """Return the writer of a small table with a yes-or-no target and one more column."""

    def write(values, name="code", target=None):
        target = target or ["yes", "no"] * (len(values) // 2)
        path = tmp_path / "small.csv"
        lines = [f"{name},x,y", *(f"{v},{i},{t}" for i, (v, t) in enumerate(zip(values, target)))]  # noqa: B905
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write


def test_it_saves_a_model_and_says_what_it_guessed(table, tmp_path):
    said = done("fit", table, "--target", "sex", "--exclude", "year,island", *QUICK,
                "--validation", 0.2, "--out", tmp_path / "m").stdout  # fmt: skip
    assert "'sex': classification (2 classes" in said
    model = load(tmp_path / "m")
    assert model.encoder_.names == (
        "bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "species",
    )  # fmt: skip
    assert "validation_loss" in model.history_[0]


def test_numbers_are_guessed_to_be_regression_and_the_task_can_be_set(table, tmp_path):
    first = done("fit", table, "--target", "year", "--out", tmp_path / "a", *QUICK, "--json")
    told = json.loads(first.stdout)
    assert told["task"] == "classification"
    assert told["why"].startswith("3 classes")
    done("fit", table, "--target", "year", "--task", "regression", "--out", tmp_path / "b", *QUICK)
    assert [type(load(tmp_path / name)).__name__ for name in "ab"] == [
        "SASANetClassifier", "SASANetRegressor",
    ]  # fmt: skip


def test_gzip_parquet_semicolons_and_a_byte_order_mark_give_the_same_columns(table, tmp_path):
    frame = pd.read_csv(table)
    frame.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(table.read_bytes()))
    text = frame.to_csv(sep=";", index=False)
    (tmp_path / "semicolons.csv").write_text(text, encoding="utf-8-sig")
    memories = []
    for name in ("t.parquet", "t.csv.gz", "semicolons.csv"):
        out = tmp_path / f"model-{name}"
        done("fit", tmp_path / name, "--target", "species", "--out", out, *QUICK)
        # How many knots a model keeps depends on what its teachers had time for.
        columns = [replace(c, knots=c.knots[:1] + c.knots[-1:]) for c in load(out).encoder_.columns]
        memories.append(columns)
    assert memories[0] == memories[1] == memories[2]
    assert [column.kind for column in memories[0]].count("number") == 5


def test_another_table_may_decide_when_to_stop(table, tmp_path):
    done("fit", table, "--target", "species", "--validation", table, "--out", tmp_path / "m",
         *QUICK)  # fmt: skip
    assert "validation_loss" in load(tmp_path / "m").history_[0]


def test_levels_only_the_other_table_has_are_noted(table, tmp_path):
    frame = pd.read_csv(table)
    frame["island"] = "Atlantis"
    frame.to_csv(tmp_path / "v.csv", index=False)
    result = done("fit", table, "--target", "species", "--validation", tmp_path / "v.csv",
                  "--out", tmp_path / "m", *QUICK)  # fmt: skip
    assert "Atlantis" in result.stderr


def test_codes_with_leading_zeros_keep_them_and_it_is_said(small, tmp_path):
    path = small(["007", "012", "110", "007"] * 10)
    result = done("fit", path, "--target", "y", "--out", tmp_path / "m", *QUICK)
    assert load(tmp_path / "m").encoder_.columns[0].levels == ("007", "012", "110")
    assert "'code' is read as categories" in result.stderr


def test_huge_integers_named_as_categorical_stay_exact(small, tmp_path):
    ids = [str(2**60), str(2**60 + 1)] * 10
    done("fit", small(ids), "--target", "y", "--out", tmp_path / "m", *QUICK,
         "--categorical", "code")  # fmt: skip
    assert load(tmp_path / "m").encoder_.columns[0].levels == (str(2**60), str(2**60 + 1))


def test_number_codes_of_parquet_become_categories_when_named(tmp_path):
    frame = pd.DataFrame({"code": [1, 2, 3, 4] * 10, "x": range(40), "y": [0, 1] * 20})
    frame.to_parquet(tmp_path / "t.parquet")
    done("fit", tmp_path / "t.parquet", "--target", "y", "--categorical", "code",
         "--out", tmp_path / "m", *QUICK)  # fmt: skip
    assert load(tmp_path / "m").encoder_.columns[0].levels == (1, 2, 3, 4)


def test_a_few_numbers_among_words_are_levels(small, tmp_path):
    done("fit", small(["1", "2", "3+", "1"] * 10), "--target", "y", "--out", tmp_path / "m", *QUICK)
    assert load(tmp_path / "m").encoder_.columns[0].levels == ("1", "2", "3+")


def test_a_column_of_names_is_noted(small, tmp_path):
    names = [f"person {number}" for number in range(40)]
    result = done("fit", small(names), "--target", "y", "--out", tmp_path / "m", *QUICK)
    assert "--exclude 'code'" in result.stderr


def test_a_model_is_replaced_only_by_force(table, tmp_path):
    out = tmp_path / "m"
    words = ("fit", table, "--target", "species", "--out", out, *QUICK)
    done(*words)
    before = files(out)
    refused = run(*words, "--seed", 1)
    assert refused.exit_code == 1
    assert "--force" in refused.stderr
    assert files(out) == before
    done(*words, "--seed", 1, "--force")
    assert files(out) != before


def test_a_directory_of_other_files_is_refused_even_with_force(table, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "love.txt").write_text("dear")
    result = run("fit", table, "--target", "sex", "--out", tmp_path / "letters", "--force")
    assert result.exit_code == 1
    assert files(tmp_path / "letters") == {"love.txt": b"dear"}


def test_quiet_says_nothing(table, tmp_path):
    result = done("fit", table, "--target", "species", "--out", tmp_path / "m", *QUICK, "-q")
    assert result.output == ""


def test_an_interrupted_training_keeps_the_best_state_and_says_so(table, tmp_path, monkeypatch):
    class Interrupted(sasanet.SASANetClassifier):
        def fit(self, X, y, validation=None, scratch=None, checkpoint=None):
            super().fit(X, y, validation=validation, scratch=scratch, checkpoint=checkpoint)
            warnings.warn("stopped", InterruptedFitWarning, stacklevel=2)
            return self

        __init__ = sasanet.SASANetClassifier.__init__

    Interrupted.__name__ = "SASANetClassifier"  # the name a saved model is found by
    monkeypatch.setattr("sasanet.SASANetClassifier", Interrupted)
    result = run("fit", table, "--target", "species", "--out", tmp_path / "m", *QUICK)
    assert result.exit_code == 130
    assert "Training was interrupted: the best state so far is kept" in result.stderr
    assert load(tmp_path / "m").history_


def test_ctrl_c_while_reading_writes_nothing(table, tmp_path, monkeypatch):
    def press(*_, in_parts):  # noqa: ARG001 - as the real one has it
        raise KeyboardInterrupt

    monkeypatch.setattr("sasanet.cli.files.labels.read_training_table", press)
    result = run("fit", table, "--target", "species", "--out", tmp_path / "m")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted: nothing was written.\n"
    assert not (tmp_path / "m").exists()


def test_wrong_usage_has_its_own_exit_code(table):
    assert run("fit", table).exit_code == 2
    assert run("fit", table, "--target", "sex", "--out", "m", "--preset", "finest").exit_code == 2
    assert run("explain", "m", table, "--out", "e.csv", "--orders", "many").exit_code == 2


def test_debug_shows_the_traceback(tmp_path):
    result = run("fit", tmp_path / "none.csv", "--target", "y", "--out", tmp_path / "m", "--debug")
    assert result.exit_code == 1
    assert isinstance(result.exception, ValueError)


def test_labels_keep_their_type(tmp_path):
    frame = pd.DataFrame({"x": np.arange(40), "y": [3, 5] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    done("fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m", *QUICK)
    assert load(tmp_path / "m").classes_.tolist() == [3, 5]


def test_balanced_classes(tmp_path):
    X, y = load_penguins()
    whole = X.assign(species=y).dropna(subset="body_mass_g")
    whole.to_csv(tmp_path / "t.csv", index=False)
    given = "fit", tmp_path / "t.csv", "--balanced", "--time-limit", 1
    done(*given, "--target", "species", "--out", tmp_path / "model")
    model = load(tmp_path / "model")
    assert model.class_weight == "balanced"
    np.testing.assert_allclose(model.base_value_, np.log(1 / 3))
    refused = run(*given, "--target", "body_mass_g", "--out", tmp_path / "other")
    assert refused.exit_code == 1
    assert "--balanced weighs classes" in refused.output


def test_monotone_columns_are_kept_and_told(table, tmp_path):
    options = ("--target", "sex", "--out", tmp_path / "m", *QUICK)
    done("fit", table, *options, "--monotone", "body_mass_g=1", "--monotone", "bill_depth_mm=-1")
    assert load(tmp_path / "m").monotonic_cst == {"body_mass_g": 1, "bill_depth_mm": -1}
    said = " ".join(done("inspect", tmp_path / "m").stdout.split())
    assert "only falls with bill_depth_mm, only rises with body_mass_g" in said


@pytest.mark.parametrize("given", ["body_mass_g", "body_mass_g=up", "=1", "island=1", "mass=1"])
def test_directions_that_cannot_be_kept_are_refused(table, tmp_path, given):
    options = ("--target", "sex", "--out", tmp_path / "m", *QUICK)
    result = run("fit", table, *options, "--monotone", given)
    assert result.exit_code == 1
    assert "monoton" in result.stderr
