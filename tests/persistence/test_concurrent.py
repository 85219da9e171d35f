"""One path holds one whole model at any time, whoever saves, loads or is killed."""

import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import careless_saver
from sasanet import Architecture, SASANetClassifier, load
from sasanet.datasets import load_penguins
from sasanet.persistence import folder as model_folder
from sasanet.persistence import model as persistence

SMALL = Architecture(width=4, marginal_layers=(3,))
ROUNDS = 25


@pytest.fixture(scope="module")
def two():
    X, y = load_penguins()
    fits = {"max_epochs": 1, "teacher_weight": 0}
    return [SASANetClassifier(SMALL, random_state=seed, **fits).fit(X, y) for seed in (0, 1)]


def save(path, model):
    for _ in range(ROUNDS):
        model.save(path)


def read(path, X, expected):
    for _ in range(ROUNDS):
        found = load(path).predict_proba(X)
        assert any(np.array_equal(found, one) for one in expected)


def disturb(two, path):
    """Save two models to one path and load from it, all at once; return what went wrong."""
    X, wrong = load_penguins()[0][:5], []
    expected = [model.predict_proba(X) for model in two]

    def noting(job, *given):
        try:
            job(path, *given)
        except Exception as error:
            wrong.append(error)

    two[0].save(path)
    jobs = [(save, two[0]), (save, two[1]), (read, X, expected), (read, X, expected)]
    threads = [threading.Thread(target=noting, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def test_savers_and_loaders_do_not_disturb_each_other(two, tmp_path):
    assert disturb(two, tmp_path / "model") == []
    assert sorted(p.name.split("-")[0] for p in (tmp_path / "model").iterdir()) == [
        "README.md",
        "model.json",
        "weights",
    ]


def test_savers_that_do_not_take_turns_would_be_noticed(two, tmp_path, monkeypatch):
    """The twin: a saver that tidies up before its own description is in place."""
    monkeypatch.setattr(model_folder, "write_files", careless_saver.write_files)
    assert disturb(two, tmp_path / "model") != []


def test_a_reader_whose_weights_are_replaced_reads_again(two, tmp_path, monkeypatch):
    two[0].save(tmp_path)
    read, calls = model_folder.read_weights, []

    def replaced_once(folder, digest):
        if not calls:
            calls.append(digest)
            two[1].save(tmp_path)
        return read(folder, digest)

    monkeypatch.setattr(persistence.model_folder, "read_weights", replaced_once)
    X = load_penguins()[0]
    assert np.array_equal(load(tmp_path).predict_proba(X), two[1].predict_proba(X))


KILLED = """
import os, signal, sys
from sasanet import load, whole_files
model = load(sys.argv[1])
flush = whole_files._flush_to_disk
count = 0
def die(path):
    global count
    count += 1
    if count == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    flush(path)
whole_files._flush_to_disk = die
model.save(sys.argv[2])
"""


@pytest.mark.parametrize("write", [1, 2])
def test_what_a_killed_saver_leaves_is_whole_and_tidied_by_the_next(two, tmp_path, write):
    path, other = tmp_path / "model", tmp_path / "other"
    two[0].save(path)
    two[1].save(other)
    command = [sys.executable, "-c", textwrap.dedent(KILLED), other, path, str(write)]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    X = load_penguins()[0]
    assert np.array_equal(load(path).predict_proba(X), two[0].predict_proba(X))
    assert [p for p in path.iterdir() if p.name.startswith(".draft-")]
    two[1].save(path)
    assert sorted(p.suffix for p in path.iterdir()) == [".json", ".md", ".safetensors"]
