"""Several quantiles: in order for every row and every coalition, each explained; and Huber."""

import numpy as np
import pandas as pd
import pytest
import torch

from sasanet import SASANetRegressor, load
from sasanet.errors import InvalidInputError
from sasanet.network.layers import Ladder
from sasanet.objectives import huber, pinball
from sasanet.shapley import exact_shapley
from sasanet.table.quantities import weighted_quantiles
from sasanet.training.losses import prediction_losses
from small_models import r2

LEVELS = [0.1, 0.5, 0.9]
D = 11  # more features than are enumerated: the formula goes through the ladder


@pytest.fixture(scope="module")
def spread():
    """Return a table whose noise depends on a column, and a model of three quantiles."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(600, D)), columns=[f"x{j}" for j in range(D)])
    y = X["x0"] + np.exp(0.6 * X["x1"]) * random.normal(size=600)
    model = SASANetRegressor(
        objective="quantile", quantile=LEVELS, random_state=0, max_epochs=10
    ).fit(X, y)
    return X, y.to_numpy(), model


def test_they_begin_at_the_quantiles_of_the_labels(spread):
    X, y, model = spread
    expected = weighted_quantiles(y, np.ones(len(y)), LEVELS)
    np.testing.assert_allclose(model.base_value_, expected)
    np.testing.assert_array_equal(model.value(X[:4], [])[2], model.base_value_)


def test_they_never_cross(spread):
    X, _, model = spread
    masks = np.random.default_rng(0).random((40, 64, D)) < 0.5
    far = X[:40] * 1e3  # beyond all that was seen, and with weights that were not learned
    assert np.diff(model.value(far, masks), axis=2).min() > 0
    wild = 50 * torch.randn(2000, 3, generator=torch.Generator().manual_seed(0))
    base = torch.tensor([-1.5, 0.0, 1.0])
    ladder = Ladder([1.5, 1.0])
    assert (ladder(wild) + base).diff(dim=1).min() > 0
    assert (wild + base).diff(dim=1).min() < 0  # the twin: outputs as they are
    assert (ladder(torch.zeros(1, 3)) == 0).all()


def test_means_of_normal_outputs_go_through_the_ladder():
    ladder, mean = Ladder([1.5, 1.0, 0.5]), torch.tensor([0.4, -1.0, 0.3, 2.0])
    variance = torch.tensor([0.5, 1.0, 0.2, 2.0])
    draws = mean + variance.sqrt() * torch.randn(
        200_000, 4, generator=torch.Generator().manual_seed(0)
    )
    parts, by_mean, by_variance = ladder.expected(mean, variance)
    torch.testing.assert_close(parts @ ladder.mixing, ladder(draws).mean(0), atol=0.02, rtol=0)
    assert (ladder(mean) - ladder(draws).mean(0)).abs().max() > 0.05  # the twin: of the mean alone
    step = 1e-3
    up = ladder.expected(mean + step, variance)[0] - ladder.expected(mean - step, variance)[0]
    torch.testing.assert_close(by_mean, up / (2 * step), atol=2e-3, rtol=0)
    up = ladder.expected(mean, variance + step)[0] - ladder.expected(mean, variance - step)[0]
    torch.testing.assert_close(by_variance, up / (2 * step), atol=2e-3, rtol=0)


def test_each_is_explained_by_the_shapley_values_of_its_own_game(spread):
    X, _, model = spread
    found = model.explain(X[:6])
    assert found.shape == (6, D, 3)
    assert found.output_names == ("q0.1", "q0.5", "q0.9")
    assert found.units == "target"
    np.testing.assert_allclose(found.prediction, model.predict(X[:6]), atol=1e-9)

    def value(masks):
        return model.value(X[:6], np.broadcast_to(masks, (6, *masks.shape)))

    true = exact_shapley(value, D)
    assert r2(found.values, true) > 0.999
    assert r2(found.values[..., ::-1], true) < 0.95  # the twin: of another quantile
    assert found.output("q0.9").reasons(0)


def test_coverage_is_audited_and_models_are_kept(spread, tmp_path):
    X, y, model = spread
    found = model.audit(X, y, n_rows=24, n_orders=4)
    low, _, high = model.predict(X).T
    inside = np.mean((low < y) & (y <= high))
    assert abs(found["value coverage of 80 %"].value - inside) < 0.12  # of 192 of the rows
    assert found.calibration[0].base_loss == pytest.approx(found.calibration[0].loss)
    assert [b.predicted for b in found.calibration[-1].bins] == pytest.approx(LEVELS)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.explain(X[:3]).values, model.explain(X[:3]).values)


def test_losses_are_pinball_and_hubers():
    random = np.random.default_rng(0)
    y, found = random.normal(size=50), random.normal(size=(50, 3))
    outputs = torch.from_numpy(found)[:, None]
    losses = prediction_losses(outputs, torch.from_numpy(y), "quantile", LEVELS)
    np.testing.assert_allclose(losses[:, 0].numpy(), pinball(y, found, LEVELS))
    y = 5 * y
    losses = prediction_losses(outputs[..., :1], torch.from_numpy(y), "huber")[:, 0].numpy()
    np.testing.assert_allclose(losses, huber(y, found[:, 0], 1.0))
    assert (losses < (y - found[:, 0]) ** 2 - 0.1).any()  # the twin: squares


def test_outliers_hardly_move_hubers_mean():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = X[:, 0].copy()
    y[:6] = 1e4

    def error(objective):
        model = SASANetRegressor(objective=objective, random_state=0, max_epochs=4)
        return np.abs(model.fit(X, y).predict(X)[6:] - y[6:]).mean()

    assert error("huber") < 1 < error("squared")  # the twin


def test_several_quantiles_are_refused_where_they_cannot_be(spread, tmp_path):
    X, y, model = spread
    with pytest.raises(InvalidInputError, match="Several quantiles need the set network"):
        SASANetRegressor("sequence", objective="quantile", quantile=LEVELS).fit(X, y)
    with pytest.raises(InvalidInputError, match="one score"):
        model.reasons(X, 0.0)
    with pytest.raises(InvalidInputError, match="several quantiles"):
        model.to_onnx(tmp_path / "model.onnx")


def test_quantiles_in_an_array_are_saved(tmp_path):
    X = np.arange(40.0).reshape(-1, 1)
    settings = {"max_epochs": 1, "teacher_weight": 0, "random_state": 0}
    model = SASANetRegressor(objective="quantile", quantile=np.array(LEVELS), **settings)
    model.fit(X, X[:, 0]).save(tmp_path / "model")
    assert load(tmp_path / "model").quantile == LEVELS
