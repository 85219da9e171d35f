"""A Ray Dataset is learned from and explained as one process does it, also where workers die."""

from __future__ import annotations

import dataclasses
import itertools
import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sasanet.ray
from sasanet import Architecture, SASANetClassifier
from sasanet.datasets import make_gaussian_probit
from sasanet.errors import InvalidInputError
from sasanet.estimator.fitting import given
from sasanet.ray import mapping
from sasanet.scale import FrameMap, explainer
from sasanet.scale.work import Explaining
from small_models import fitted, rows

# What Ray and its own dependencies deprecate in themselves.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # pipes of its processes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
N_ROWS, N_STEPS = 500, 12
# Complete rows only and no dropout: nothing is drawn, and only the order of rows differs.
DRAWN = {"full_share": 1.0, "dropout": 0.0}


def table():
    made = make_gaussian_probit(N_ROWS, n_features=4, correlation=0.3)
    return made.X.assign(y=made.y)


def model(kind=SASANetClassifier, **settings):
    fields = {"batch_size": N_ROWS, "max_epochs": N_STEPS, "teacher_weight": 0, "random_state": 0}
    fields |= {"validation_fraction": 0, "patience": N_STEPS}
    return kind(Architecture(**DRAWN), **fields | settings)


def blocks(ray, frame, n=3):
    edges = np.linspace(0, len(frame), n + 1).astype(int)
    parts = [frame.iloc[a:b] for a, b in itertools.pairwise(edges)]
    return ray.data.from_pandas(parts)


class DiesLearning(SASANetClassifier):
    """A classifier of whose workers the second one is killed in the middle of training, once."""

    def _make_phases(self, data, settings):
        (phase,) = super()._make_phases(data, settings)
        folder = data.survival.folder

        def loss(*batch):
            with (folder / f"steps of {data.fellows.rank}").open("a") as steps:
                steps.write("-" if (folder / "killed").exists() else "+")
                taken = steps.tell()
            if data.fellows.rank == 1 and taken == N_STEPS - 2:
                (folder / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return phase.loss(*batch)

        return [dataclasses.replace(phase, loss=loss)]


def test_two_workers_learn_what_one_process_learns_though_one_is_killed(
    cluster, monkeypatch, tmp_path
):
    given_rows = blocks(cluster, table())
    together = sasanet.ray.fit(model(DiesLearning), given_rows, "y", checkpoint=tmp_path)
    before, after = (tmp_path / "state" / "steps of 1").read_text().rpartition("+")[::2]
    assert len(before) == N_STEPS - 3
    assert 0 < len(after) < N_STEPS  # the checkpoint was used
    monkeypatch.setattr(given, "MOST_CELLS", 100)  # one process streams the table too
    X, alone = table().drop(columns="y"), model().fit([table()], target="y")
    assert together.n_features_in_ == 4
    np.testing.assert_allclose(together.base_value_, alone.base_value_, rtol=1e-12)
    found, expected = together.decision_function(X), alone.decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    other = model(max_epochs=N_STEPS - 1).fit([table()], target="y").decision_function(X)
    assert np.abs(other - expected).max() > 1e-2  # the check can fail


def test_a_dataset_is_explained_as_the_model_explains(cluster):
    frame = rows(60).assign(id=range(60))
    found = sasanet.ray.explain(fitted("binary"), blocks(cluster, frame), keep=["id"]).to_pandas()
    check_explained(found, frame)


def check_explained(found, frame):
    expected = explainer(fitted("binary"), keep=["id"])(frame)
    found = found.sort_values("id", ignore_index=True)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-5, atol=1e-6, check_dtype=False)


@dataclasses.dataclass(frozen=True)
class DiesExplaining(Explaining):
    """An explanation whose process is killed in its third batch, once."""

    mark: str = ""

    def frame(self, model, X, rows):
        if rows["id"].iloc[0] == 200 and not Path(self.mark).exists():
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().frame(model, X, rows)


def test_nothing_is_lost_or_doubled_when_an_actor_is_killed(cluster, mark, monkeypatch):
    monkeypatch.setattr(mapping, "rows_at_once", lambda _: 100)
    frame = pd.concat([rows(200), rows(200)], ignore_index=True).assign(id=range(400))
    work = FrameMap(fitted("binary"), DiesExplaining(mark=str(mark)), ("id",))
    found = mapping._mapped(work, blocks(cluster, frame, 4), 2).to_pandas()
    assert mark.exists()
    check_explained(found, frame)


@pytest.fixture
def mark(tmp_path):
    """A file that a killed worker leaves, so that the next one lives."""
    return tmp_path / "killed"


def test_what_cannot_be_done_is_refused_in_a_sentence(cluster):
    given_rows = blocks(cluster, table())
    with pytest.raises(InvalidInputError, match="must have the column 'z'"):
        sasanet.ray.fit(model(), given_rows, "z")
    with pytest.raises(InvalidInputError, match="100 rows for each of 6 workers"):
        sasanet.ray.fit(model(), given_rows, "y", num_workers=6)
    with pytest.raises(InvalidInputError, match="must be a Ray Dataset, got DataFrame"):
        sasanet.ray.explain(fitted("binary"), table())
