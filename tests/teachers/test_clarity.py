"""How clear the labels of quantiles are: what of their loss other rows foresee."""

import numpy as np
import pytest

from sasanet import Architecture, SASANetRegressor
from sasanet.estimator.fitting import soft_labels
from sasanet.teachers.clarity import clarity_of_quantiles
from sasanet.teachers.data import TeacherData
from small_models import SMALL

LEVELS = (0.1, 0.5, 0.9)
N = 600


def table(noise: float) -> TeacherData:
    random = np.random.default_rng(0)
    cells = random.normal(size=(N, 3)).astype(np.float32)
    labels = cells[:, 0] + noise * random.normal(size=N)
    return TeacherData(cells, labels, np.ones(N), [None] * 3, 0)


def test_it_is_the_share_that_is_foreseen():
    found = [clarity_of_quantiles(table(noise), LEVELS, 0) for noise in (0.05, 0.5, 20.0)]
    assert found[0] > 0.85
    assert 0.3 < found[1] < 0.6  # of the spread sqrt(1.25) a known location leaves 0.5
    assert found[2] < 0.1


def test_too_few_rows_or_too_little_time_tell_nothing():
    data = table(0.05)
    weights = np.arange(N) < 30
    few = TeacherData(data.cells, data.labels, weights.astype(float), data.levels, 0)
    assert clarity_of_quantiles(few, LEVELS, 0) == 0
    assert clarity_of_quantiles(data, LEVELS, 0, time_limit=-1.0) == 0
    assert clarity_of_quantiles(data, LEVELS, 0, time_limit=60.0) > 0.85  # the twin


@pytest.mark.parametrize("network", [Architecture(**SMALL)])
def test_clear_labels_are_learned_with_little_dropout(network, monkeypatch):
    data, asked = table(0.1), []
    real = soft_labels.clarity_of_quantiles

    def noted(*given):
        asked.append(real(*given))
        return asked[-1]

    monkeypatch.setattr(soft_labels, "clarity_of_quantiles", noted)

    def dropout(**given):
        settings = {"max_epochs": 1, "random_state": 0, "quantile": 0.5, "objective": "quantile"}
        model = SASANetRegressor(network, **settings | given).fit(data.cells, data.labels)
        return next(layer.rate for layer in model.network_.marginal.rho if hasattr(layer, "rate"))

    assert dropout() < 0.1
    assert len(asked) == 1
    assert dropout(teacher_weight=0) == pytest.approx(0.3)  # the twin: nobody is asked
    dropout(objective="huber")
    assert len(asked) == 1
