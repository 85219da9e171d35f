"""A command that is told to end leaves the old file, no draft, and the exit code of the signal."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from cli_run import done, files

pytestmark = pytest.mark.slow  # every case starts an interpreter

CODE = """
import os, signal, sys
from sasanet import cli
from sasanet.cli.files import writing

wanted = getattr(signal, sys.argv.pop(1))
write = writing._CsvWriter.write

def end(self, part):
    write(self, part)
    os.kill(os.getpid(), wanted)

writing._CsvWriter.write = end
{twin}
cli.main()
"""
TWIN = "signal.signal = lambda *_: None"  # a command that takes no notice of signals


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    rows = [f"{20 + i},{'a' if i % 3 else 'b'},{i % 2}" for i in range(40)]
    (folder / "t.csv").write_text("\n".join(["age,job,y", *rows]))
    done("fit", folder / "t.csv", "--target", "y", "--out", folder / "m", "--time-limit", 0.2)
    return folder


def interrupt(place, folder, name, twin=""):
    """Send a signal to ``sasanet predict`` after it has written its draft; return its exit code."""
    (folder / "out.csv").write_text("old")
    words = ["predict", place / "m", place / "t.csv", "--out", folder / "out.csv", "--force"]
    code = textwrap.dedent(CODE).format(twin=twin)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-c", code, name, *words], env=environment).returncode


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_command_that_is_ended_leaves_no_draft(name, code, place, tmp_path):
    assert interrupt(place, tmp_path, name) == code
    assert files(tmp_path) == {"out.csv": b"old"}


def test_a_command_without_a_handler_leaves_one(place, tmp_path):
    assert interrupt(place, tmp_path, "SIGTERM", TWIN) == -signal.SIGTERM
    assert len(files(tmp_path)) == 2
