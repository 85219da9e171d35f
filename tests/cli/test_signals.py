"""A command that is told to end leaves the old file, no draft, and the exit code of the signal."""

import os
import signal

import pytest

from cli_run import done, files
from sasanet.cli.files import writing
from torture.processes import Child, command


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    rows = [f"{20 + i},{'a' if i % 3 else 'b'},{i % 2}" for i in range(40)]
    (folder / "t.csv").write_text("\n".join(["age,job,y", *rows]))
    done("fit", folder / "t.csv", "--target", "y", "--out", folder / "m", "--time-limit", 0.2)
    return folder


def interrupt(place, folder, wanted, monkeypatch):
    """Send a signal to ``sasanet predict`` after it has written its draft; return its exit code."""
    (folder / "out.csv").write_text("old")
    write = writing._CsvWriter.write

    def end(self, part):
        write(self, part)
        os.kill(os.getpid(), wanted)

    monkeypatch.setattr(writing._CsvWriter, "write", end)
    words = ["predict", place / "m", place / "t.csv", "--out", folder / "out.csv", "--force"]
    return Child(command(*words)).wait().code


@pytest.mark.parametrize("wanted", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_ended_leaves_no_draft(wanted, place, tmp_path, monkeypatch):
    assert interrupt(place, tmp_path, wanted, monkeypatch) == 128 + wanted
    assert files(tmp_path) == {"out.csv": b"old"}


def test_a_command_without_a_handler_leaves_one(place, tmp_path, monkeypatch):
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # a command that ignores signals
    assert interrupt(place, tmp_path, signal.SIGTERM, monkeypatch) == -signal.SIGTERM
    assert len(files(tmp_path)) == 2
