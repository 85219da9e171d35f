"""TabM (the ``tabm`` package) as an estimator: the network that leads recent tabular benchmarks.

The network is its makers', with their sizes: 32 members, piecewise-linear embeddings of numbers (48
quantile bins, 16 wide, their version B), the package's width and blocks. Preparing the columns and
the training loop are ours, after their example: quantile-normal numbers, k losses, AdamW, batches
of 256, patience of 16 epochs, probabilities averaged over members.
"""

from __future__ import annotations

import copy
import math
import time
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, QuantileTransformer
from torch import Tensor, nn
from torch.nn import functional as F

from sasanet.malloc import steady_heap

MEMBERS = 32
BINS, EMBEDDING = 48, 16
PATIENCE = 16  # epochs
BATCH = 256


class TabMModel:
    """A classifier or regressor; ``fit`` is told which rows decide when to stop."""

    def __init__(
        self,
        regression: bool,
        seed: int,
        seconds: float,
        learning_rate: float,
        dropout: float,
        weight_decay: float,
    ) -> None:
        self.regression, self.seed, self.seconds = regression, seed, seconds
        self.learning_rate, self.dropout = learning_rate, dropout
        self.weight_decay = weight_decay

    def fit(self, X: pd.DataFrame, y: pd.Series, held_out: NDArray[np.bool_]) -> TabMModel:
        """Train until the held-out loss has not improved for a while, or time is over."""
        self._learn_columns(X)
        target = self._read_target(y)
        rows = self._tensors(X)
        held = torch.from_numpy(held_out)
        train = [part[~held] for part in (*rows, target)]
        judge = [part[held] for part in (*rows, target)]
        with torch.random.fork_rng(devices=[]), steady_heap():
            torch.manual_seed(self.seed)
            self.network = self._make(train[0])
            self._train(train, judge)
        if not self.regression:
            self.predict_proba = self._predict_proba
        return self

    def predict(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Return numbers, in the target's units."""
        found: NDArray[np.float64] = self._outputs(X).mean(1)[:, 0].double().numpy()
        return found * self.scale + self.mean

    def _predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._outputs(X).softmax(-1).mean(1).double().numpy()
        return found

    # --- columns ------------------------------------------------------------------------------

    def _learn_columns(self, X: pd.DataFrame) -> None:
        self.numbers = [c for c in X if pd.api.types.is_numeric_dtype(X[c])]
        self.levels = [c for c in X if c not in self.numbers]
        scale = QuantileTransformer(output_distribution="normal", random_state=0)
        fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        self.scaler = make_pipeline(fill, scale).fit(X[self.numbers]) if self.numbers else None
        self.coder = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
        )
        if self.levels:
            self.coder.fit(X[self.levels].astype(object))

    def _tensors(self, X: pd.DataFrame) -> tuple[Tensor, Tensor]:
        numbers, codes = np.empty((len(X), 0)), np.empty((len(X), 0))
        if self.scaler is not None:
            numbers = self.scaler.transform(X[self.numbers])
        if self.levels:
            codes = self.coder.transform(X[self.levels].astype(object)) + 1  # 0: unknown
        return torch.tensor(numbers, dtype=torch.float32), torch.tensor(codes, dtype=torch.long)

    def _read_target(self, y: pd.Series) -> Tensor:
        if self.regression:
            self.mean, self.scale = float(y.mean()), float(y.std())
            return torch.tensor(((y - self.mean) / self.scale).to_numpy(), dtype=torch.float32)
        self.mean, self.scale = 0.0, 1.0
        self.classes_, codes = np.unique(y, return_inverse=True)
        return torch.from_numpy(codes)

    # --- network ------------------------------------------------------------------------------

    def _make(self, numbers: Tensor) -> nn.Module:
        from rtdl_num_embeddings import PiecewiseLinearEmbeddings, compute_bins
        from tabm import TabM

        # Bins need two different values in every column; marks of gaps are among the columns.
        self.varied = [j for j in range(numbers.shape[1]) if len(numbers[:, j].unique()) > 1]
        embedded = None
        if self.varied:
            n_bins = max(2, min(BINS, len(numbers) - 1))
            bins = compute_bins(numbers[:, self.varied], n_bins=n_bins)
            embedded = PiecewiseLinearEmbeddings(bins, EMBEDDING, activation=False, version="B")
        network: nn.Module = TabM.make(
            n_num_features=len(self.varied),
            num_embeddings=embedded,
            cat_cardinalities=[len(c) + 1 for c in self.coder.categories_] if self.levels else [],
            d_out=1 if self.regression else len(self.classes_),
            k=MEMBERS,
            dropout=self.dropout,
        )
        return network

    def _forward(self, numbers: Tensor, codes: Tensor) -> Tensor:
        numbers = numbers[:, self.varied]
        given = numbers if self.varied else None, codes if codes.shape[1] else None
        found: Tensor = self.network(*given)
        return found

    def _loss(self, numbers: Tensor, codes: Tensor, target: Tensor) -> Tensor:
        """Return the mean over members of each one's own loss."""
        outputs = self._forward(numbers, codes)
        many = target[:, None].expand(outputs.shape[:2]).flatten()
        if self.regression:
            return F.mse_loss(outputs.flatten(), many)
        return F.cross_entropy(outputs.flatten(0, 1), many)

    def _train(self, train: list[Tensor], judge: list[Tensor]) -> None:
        optimizer = torch.optim.AdamW(
            self.network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay
        )
        best, since, state = math.inf, 0, copy.deepcopy(self.network.state_dict())
        start = time.monotonic()
        while since < PATIENCE and time.monotonic() - start < self.seconds:
            self.network.train()
            for rows in torch.randperm(len(train[0])).split(BATCH):
                loss = self._loss(*(part[rows] for part in train))
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
                optimizer.step()
            self.network.eval()
            with torch.no_grad():
                now = self._loss(*judge).item()
            since += 1
            if now < best:
                best, since, state = now, 0, copy.deepcopy(self.network.state_dict())
        self.network.load_state_dict(state)
        self.network.eval()

    def _outputs(self, X: pd.DataFrame) -> Tensor:
        rows = self._tensors(X)
        with torch.no_grad():
            parts: list[Any] = [
                self._forward(*part)
                for part in zip(*(tensor.split(4_096) for tensor in rows), strict=True)
            ]
        return torch.cat(parts)
