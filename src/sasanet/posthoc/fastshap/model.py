"""A model or a game in, a fitted :class:`FastSHAP` out, and rows in, explanations out.

Sizes: n rows, d features, m coalitions, K outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.explanation.explanation import Explanation
from sasanet.network.coalitions import add_up
from sasanet.posthoc.black_box import Predict
from sasanet.posthoc.fastshap.games import (
    UNITS,
    Game,
    GameRows,
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
from sasanet.posthoc.to_explanation import explained
from sasanet.shapley.game import names_to_mask, read_coalitions
from sasanet.table.encoder import TableEncoder
from sasanet.table.reading import read_table
from sasanet.training.loop import BatchLoss, Phase, Rows
from sasanet.validation import check_integer

Task = Literal["binary", "multiclass", "regression"]
_CELLS_AT_ONCE = 1 << 18  # of rows times coalitions
_SCALE_ROWS = 1000  # enough to tell how far the game reaches


class FastSHAP:
    """Train a network once that explains every later row in one pass.

    After :meth:`fit` the game is the surrogate's, E[f(x) | x_S] as a network learned it, on the
    scale of log-odds, log-probabilities or the target. After :meth:`fit_value` it is the value
    function given. A missing cell is an absent player with attribution 0.

    Parameters
    ----------
    width : int
        Units of both hidden layers of both networks.
    pairs : int
        Coalitions a row and step for the explainer, each with its complement.
    surrogate_steps, explainer_steps : int
        How long each network is trained.
    batch_size : int
        Rows a step.
    learning_rate : float
        Where it starts; it falls to zero.
    random_state : int
        Seed of weights, batches and coalitions.
    verbose : bool
        Whether to show progress bars.

    Attributes
    ----------
    history_ : dict of list of float
        The mean loss of every epoch, by network.
    units_ : str
        What one unit of an attribution means.

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
        """Learn to explain a black box: first the surrogate of its predictions, then φ.

        Parameters
        ----------
        X : table (n, d)
            Rows to learn on, without labels: numbers, words, missing cells.
        predict : callable
            X → probabilities (n,) of the second class or (n, 2) for ``"binary"``, (n, C) for
            ``"multiclass"``, numbers (n,) for ``"regression"``. It is called once, with X.
        task : {"binary", "multiclass", "regression"}
            What the predictions mean.
        output_names : sequence
            Class names for ``"multiclass"``; by default their positions.
        """
        self._check()
        table, cells = self._learn_columns(X)
        targets = read_predictions(predict(X), task, len(table))
        mean, scale = 0.0, 1.0
        if task == "regression":
            mean, scale = float(targets.mean()), float(targets.std()) or 1.0
        taught = torch.from_numpy(((targets - mean) / scale).astype(np.float32))
        rows = Rows(cells, taught, torch.ones(len(cells)))
        n_outputs = targets.shape[1] if task == "multiclass" else 1
        generator = torch.Generator().manual_seed(self.random_state)
        surrogate = self._make_network(n_outputs)
        phase = self._phase("surrogate", surrogate_loss(task), self.surrogate_steps)
        losses = learn(surrogate, rows, phase, generator, self.verbose)
        game = surrogate_game(surrogate, task, mean, scale)
        self._game_on: Callable[[pd.DataFrame], Game] = lambda _: game
        self.units_, self.output_names_ = UNITS[task], tuple(output_names)
        return self._fit_explainer(table, cells, generator, {"surrogate": losses})

    def fit_value(
        self, X: Any, value: TableValue, output_names: Sequence[Any] = (), units: str = "log-odds"
    ) -> Self:
        """Learn the Shapley values of a given value function; no surrogate is needed.

        Parameters
        ----------
        X : table (n, d)
            Rows to learn on.
        value : callable
            Rows (a DataFrame) and boolean coalitions (n, m, d) → v(S) as (n, m) or (n, m, K), such
            as ``model.value`` of a fitted SASANet. It is also asked when explaining, for both ends.
        output_names : sequence
            Names of the outputs; by default their positions.
        units : str
            What one unit of v means.
        """
        self._check()
        table, cells = self._learn_columns(X)
        self._game_on = lambda rows: table_game(value, rows)
        self.units_, self.output_names_ = units, tuple(output_names)
        generator = torch.Generator().manual_seed(self.random_state)
        return self._fit_explainer(table, cells, generator, {})

    def explain(self, X: Any) -> Explanation:
        """Return the attributions of every row in one pass.

        ``base_values + values.sum(axis=1)`` is v(N) of the game, which for a surrogate is its own
        estimate of the model's prediction.
        """
        table, cells = self._encode(X)
        game, found = self._game_on(table), []
        with torch.no_grad():
            for rows in _chunks(cells, 2):
                empty, full = game(rows, ends_of(rows)).unbind(1)
                said = attributions(self._explainer, rows.cells).double() * self._scale
                found.append((add_up(said, full - empty, rows.present), empty))
        values, base = (torch.cat(part).numpy() for part in zip(*found, strict=True))
        if self._one_output:
            values, base = values[..., 0], base[:, 0]
        return explained(values, base, table, self.output_names_, self.units_)

    def value(self, X: Any, coalitions: Any) -> Floats:
        """Return v(S) of the game that is explained, so that ``game_of(fast, X)`` is that game.

        Parameters
        ----------
        X : table (n, d)
            Rows.
        coalitions : bool array (d,), (n, d) or (n, m, d), or list of feature names
            Which features may be used.

        Returns
        -------
        ndarray (n,) or (n, m), with a last axis of length K for several outputs
        """
        table, cells = self._encode(X)
        n, d = cells.shape
        coalitions = names_to_mask(coalitions, self._encoder.names)
        remedy = "mark the known features with True, or give a list of names"
        masks = torch.from_numpy(np.array(read_coalitions(coalitions, n, d, remedy)))
        game, found = self._game_on(table), []
        with torch.no_grad():
            for rows in _chunks(cells, masks.shape[1]):
                asked = masks[rows.positions] if len(masks) > 1 else masks
                found.append(game(rows, asked & rows.present[:, None]))
        values: Floats = torch.cat(found).numpy()
        values = values[..., 0] if self._one_output else values
        return values if np.ndim(coalitions) == 3 else values[:, 0]

    # --- inside -------------------------------------------------------------------------------

    def _check(self) -> None:
        for name in ("width", "pairs", "surrogate_steps", "explainer_steps", "batch_size"):
            check_integer(name, getattr(self, name), 1, None, "leave it out for a tried value")
        check_integer("random_state", self.random_state, 0, None, "give a fixed seed such as 0")
        if not 0 < self.learning_rate < 1:
            raise InvalidInputError(
                f"learning_rate must be between 0 and 1, got {self.learning_rate!r}; "
                "leave it out for a tried value"
            )

    def _phase(self, name: str, loss: BatchLoss, steps: int) -> Phase:
        return Phase(
            name=name,
            loss=loss,
            steps=steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
        )

    def _make_network(self, n_outputs: int) -> CoalitionNetwork:
        with torch.random.fork_rng(devices=[]):  # weights, without a global seed
            torch.manual_seed(self.random_state)
            return CoalitionNetwork(self._encoder, self.width, n_outputs)

    def _learn_columns(self, X: Any) -> tuple[pd.DataFrame, Tensor]:
        self._encoder = TableEncoder().fit(X)
        return self._encode(X)

    def _encode(self, X: Any) -> tuple[pd.DataFrame, Tensor]:
        """Return the table in the order of training, and its cells [n, d]."""
        if not hasattr(self, "_encoder"):
            raise InvalidInputError(
                "FastSHAP must be fitted first, got it is not; call fit or fit_value"
            )
        table = read_table(X)
        cells = torch.from_numpy(self._encoder.transform(table))
        return (table[list(self._encoder.names)] if self._encoder.named else table), cells

    def _fit_explainer(
        self,
        table: pd.DataFrame,
        cells: Tensor,
        generator: torch.Generator,
        history: dict[str, list[float]],
    ) -> Self:
        """Train φ on the game of these rows and keep it."""
        game, rows = self._game_on(table), _rows(cells, 0)
        some = rows[torch.randperm(len(rows), generator=generator)[:_SCALE_ROWS]]
        with torch.no_grad():
            reach = game(some, ends_of(some)).diff(dim=1)[:, 0]  # v(N) − v(∅), [B, K]
        self._scale = float(reach.square().mean().sqrt()) or 1.0
        n_outputs = reach.shape[1]
        self._one_output = n_outputs == 1
        network = self._make_network(cells.shape[1] * n_outputs)
        loss = explainer_loss(game, self._scale, self.pairs)
        phase = self._phase("explainer", loss, self.explainer_steps)
        losses = learn(network, rows, phase, generator, self.verbose)
        self.history_ = {**history, "explainer": losses}
        self._explainer = network
        return self


def _rows(cells: Tensor, start: int) -> GameRows:
    """Return rows that know their positions in the table, from ``start`` on."""
    return GameRows(cells, torch.arange(start, start + len(cells)))


def _chunks(cells: Tensor, coalitions: int) -> list[GameRows]:
    """Return all rows in parts of bounded work."""
    size = max(1, _CELLS_AT_ONCE // max(1, cells.shape[1] * coalitions))
    return [_rows(cells[k : k + size], k) for k in range(0, len(cells), size)]
