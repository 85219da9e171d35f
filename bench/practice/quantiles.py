"""Do intervals hold what they promise? The share of test labels inside intervals of 80 %."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bench.tables import data
from sasanet import SASANetRegressor
from sasanet.objectives import pinball

QUANTILES = [0.1, 0.5, 0.9]
KNOWN_ROWS = 20_000


def known_spread() -> data.Split:
    """Return numbers whose spread follows from a feature, so that the interval must too."""
    random = np.random.default_rng(0)
    x = random.normal(size=(2 * KNOWN_ROWS, 6))
    spread = np.exp(0.5 * x[:, 0])
    y = x[:, 1] + np.sin(2 * x[:, 2]) + spread * random.normal(size=len(x))
    X = pd.DataFrame(x, columns=[f"x{j}" for j in range(6)])
    half = slice(0, KNOWN_ROWS), slice(KNOWN_ROWS, None)
    return data.Split(X[half[0]], y[half[0]], X[half[1]], y[half[1]])


def coverage(name: str) -> dict[str, Any]:
    """Return the share of test labels inside, and how much of the pinball loss is explained."""
    split = known_spread() if name == "known_spread" else next(data.splits(name.replace("_", " ")))
    y, wanted = np.asarray(split.y_test, dtype=float), np.asarray(split.y_train, dtype=float)
    model = SASANetRegressor(objective="quantile", quantile=QUANTILES, random_state=0)
    found = model.fit(split.X_train, wanted).predict(split.X_test)
    constant = np.broadcast_to(np.quantile(wanted, QUANTILES), found.shape)
    loss, least = (pinball(y, guess, QUANTILES).mean() for guess in (found, constant))
    return {
        "rows": len(wanted),
        "test_rows": len(y),
        "inside": float(((found[:, 0] < y) & (y <= found[:, 2])).mean()),
        "below": [float((y <= found[:, k]).mean()) for k in range(3)],
        "crossing": int((np.diff(found, axis=1) <= 0).sum()),
        "width": float(np.mean(found[:, 2] - found[:, 0])),
        "width_constant": float(np.ptp(constant[0])),
        "explained": float(1 - loss / least),
    }
