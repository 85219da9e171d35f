"""What commands print is text: it commands no terminal, and every encoding can show it."""

import json
import os
import subprocess
import sys

import pandas as pd
import pytest

from cli_run import done, run
from sasanet import SASANetClassifier
from sasanet.cli.terminal import sentence, visible
from sasanet.errors import InvalidInputError, UnknownLevelWarning

ESCAPES = "\x1b]0;owned\x07\x1b[2Jblood\x9b31m\u202egnp"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Return a model whose names and levels try to command the terminal."""
    folder = tmp_path_factory.mktemp("terminal")
    X = pd.DataFrame({ESCAPES: [1.0, 2.0] * 20, ":bug: [red]": [f"é{ESCAPES}", "ζ"] * 20})
    model = SASANetClassifier(random_state=0, max_epochs=2, teacher_weight=0)
    model.fit(X, [f"no{ESCAPES}", "œuf"] * 20).save(folder / "m")
    X.to_csv(folder / "t.csv", index=False)
    return folder


def controls(text):
    """Return the characters that a terminal obeys."""
    return [c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e")]


def test_controls_are_shown_and_text_stays():
    assert controls(ESCAPES) != []
    assert controls(visible(ESCAPES)) == []
    assert visible(ESCAPES).startswith("\\x1b]0;owned\\x07")
    assert visible("é · 漢字 🐧\nb") == "é · 漢字 🐧\nb"
    assert visible("a\ud800b") == "a\\ud800b"


def test_inspect_commands_no_terminal(hostile):
    result = done("inspect", hostile / "m")
    assert controls(result.stdout) == []
    assert "owned" in result.stdout
    assert ":bug: [red]" in result.stdout  # neither an emoji nor a colour


def test_errors_and_notes_command_no_terminal(hostile, tmp_path):
    frame = pd.DataFrame({ESCAPES: [1.0], ":bug: [red]": [f"new{ESCAPES}"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    noted = done("predict", hostile / "m", tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert "new" in noted.stderr
    assert controls(noted.stderr) == []
    refused = run("inspect", tmp_path / ESCAPES.replace("/", ""))
    assert refused.exit_code == 1
    assert controls(refused.stderr) == []


def in_ascii(*words):
    """Run ``sasanet`` in a new interpreter whose terminal knows ASCII only."""
    command = [sys.executable, "-m", "sasanet.cli", *map(str, words)]
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    return subprocess.run(command, capture_output=True, env=os.environ | ascii_only)


def test_an_ascii_terminal_gets_every_command(hostile):
    said = in_ascii("inspect", hostile / "m")
    assert said.returncode == 0, said.stderr
    assert rb"\xe9" in said.stdout  # é
    help_text = in_ascii("explain", "--help")
    assert help_text.returncode == 0, help_text.stderr


def test_json_is_json_on_an_ascii_terminal(hostile):
    told = json.loads(in_ascii("inspect", hostile / "m", "--json").stdout.decode("ascii"))
    assert told == json.loads(done("inspect", hostile / "m", "--json").stdout)
    assert told["columns"][0]["name"] == ESCAPES


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InvalidInputError("X must be\na table"), "X must be a table."),
        (ValueError("Length mismatch."), "Unexpected ValueError: Length mismatch; add --debug to"),
        (OSError(28, "No space left on device"), "A file cannot be used: No space left on device."),
        (PermissionError(13, "Permission denied", "x"), "x cannot be used: Permission denied."),
        (MemoryError(), "The table does not fit into memory; use fewer rows or columns."),
    ],
)
def test_every_error_is_a_sentence(error, said):
    assert sentence(error).startswith(said)
    assert sentence(error).endswith(".")


def test_every_warning_of_the_package_is_noted(hostile, tmp_path, monkeypatch):
    from sasanet import errors

    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, Warning)]
    assert len(kinds) >= 4
    predict = SASANetClassifier.predict

    def warning(self, X):
        for kind in kinds:
            errors.warn_user(f"this is {kind.__name__}", kind)
        return predict(self, X)

    monkeypatch.setattr(SASANetClassifier, "predict", warning)
    words = ("predict", hostile / "m", hostile / "t.csv", "--out", tmp_path / "p.csv")
    result = done(*words)
    for kind in kinds:
        assert result.stderr.count(f"Note: this is {kind.__name__}") == 1
    assert UnknownLevelWarning in kinds
