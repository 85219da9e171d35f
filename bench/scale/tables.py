"""Large tables in temporary folders of Parquet files, written part by part."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bench.tables import data
from sasanet.arrays import Floats, Masks

TARGET = "y"
N_COLUMNS, CORRELATION, NOISE = 28, 0.3, 1.0
ROWS_AT_ONCE = 200_000
N_TEST = 50_000
_JITTER = 0.02  # standard deviations of a column
_FEW_VALUES = 10  # of a column that counts or grades something: it keeps them
_GAME_SEED, _TEST_SEED = 0, 2**31 - 1

Maker = Callable[[int, np.random.Generator], pd.DataFrame]  # so many rows, with the target


@dataclass(frozen=True)
class LinearGame:
    """y = b·x + ε with normal columns, any two of them equally correlated."""

    slopes: Floats
    correlation: float

    @classmethod
    def known(cls, n_columns: int = N_COLUMNS) -> LinearGame:
        """Return the game of all tables; b·x has variance 1."""
        random = np.random.default_rng(_GAME_SEED)
        slopes = random.choice([-1.0, 1.0], n_columns) * random.uniform(0.5, 1.5, n_columns)
        rho = CORRELATION
        variance = (1 - rho) * (slopes @ slopes) + rho * slopes.sum() ** 2
        return cls(slopes / np.sqrt(variance), rho)

    def rows(self, n_rows: int, random: np.random.Generator) -> pd.DataFrame:
        """Draw rows with their labels."""
        d, rho = len(self.slopes), self.correlation
        common = random.standard_normal((n_rows, 1), dtype=np.float32)
        own = random.standard_normal((n_rows, d), dtype=np.float32)
        cells = np.sqrt(np.float32(1 - rho)) * own + np.sqrt(np.float32(rho)) * common
        table = pd.DataFrame(cells, columns=[f"x{j}" for j in range(d)])
        noise = random.normal(0, NOISE, n_rows)
        return table.assign(**{TARGET: cells.astype(np.float64) @ self.slopes + noise})

    def value(self, cells: Floats, known: Masks) -> Floats:
        """Return E[y | x_S]: cells [n, d], known [m, d] → [n, m].

        Every absent column is expected at w_s Σ_S x with w_s = ρ / (1 + (s − 1) ρ), s = |S|.
        """
        seen = known.astype(float)
        absent = (1 - seen) @ self.slopes
        return cells @ (seen * self.slopes).T + absent * self._weight(seen.sum(1)) * (
            cells @ seen.T
        )

    def shapley(self, cells: Floats) -> Floats:
        """Return the Shapley values of E[y | x_S]: [n, d] → [n, d].

        By the size s of S among the m = d − 1 other columns, E[Σ_S x] = (s / m) X and
        E[B_S X_S] = (s / m) Σ b x + s (s − 1) / (m (m − 1)) (B X − Σ b x).
        """
        b, m = self.slopes, len(self.slopes) - 1
        B, X = b.sum() - b, cells.sum(1, keepdims=True) - cells  # of the others: [d], [n, d]
        same = cells @ b[:, None] - cells * b
        phi = np.zeros_like(cells)
        for s in range(m + 1):
            share, pairs = s / m, s * (s - 1) / (m * (m - 1))
            both = share * same + pairs * (B * X - same)  # E[B_S X_S]
            left = B * share * X - both  # E[(B − B_S) X_S]: what i's absence keeps …
            after = left + B * (1 - share) * cells
            before = left + b * share * X  # … and what it adds while absent
            phi += b * cells + self._weight(s + 1) * after - self._weight(s) * before
        return phi / (m + 1)

    def _weight(self, size: Floats | float) -> Floats:
        rho = self.correlation
        return np.asarray(rho / (1 + (np.asarray(size, dtype=float) - 1) * rho))


def higgs() -> tuple[Maker, pd.DataFrame]:
    """Return a maker of Higgs rows, drawn with replacement and jittered, and rows to judge by.

    Those that judge are test rows of a split, none of which is ever drawn. Columns of a few values
    (the tags of jets) keep them.
    """
    split = next(data.splits("higgs_64k"))
    X, y = split.X_train, np.asarray(split.y_train)
    cells = X.to_numpy(dtype=np.float32)
    scale = (_JITTER * X.std() * (X.nunique() > _FEW_VALUES)).to_numpy(dtype=np.float32)

    def make(n_rows: int, random: np.random.Generator) -> pd.DataFrame:
        drawn = random.integers(len(cells), size=n_rows)
        noise = random.standard_normal((n_rows, len(scale)), dtype=np.float32)
        table = pd.DataFrame(cells[drawn] + scale * noise, columns=X.columns)
        return table.assign(**{TARGET: y[drawn]})

    return make, split.X_test.assign(**{TARGET: np.asarray(split.y_test)})


def ids(n_rows: int, random: np.random.Generator) -> pd.DataFrame:
    """Draw rows of two numbers and an id that never comes again."""
    x = random.standard_normal((n_rows, 2)).astype(np.float32)
    names = [f"{number:016x}" for number in random.integers(2**63, size=n_rows)]
    y = x.sum(1) + random.normal(0, NOISE, n_rows)
    return pd.DataFrame({"id": names, "a": x[:, 0], "b": x[:, 1], TARGET: y})


@contextmanager
def written(make: Maker, n_rows: int) -> Iterator[Path]:
    """Yield a folder of Parquet files with so many rows; it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="sasanet-bench-") as name:
        for start in range(0, n_rows, ROWS_AT_ONCE):
            part = make(min(ROWS_AT_ONCE, n_rows - start), np.random.default_rng(start))
            part.to_parquet(Path(name) / f"{start:09d}.parquet", row_group_size=ROWS_AT_ONCE)
        yield Path(name)


def unseen(make: Maker) -> pd.DataFrame:
    """Return rows that no table holds."""
    return make(N_TEST, np.random.default_rng(_TEST_SEED))
