"""Rows to learn from."""

from __future__ import annotations

from functools import partial

import pytest

from training_rows import make_rows


@pytest.fixture
def rows(make_cells):
    return partial(make_rows, make_cells)
