"""The class users hold: :class:`FastSHAP` learns to explain a model or a value function.

Sizes: n rows, d features, m coalitions, K outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.explanation.explanation import Explanation
from sasanet.network.coalitions import add_up
from sasanet.network.layers import GLOBAL_GENERATOR
from sasanet.posthoc.black_box import Predict
from sasanet.posthoc.fastshap.games import (
    UNITS,
    BatchGame,
    PositionedRows,
    TableValue,
    read_predictions,
    surrogate_game,
    table_game,
)
from sasanet.posthoc.fastshap.learning import (
    CoalitionNetwork,
    attributions,
    ends_of,
    explainer_loss,
    learn,
    surrogate_loss,
)
from sasanet.posthoc.to_explanation import make_explanation
from sasanet.shapley.game import names_to_mask, read_coalitions
from sasanet.table.encoder import TableEncoder
from sasanet.table.reading import read_table
from sasanet.training.loop import BatchLoss, Phase, Rows
from sasanet.validation import check_integer

Task = Literal["binary", "multiclass", "regression"]
_CELLS_AT_ONCE = 1 << 18  # of rows times coalitions
_SCALE_ROWS = 1000  # enough to estimate the scale of the game


@dataclass(frozen=True)
class _TrainingTable:
    """The rows to learn on, their columns in the order of the encoder, and their cells [n, d]."""

    encoder: TableEncoder
    table: pd.DataFrame
    cells: Tensor


@dataclass(frozen=True)
class _Outputs:
    """What the outputs of a game are called."""

    names: tuple[Any, ...]
    units: str


class FastSHAP:
    """Train a network once that explains every later row in one pass.

    After :meth:`fit` the game is that of a surrogate network, which learns E[f(x) | x_S] on the
    scale of log-odds, log-probabilities or the target. After :meth:`fit_value` it is the given
    value function. A missing cell is an absent player and gets attribution 0.

    Parameters
    ----------
    width : int
        Hidden units per layer of both networks.
    pairs : int
        Coalitions per row and training step of the explainer, each with its complement.
    surrogate_steps, explainer_steps : int
        Training steps of each network.
    batch_size : int
        Rows per training step.
    learning_rate : float
        Peak learning rate: a short warm-up, then half a cosine down to zero.
    random_state : int
        Seed of weights, batches and coalitions.
    verbose : bool
        Whether to show progress bars.

    Attributes
    ----------
    history_ : dict of list of float
        The mean loss of every epoch, by network.
    units_ : str
        Unit of the attributions.
    output_names_ : tuple
        Names of the outputs; empty if none were given.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> fast = FastSHAP(width=16, surrogate_steps=20, explainer_steps=20)
    >>> e = fast.fit(X, lambda X: X[:, 0] * X[:, 1], "regression").explain(X[:5])
    >>> e
    <Explanation: 5 rows × 3 features, one output, in target>
    >>> bool(np.allclose(e.prediction, fast.value(X[:5], np.ones(3, dtype=bool))))
    True
    """

    history_: dict[str, list[float]]
    units_: str
    output_names_: tuple[Any, ...]
    _encoder: TableEncoder
    _make_game: Callable[[pd.DataFrame], BatchGame]
    _explainer: CoalitionNetwork
    _scale: float
    _one_output: bool

    def __init__(  # noqa: PLR0913 - the constructor is where settings are kept
        self,
        *,
        width: int = 128,
        pairs: int = 16,
        surrogate_steps: int = 3000,
        explainer_steps: int = 3000,
        batch_size: int = 128,
        learning_rate: float = 2e-3,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.width = width
        self.pairs = pairs
        self.surrogate_steps = surrogate_steps
        self.explainer_steps = explainer_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, predict: Predict, task: Task, output_names: Sequence[Any] = ()) -> Self:
        """Learn to explain a model: first a surrogate of its predictions, then φ.

        If it fails or is interrupted, an earlier fit stays as it was.

        Parameters
        ----------
        X : table (n, d)
            Rows to learn on, without labels: numbers, words, missing cells.
        predict : callable
            X → probabilities (n,) of the second class or (n, 2) for ``"binary"``, (n, C) for
            ``"multiclass"``, numbers (n,) for ``"regression"``. It is called once, with X.
        task : {"binary", "multiclass", "regression"}
            What the predictions are.
        output_names : sequence
            Class names for ``"multiclass"``; by default their positions.

        Returns
        -------
        FastSHAP
            Itself, ready to :meth:`explain`.
        """
        self._check()
        training = _learn_columns(X)
        targets = read_predictions(predict(X), task, len(training.table))
        generator = torch.Generator().manual_seed(self.random_state)
        game, losses = self._learn_surrogate(training, targets, task, generator)
        outputs = _Outputs(tuple(output_names), UNITS[task])
        history = {"surrogate": losses}
        return self._learn_explainer(training, lambda _: game, outputs, generator, history)

    def fit_value(
        self, X: Any, value: TableValue, output_names: Sequence[Any] = (), units: str = "log-odds"
    ) -> Self:
        """Learn the Shapley values of a given value function; no surrogate is needed.

        If it fails or is interrupted, an earlier fit stays as it was.

        Parameters
        ----------
        X : table (n, d)
            Rows to learn on.
        value : callable
            Rows (a DataFrame) and boolean coalitions (n, m, d) → v(S) as (n, m) or (n, m, K), such
            as ``model.value`` of a fitted SASANet. :meth:`explain` calls it too, for v(∅) and v(N).
        output_names : sequence
            Names of the outputs; by default their positions.
        units : str
            Unit of v.

        Returns
        -------
        FastSHAP
            Itself, ready to :meth:`explain`.
        """
        self._check()
        training = _learn_columns(X)
        generator = torch.Generator().manual_seed(self.random_state)
        outputs = _Outputs(tuple(output_names), units)
        return self._learn_explainer(
            training, lambda table: table_game(value, table), outputs, generator, {}
        )

    def explain(self, X: Any) -> Explanation:
        """Explain rows in one pass.

        Parameters
        ----------
        X : table (n, d)
            Rows to explain.

        Returns
        -------
        Explanation
            ``base_values + values.sum(axis=1)`` is v(N), which for a surrogate is its estimate of
            the prediction.
        """
        table, cells = self._encode(X)
        game, found = self._make_game(table), []
        with torch.no_grad():
            for rows in _chunks(cells, 2):
                empty, full = game(rows, ends_of(rows)).unbind(1)
                learned = attributions(self._explainer, rows.cells).double() * self._scale
                found.append((add_up(learned, full - empty, rows.present), empty))
        values, base = (torch.cat(part).numpy() for part in zip(*found, strict=True))
        if self._one_output:
            values, base = values[..., 0], base[:, 0]
        return make_explanation(values, base, table, self.output_names_, self.units_)

    def value(self, X: Any, coalitions: Any) -> Floats:
        """Return v(S) of the explained game; ``game_of(fast, X)`` is the same as a value function.

        Parameters
        ----------
        X : table (n, d)
            Rows.
        coalitions : bool array (d,), (n, d) or (n, m, d), or list of feature names
            The known features: for all rows, per row, or m times per row.

        Returns
        -------
        ndarray (n,) or (n, m), with a last axis of length K for several outputs
        """
        table, cells = self._encode(X)
        n, d = cells.shape
        coalitions = names_to_mask(coalitions, self._encoder.names)
        remedy = "mark the known features with True, or give a list of names"
        masks = torch.from_numpy(np.array(read_coalitions(coalitions, n, d, remedy)))
        game, found = self._make_game(table), []
        with torch.no_grad():
            for rows in _chunks(cells, masks.shape[1]):
                of_rows = masks[rows.positions] if len(masks) > 1 else masks
                found.append(game(rows, of_rows & rows.present[:, None]))
        values: Floats = torch.cat(found).numpy()
        values = values[..., 0] if self._one_output else values
        return values if np.ndim(coalitions) == 3 else values[:, 0]

    # --- inside -------------------------------------------------------------------------------

    def _check(self) -> None:
        for name in ("width", "pairs", "surrogate_steps", "explainer_steps", "batch_size"):
            check_integer(name, getattr(self, name), 1, None, "omit it for the default")
        check_integer("random_state", self.random_state, 0, None, "give a fixed seed such as 0")
        if not 0 < self.learning_rate < 1:
            raise InvalidInputError(
                f"learning_rate must be between 0 and 1, got {self.learning_rate!r}; "
                "omit it for the default"
            )

    def _encode(self, X: Any) -> tuple[pd.DataFrame, Tensor]:
        if not hasattr(self, "_encoder"):
            raise InvalidInputError(
                "FastSHAP must be fitted first, got one that is not; call fit or fit_value"
            )
        return _encode(self._encoder, X)

    def _learn_surrogate(
        self, training: _TrainingTable, targets: Floats, task: Task, generator: torch.Generator
    ) -> tuple[BatchGame, list[float]]:
        """Train v(x_S) on the predictions; return its game and the loss of each epoch."""
        mean, scale = 0.0, 1.0
        if task == "regression":
            mean, scale = float(targets.mean()), float(targets.std()) or 1.0
        scaled = torch.from_numpy(((targets - mean) / scale).astype(np.float32))
        rows = Rows(training.cells, scaled, torch.ones(len(training.cells)))
        n_outputs = targets.shape[1] if task == "multiclass" else 1
        network = self._make_network(training.encoder, n_outputs)
        phase = self._phase("surrogate", surrogate_loss(task), self.surrogate_steps)
        losses = learn(network, rows, phase, generator, self.verbose)
        return surrogate_game(network, task, mean, scale), losses

    def _learn_explainer(
        self,
        training: _TrainingTable,
        make_game: Callable[[pd.DataFrame], BatchGame],
        outputs: _Outputs,
        generator: torch.Generator,
        history: dict[str, list[float]],
    ) -> Self:
        """Train φ on the game of these rows, then keep everything at once."""
        game, rows = make_game(training.table), _rows(training.cells, 0)
        scale, n_outputs = _scale_of(game, rows, generator)
        network = self._make_network(training.encoder, training.cells.shape[1] * n_outputs)
        loss = explainer_loss(game, scale, self.pairs)
        phase = self._phase("explainer", loss, self.explainer_steps)
        losses = learn(network, rows, phase, generator, self.verbose)
        # One assignment, last of all: until then an earlier fit stays complete.
        self.__dict__ = vars(self) | {
            "history_": {**history, "explainer": losses},
            "units_": outputs.units,
            "output_names_": outputs.names,
            "_encoder": training.encoder,
            "_make_game": make_game,
            "_explainer": network,
            "_scale": scale,
            "_one_output": n_outputs == 1,
        }
        return self

    def _make_network(self, encoder: TableEncoder, n_outputs: int) -> CoalitionNetwork:
        with GLOBAL_GENERATOR, torch.random.fork_rng(devices=[]):  # weights without a global seed
            torch.manual_seed(self.random_state)
            return CoalitionNetwork(encoder, self.width, n_outputs)

    def _phase(self, name: str, loss: BatchLoss, steps: int) -> Phase:
        return Phase(
            name=name,
            loss=loss,
            steps=steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
        )


def _learn_columns(X: Any) -> _TrainingTable:
    encoder = TableEncoder().fit(X)
    encoder.refuse_bags("FastSHAP")
    return _TrainingTable(encoder, *_encode(encoder, X))


def _encode(encoder: TableEncoder, X: Any) -> tuple[pd.DataFrame, Tensor]:
    """Return the table with its columns in the order of training, and its cells [n, d]."""
    table = read_table(X)
    cells = torch.from_numpy(encoder.transform(table))
    return (table[list(encoder.names)] if encoder.named else table), cells


def _scale_of(
    game: BatchGame, rows: PositionedRows, generator: torch.Generator
) -> tuple[float, int]:
    """Return the root mean square of v(N) − v(∅) on some rows, and the number of outputs."""
    some = rows[torch.randperm(len(rows), generator=generator)[:_SCALE_ROWS]]
    with torch.no_grad():
        totals = game(some, ends_of(some)).diff(dim=1)[:, 0]  # [B, K]
    return float(totals.square().mean().sqrt()) or 1.0, totals.shape[1]


def _rows(cells: Tensor, start: int) -> PositionedRows:
    """Return rows at the positions from ``start`` on."""
    return PositionedRows(cells, torch.arange(start, start + len(cells)))


def _chunks(cells: Tensor, coalitions: int) -> list[PositionedRows]:
    """Return all rows, in chunks of bounded work."""
    size = max(1, _CELLS_AT_ONCE // max(1, cells.shape[1] * coalitions))
    return [_rows(cells[k : k + size], k) for k in range(0, len(cells), size)]
