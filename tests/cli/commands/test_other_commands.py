"""`inspect`, `audit`, `report`, `compare`, `demo`: what they say and leave behind."""

import json
import subprocess
import sys

import pandas as pd
import pytest

from cli_run import done, run
from sasanet import SASANetClassifier, SASANetRegressor, load
from sasanet.audit import Audit
from sasanet.cli import main
from sasanet.cli.terminal import sentence
from sasanet.datasets import load_penguins

# What commands say and leave is tested, not how well a model predicts.
pytestmark = pytest.mark.usefixtures("small_default", "few_trees")

TINY = {"random_state": 0, "max_epochs": 2, "teacher_weight": 0}
COMMANDS = ("fit", "predict", "explain", "audit", "report", "inspect", "demo", "compare",
            "interactions", "reasons", "recourse", "drift", "cohorts")  # fmt: skip


@pytest.fixture
def place(tmp_path):
    X, y = load_penguins()
    SASANetClassifier(**TINY).fit(X, y).save(tmp_path / "m")
    X.assign(species=y).to_csv(tmp_path / "t.csv", index=False)
    return tmp_path


def test_inspect_shows_what_the_model_knows(place):
    said = done("inspect", place / "m").stdout
    for part in ("multiclass", "Adelie", "bill_length_mm", "Biscoe · Dream", "No certificate"):
        assert part in said
    told = json.loads(done("inspect", place / "m", "--json").stdout)
    sizes = load(place / "m").feature_importances_.tolist()
    assert told["columns"][0] == {
        "name": "island", "kind": "category", "levels": ["Biscoe", "Dream", "Torgersen"],
        "importance": sizes[0],
    }  # fmt: skip
    assert [column["importance"] for column in told["columns"]] == sizes
    assert "importance" in said
    assert "Class weights" not in said
    assert told["training"][0]["epochs"] == 2
    assert told["audit"] is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"class_weight": "balanced"}, "Class weights: balanced; probabilities are those of"),
        ({"objective": "poisson"}, "preset: poisson."),
        ({"objective": "quantile", "quantile": [0.1, 0.9]}, "preset: quantile (0.1, 0.9)."),
        ({"objective": "squared"}, "preset: regression."),
    ],
)
def test_inspect_says_what_is_predicted_and_how_classes_count(given, says, tmp_path):
    X = pd.DataFrame({"size": [1.0, 2.0] * 20})
    kind = SASANetClassifier if "class_weight" in given else SASANetRegressor
    kind(**TINY, **given).fit(X, [0, 1] * 20).save(tmp_path / "m")
    said = " ".join(done("inspect", tmp_path / "m").stdout.split())
    assert says in said


def test_inspect_prints_names_with_brackets_as_they_are(tmp_path):
    X = pd.DataFrame({"size [red]": [1.0, 2.0] * 20})
    SASANetClassifier(**TINY).fit(X, [0, 1] * 20).save(tmp_path / "m")
    assert "size [red]" in done("inspect", tmp_path / "m").stdout


def test_audit_prints_writes_and_keeps_a_certificate(place):
    words = ("audit", place / "m", place / "t.csv", "--target", "species", "--rows", 8)
    said = done(*words, "--out", place / "a.json", "--keep").stdout
    assert "additivity gap" in said
    assert "value calibration error" in said
    assert Audit.load(place / "a.json").n_rows == 8
    assert load(place / "m").audit_.n_rows == 8
    again = run(*words, "--keep")
    assert again.exit_code == 1
    assert "certificate already" in again.stderr
    assert "additivity gap" in done("inspect", place / "m").stdout


def test_audit_answers_scripts_in_json(place):
    told = json.loads(done("audit", place / "m", place / "t.csv", "--rows", 4, "--json").stdout)
    assert told["n_rows"] == 4
    assert told["calibration"] == []


def test_report_writes_a_page_about_the_table(place):
    words = ("report", place / "m", place / "t.csv", "--out", place / "r.html")
    said = done(*words, "--target", "species", "--group", "sex").stdout
    assert "344 rows" in said
    page = (place / "r.html").read_text("utf-8")
    assert "How good it is" in page
    assert "sex" in page
    again = run(*words)
    assert again.exit_code == 1
    assert "--force" in again.stderr
    assert (place / "r.html").read_text("utf-8") == page


# --- compare ---------------------------------------------------------------------------------


@pytest.fixture
def no_ebm(monkeypatch):
    """Hide interpret, which takes a minute."""
    monkeypatch.setitem(sys.modules, "interpret.glassbox", None)


@pytest.mark.usefixtures("no_ebm")
def test_compare_judges_all_models_on_the_same_rows(place):
    words = ("compare", place / "t.csv", "--target", "species", "--time-limit", 1)
    result = done(*words, "--json")
    told = json.loads(result.stdout)
    assert told["metric"] == "AUC"
    names = [model["model"] for model in told["models"]]
    assert names == ["SASANet", "LightGBM", "logistic regression"]
    assert "pip install" in told["skipped"]["EBM"]
    for model in told["models"]:
        low, high = model["interval"]
        assert low <= model["quality"] <= high
        assert len(model["top_features"]) == 3
    assert told["models"][0]["difference"] == 0
    assert told["models"][2]["quality"] > 0.95
    assert told["models"][2]["top_features"][0].startswith("bill_")


@pytest.mark.usefixtures("no_ebm")
def test_compare_says_what_it_skipped_and_handles_numbers(place):
    frame = pd.read_csv(place / "t.csv").dropna()
    frame.to_csv(place / "whole.csv", index=False)
    words = ("compare", place / "whole.csv", "--target", "body_mass_g", "--time-limit", 1)
    result = done(*words)
    assert "Skipped EBM" in result.stderr
    assert "ridge" in result.stdout
    assert "[" in result.stdout
    assert "\\[" not in result.stdout
    assert "R²" in result.stdout


# --- around it -------------------------------------------------------------------------------


def test_demo_hands_its_directory_on(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "sasanet.cli.demonstration.main", lambda *words, verbose: asked.append((words, verbose))
    )
    done("demo", "--out", tmp_path / "d", "--quiet")
    assert asked == [((tmp_path / "d",), False)]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_the_common_options(name):
    said = done(name, "--help").stdout
    for option in ("--quiet", "--json", "--debug"):
        assert option in said


def test_the_version_is_known():
    assert done("--version").stdout.startswith("sasanet ")


def test_the_shell_completes_commands():
    """Ask the way bash does."""
    asked = {"_SASANET_COMPLETE": "complete_bash", "COMP_WORDS": "sasanet expl", "COMP_CWORD": "1"}
    from typer.testing import CliRunner

    from sasanet.cli.app import app

    said = CliRunner().invoke(app, prog_name="sasanet", env=asked)
    assert said.stdout.split() == ["explain", "explore"]


def test_without_typer_it_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    for name in [name for name in sys.modules if name.startswith("sasanet.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "sasanet[cli]" in capsys.readouterr().err


def test_it_runs_as_a_module():
    said = subprocess.run(
        [sys.executable, "-m", "sasanet.cli", "--version"], capture_output=True, text=True
    )
    assert said.stdout.startswith("sasanet ")


def test_surprises_become_a_sentence_too():
    assert sentence(RuntimeError("a\nb")) == (
        "Unexpected RuntimeError: a b; add --debug to see where."
    )
    gone = FileNotFoundError(2, "No such file or directory", "x.csv")
    assert sentence(gone) == "x.csv cannot be used: No such file or directory."
