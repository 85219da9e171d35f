"""A fit that is stopped anywhere and called again ends with the weights it would have had."""

import numpy as np
import pandas as pd
import pytest
import torch

from sasanet import Architecture, SASANetRegressor
from sasanet.errors import InvalidInputError, SavedFileError
from sasanet.estimator.fitting import given
from sasanet.training import checkpoint as checkpoints
from sasanet.training import loop

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(240, 3)), columns=["a", "b", "c"])
Y = X["a"] * X["b"] + X["c"]
QUICK = {"network": Architecture(width=4, marginal_layers=(4,), dropout=0.1), "random_state": 0}
QUICK |= {"max_epochs": 4, "batch_size": 64, "teacher_weight": 0.5}
SEQUENCE = Architecture(
    width=4, marginal="sequence", attribution="attention", marginal_layers=(4,), attribution_steps=6
)


class Killed(BaseException):
    """The process is gone."""


pytestmark = pytest.mark.usefixtures("few_trees")  # labels are the same whoever softens them


@pytest.fixture(autouse=True)
def always_due(monkeypatch):
    monkeypatch.setattr(checkpoints.Checkpoint, "due", lambda _: True)


def kill_after(monkeypatch, n_steps):
    """Let the process die at a step, before or after its checkpoint is written."""
    left, step = [n_steps], loop.AdamW.step

    def dying(self, rate):
        if not left[0]:
            raise Killed
        left[0] -= 1
        step(self, rate)

    monkeypatch.setattr(loop.AdamW, "step", dying)


def weights(model):
    return torch.cat([p.detach().ravel() for p in model.network_.parameters()])


def fit(folder=None, source=None, **fields):
    model = SASANetRegressor(**(QUICK | fields))
    if source is not None:
        return model.fit(source, target="y", checkpoint=folder)
    return model.fit(X, Y, checkpoint=folder)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"validation_fraction": 0.25, "patience": 2, "max_epochs": 6},
        {"teacher_weight": "auto"},
        {"network": SEQUENCE, "teacher_weight": 0, "max_epochs": 2},
    ],
    ids=["default", "early stopping", "by rule", "two phases"],
)
def test_a_killed_fit_goes_on_to_the_same_weights(tmp_path, monkeypatch, fields):
    whole = fit(**fields)
    for n_steps in (0, 4, 5):  # an epoch has four
        with monkeypatch.context() as patch:
            kill_after(patch, n_steps)
            with pytest.raises(Killed):
                fit(tmp_path / str(n_steps), **fields)
        again = fit(tmp_path / str(n_steps), **fields)
        assert torch.equal(weights(again), weights(whole)), n_steps
        losses = [[r["train_loss"] for r in m.history_] for m in (again, whole)]
        assert losses[0] == losses[1]


def test_a_fit_that_had_ended_is_not_repeated(tmp_path, monkeypatch):
    whole = fit(tmp_path)
    kill_after(monkeypatch, 0)
    again = fit(tmp_path)
    assert torch.equal(weights(again), weights(whole))
    assert [r["steps"] for r in again.history_] == [r["steps"] for r in whole.history_]


def test_without_the_generators_the_weights_would_differ(tmp_path, monkeypatch):
    whole = fit()
    with monkeypatch.context() as patch:
        kill_after(patch, 5)
        with pytest.raises(Killed):
            fit(tmp_path)
    monkeypatch.setattr(loop, "unpack_generators", lambda *_: None)  # the twin
    assert not torch.equal(weights(fit(tmp_path)), weights(whole))


def test_a_fit_from_a_source_goes_on_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr(given, "MOST_CELLS", 100)
    parts = [X[:100].assign(y=Y), X[100:].assign(y=Y)]
    whole = fit(source=parts)
    with monkeypatch.context() as patch:
        kill_after(patch, 6)
        with pytest.raises(Killed):
            fit(tmp_path / "c", source=parts)
    assert torch.equal(weights(fit(tmp_path / "c", source=parts)), weights(whole))


def test_soft_labels_are_made_once(tmp_path, monkeypatch):
    from sasanet.estimator.fitting import soft_labels

    fit(tmp_path)
    monkeypatch.setattr(soft_labels, "soften_labels", None)
    fit(tmp_path)


@pytest.mark.parametrize("fields", [{"max_epochs": 5}, {"random_state": 1}])
def test_a_checkpoint_of_another_fit_is_refused(tmp_path, fields):
    fit(tmp_path, teacher_weight=0)
    with pytest.raises(SavedFileError, match="the same data, parameters and version"):
        fit(tmp_path, **({"teacher_weight": 0} | fields))
    with pytest.raises(SavedFileError, match="the same data"):
        SASANetRegressor(**(QUICK | {"teacher_weight": 0})).fit(X, Y + 1, checkpoint=tmp_path)


def test_damage_and_missing_seeds_are_one_sentence(tmp_path):
    with pytest.raises(InvalidInputError, match="random_state must be a whole number"):
        fit(tmp_path, random_state=None)
    (tmp_path / "training-0.safetensors").write_bytes(b"half")
    with pytest.raises(SavedFileError, match="must be a checkpoint of this package"):
        fit(tmp_path)
    with pytest.raises(InvalidInputError, match="checkpoint must be a folder"):
        fit(tmp_path / "training-0.safetensors")


@pytest.mark.parametrize("place", [5, b"x", "", []])
def test_places_that_are_none_are_refused_before_anything_is_read(place):
    for name in ("checkpoint", "scratch"):
        with pytest.raises(InvalidInputError, match="path must be"):
            SASANetRegressor(**QUICK).fit(None, None, **{name: place})
