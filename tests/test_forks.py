"""A forked child predicts, explains and fits, in threads too, whatever its parent has computed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# Threads of torch are the whole process's, and a hang could end no test: so in one of their own.
SCRIPT = """
import json, multiprocessing, os, signal, threading, time
import numpy as np
import torch
from sasanet import Architecture, SASANetClassifier, forks

torch.set_num_threads(2)
X = np.random.RandomState(0).randn(1000, 12)
y = X[:, 0] > 0
small = {"max_epochs": 1, "teacher_weight": 0, "random_state": 0}
model = SASANetClassifier(**small).fit(X, y)
right = model.explain(X).values


def explain(rows):
    return model.explain(X[rows]).values


def fits():
    again = SASANetClassifier(Architecture(width=8, marginal_layers=(8,)), **small).fit(X, y)
    return bool(np.isfinite(again.predict_proba(X)).all())


def threads_agree():
    found = []
    threads = [threading.Thread(target=lambda: found.append(explain(slice(None)))) for _ in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(found) == 2 and all(np.allclose(one, right, atol=1e-5) for one in found)


def ends_well(work, seconds=60):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if work() else 1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hangs"


with multiprocessing.get_context("fork").Pool(2) as pool:
    parts = pool.map(explain, [slice(0, 500), slice(500, None)])
said = {"pool": bool(np.allclose(np.concatenate(parts), right, atol=1e-5))}
said["threads"] = ends_well(threads_agree)
said["fit"] = ends_well(fits)
said["parent"] = torch.get_num_threads()
forks._begin_child.__code__ = (lambda: None).__code__
said["twin"] = ends_well(lambda: bool(torch.ones(10**6).sum() > 0), 3)
print(json.dumps(said))
"""


def said(script):
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True, text=True, env=environment, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_forked_children_compute_after_a_parent_with_several_threads():
    found = said(SCRIPT)
    assert found.pop("twin") is not True
    assert found == {"pool": True, "threads": True, "fit": True, "parent": 2}
