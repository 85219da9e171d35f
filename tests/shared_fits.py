"""The blocks of the pages fit the same model of the same rows again and again: here it is once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from typing import Any

import joblib
import pandas as pd
import pytest

from sasanet.estimator.fitting.given import Given
from sasanet.estimator.tabular import TabularModel


@cache
def _kept() -> dict[str, dict[str, Any]]:
    return {}


def _fingerprint(model: TabularModel, given: Given) -> str:
    return joblib.hash((type(model).__name__, model.get_params(deep=False), vars(given)))


@contextmanager
def shared_fits() -> Iterator[None]:
    """Fit a model once for all pages; what a page itself repeats, it really repeats."""
    fit, made = TabularModel._fit, set()

    def once(self: Any, given: Given, validation: Any, checkpoint: Any) -> Any:
        in_memory = isinstance(given.X, pd.DataFrame) and given.target is None
        name = _fingerprint(self, given) if in_memory else None
        if name is None or name in made or validation is not None or checkpoint is not None:
            return fit(self, given, validation, checkpoint)
        made.add(name)
        if name not in _kept():
            fit(self, given, validation, checkpoint)
            _kept()[name] = {key: deepcopy(v) for key, v in vars(self).items() if key[-1] == "_"}
        self._keep(deepcopy(_kept()[name]))
        return self

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TabularModel, "_fit", once)
        yield
