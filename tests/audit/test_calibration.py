"""v(S) beside labels: calibrated outputs are told from those that are too bold."""

import numpy as np
import pytest
import torch

from sasanet.audit import calibration
from sasanet.table.target import Target


def labelled(task, n=2_000):
    """Return outputs that are calibrated, and labels drawn from what they say."""
    random = np.random.default_rng(3)
    raw = 1.5 * random.standard_normal((n, 3 if task == "multiclass" else 1))
    if task == "binary":
        labels = random.random(n) < 1 / (1 + np.exp(-raw[:, 0]))
        return raw, labels.astype(float), Target(task, (0.0,), 1.0, (0, 1), np.empty(0))
    if task == "multiclass":
        labels = (raw + random.gumbel(size=raw.shape)).argmax(1)
        target = Target(task, (0.0,) * 3, 1.0, (0, 1, 2), np.empty(0))
        return raw, labels.astype(float), target
    labels = raw[:, 0] + random.standard_normal(n)
    return raw, labels, Target(task, (5.0,), 2.0, (), np.empty(0))


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_a_calibrated_v_is_told_from_one_that_is_too_bold(task):
    raw, labels, target = labelled(task)
    counts = np.ones(len(raw))
    good, bold = (
        calibration._one_size(4, torch.tensor(factor * raw[:, None]), labels, target, counts)[0]
        for factor in (1.0, 3.0)
    )
    assert good.noise < good.noise_high < 2 * good.noise
    assert not good.is_beyond_chance
    assert bold.is_beyond_chance
    assert good.slope_low < 1 < good.slope_high
    assert bold.error_low > 3 * bold.noise
    assert bold.slope_high < 0.9
    assert good.loss_low < good.loss < good.loss_high < bold.loss_low
    assert good.gain_low > 0
    assert len(good.bins) == 10
    assert {part.count for part in good.bins} == {raw.size // 10}
    inside = [part.low <= part.predicted <= part.high for part in good.bins]
    assert sum(inside) >= 8
    assert sum(part.low <= part.predicted <= part.high for part in bold.bins) <= 5


def test_equal_predictions_are_one_bin():
    raw, labels, target = labelled("binary")
    nothing, counts = torch.zeros(len(raw), 1, 1), np.ones(len(raw))
    found, *_ = calibration._one_size(0, nothing, labels, target, counts)
    assert len(found.bins) == 1
    assert np.isnan(found.slope)
    assert found.gain == pytest.approx(0)


def test_calibration_starts_at_the_base_value_and_improves(report):
    first, last = report.calibration[0], report.calibration[-1]
    assert first.features == 0
    assert first.loss == pytest.approx(first.base_loss)
    assert last.features == 7
    assert last.loss < 0.5 * last.base_loss
    assert last.n_rows == 344
    assert [size.features for size in report.calibration] == list(range(8))  # every size
    assert report.calibration_frame().loc[7, "loss"] == last.loss
