"""SASANet as an estimator: recipe, teacher, refined attributions, coalitions, audit and files.

What it shares with any other network of a table is in :mod:`sasanet.fitting`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from sasanet import inference
from sasanet.architecture import Architecture, named
from sasanet.encoder import TableEncoder
from sasanet.errors import InvalidInputError
from sasanet.explanation import Explanation
from sasanet.fitting import Floats, Material, TabularModel, put_rows
from sasanet.network import SASANet
from sasanet.posthoc.game import names_to_mask, read_coalitions
from sasanet.recipe import Recipe, make_phases, resolve
from sasanet.refinement import refined
from sasanet.teacher import Lesson, teach
from sasanet.training import TrainingConfig

if TYPE_CHECKING:
    from sasanet.audit import Audit

_AT_LEAST = 0.01  # seconds left for training, whatever the trees took


class SelfExplainingModel(TabularModel):
    """What SASANet's classifier and regressor share."""

    network_: SASANet

    def __init__(  # noqa: PLR0913 - the constructor is where scikit-learn keeps settings
        self,
        network: str | Architecture = "set",
        *,
        preset: str = "default",
        learning_rate: float | str = "auto",
        weight_decay: float = 1e-2,
        dropout: float | str = "auto",
        batch_size: int | str = "auto",
        max_epochs: int | str = "auto",
        patience: int | str = "auto",
        attribution_steps: int | str = "auto",
        validation_fraction: float | str = "auto",
        teacher: float | str = "auto",
        time_limit: float = math.inf,
        categorical: Sequence[str | int] = (),
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.network = network
        self.preset = preset
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.attribution_steps = attribution_steps
        self.validation_fraction = validation_fraction
        self.teacher = teacher
        self.time_limit = time_limit
        self.categorical = categorical
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------

    def _resolve(self, n_rows: int, clarity: float = 0.0) -> Recipe:
        return resolve(self.get_params(deep=False), n_rows, clarity)

    def _make_encoder(self) -> TableEncoder:
        architecture = named(self.network)
        numbers = "knots" if architecture.numbers == "knots" else "standard"
        return TableEncoder(numbers, architecture.n_knots, self.categorical)

    def _train(self, material: Material) -> None:
        """Train a network on cells, labels and weights, after the trees' lesson."""
        if hasattr(self, "audit_"):
            del self.audit_  # it certified the fit that ends here
        start, recipe = time.monotonic(), self._resolve(material.n_rows)
        cells, labels, weights = material.cells, material.labels, material.weights
        task, threads = self.target_.task, torch.get_num_threads()
        lesson = Lesson(task, recipe.teacher, recipe.time_limit / 3, threads, material.seed)
        taught = teach(cells, labels, weights, self.encoder_.levels, lesson)
        recipe = self._resolve(material.n_rows, taught.clarity)
        rows = put_rows(cells, taught.labels, weights, material.device)
        base = torch.tensor(self.target_.network_base, dtype=torch.float32, device=material.device)
        config = TrainingConfig(
            task=task,
            base=base,
            phases=make_phases(recipe, len(rows)),
            full_share=recipe.architecture.full_share,
            weight_decay=recipe.weight_decay,
            patience=recipe.patience,
            time_limit=max(recipe.time_limit - (time.monotonic() - start), _AT_LEAST),
            verbose=recipe.verbose,
        )
        cap = self.target_.cap(len(rows))

        def make_network() -> SASANet:
            return self._make_network(recipe.architecture, cap, recipe.dropout)

        self._keep(make_network, rows, config, material)

    def _make_network(self, architecture: Architecture, cap: float, dropout: float) -> SASANet:
        return SASANet(self._columns, len(self.target_.base), architecture, cap, dropout)

    # --- using --------------------------------------------------------------------------------

    def explain(self, X: Any, refine: int | float = 0) -> Explanation:
        """Return the attributions of every prediction, in one forward pass.

        Parameters
        ----------
        X : table (n, d)
            Rows to explain; cells may be missing, and have attribution exactly 0.
        refine : int or float, default=0
            Correct the attributions by random coalitions: the result is unbiased and ``error_std``
            holds its standard errors. An integer is an effort, in orders of the features (at least
            4; an order is worth d − 1 evaluations of the model). A float is a standard error to
            reach, in the units of the attributions: ``refine=0.01`` goes on until each one's is
            below 0.01, or warns that 10,000 orders did not suffice.

        Returns
        -------
        Explanation
            ``base_values + values.sum(axis=1)`` is the raw prediction.
        """
        table, cells = self._encode(X)
        self._check_explains()
        found, scale = inference.attributions(self.network_, cells), self.target_.scale
        if not refine:
            return self._explanation(table, found.numpy() * scale)
        found, noise = self._refine(cells, found, refine)
        return self._explanation(table, found.numpy() * scale, noise.numpy() * scale)

    def _check_explains(self) -> None:
        if self.network_.attribution is None:
            raise InvalidInputError(
                "explain needs a Shapley module, however: this model was built with "
                "attribution='none' (the ablation SASANet-d); fit one with another attribution"
            )

    def profiles(self, X: Any) -> Floats:
        """Return what each feature adds from coming first to coming last in an order: φ_{i,k}.

        The points divide that way evenly; their mean over positions is the attribution (Lemma 3.9),
        and of a missing cell they are 0. Shape: (n, d, points), for multiclass (n, d, points, C).

        Examples
        --------
        >>> from sasanet import SASANetRegressor
        >>> model = SASANetRegressor(max_epochs=1).fit([[0, 1], [1, 1], [2, 5]], [1.0, 2.0, 3.0])
        >>> model.profiles([[1, 5]]).shape
        (1, 2, 8)
        """
        _, cells = self._encode(X)
        self._check_explains()
        found = inference.profiles(self.network_, cells).numpy() * self.target_.scale
        return np.asarray(found[..., 0] if found.shape[-1] == 1 else found)

    def _refine(self, cells: Tensor, values: Tensor, effort: float) -> tuple[Tensor, Tensor]:
        """Return refined attributions and their errors, in the network's units."""
        number = isinstance(effort, Integral) and not isinstance(effort, bool) and effort >= 4
        error = isinstance(effort, Real) and not isinstance(effort, Integral) and effort > 0
        if not number and not (error and math.isfinite(effort)):
            raise InvalidInputError(
                "refine must be 0, a number of orders of at least 4, or a standard error as a "
                f"float above 0, however: {effort!r}"
            )
        wanted = int(effort) if number else float(effort) / self.target_.scale
        # One seed for every call: an explanation does not change when it is asked for again.
        generator = torch.Generator().manual_seed(0)
        totals = inference.outputs(self.network_, cells)
        return refined(self.network_, cells, values, totals, wanted, generator)

    def value(self, X: Any, coalitions: Any) -> Floats:
        """Return the model's raw output when only some features are known.

        Parameters
        ----------
        X : table (n, d)
            Rows.
        coalitions : bool array (d,), (n, d) or (n, m, d), or list of feature names
            Which features may be used: for all rows, per row, or m times per row. Missing cells
            are absent whatever the coalition says.

        Returns
        -------
        ndarray (n,) or (n, m), with a last axis of length C for multiclass
            v(S) on the raw scale: of no feature the base value, of all of them the prediction.
        """
        _, cells = self._encode(X)
        masks = self._read_coalitions(coalitions, len(cells))
        output = inference.coalition_outputs(self.network_, cells, masks)
        values = self.target_.to_raw(output.numpy())
        values = values[..., 0] if values.shape[-1] == 1 else values
        return values if np.ndim(coalitions) == 3 else values[:, 0]

    def _read_coalitions(self, coalitions: Any, n_rows: int) -> Tensor:
        """Return coalitions as [1 or n, m, d] bool."""
        coalitions = names_to_mask(coalitions, self.encoder_.names)
        remedy = "mark the known features with True, or give a list of names"
        masks = read_coalitions(coalitions, n_rows, self.n_features_in_, remedy)
        return torch.from_numpy(np.array(masks))  # a copy: it may be read-only

    def audit(
        self,
        X: Any,
        y: Any = None,
        *,
        n_rows: int = 256,
        n_orders: int = 400,
        random_state: int = 0,
    ) -> Audit:
        """Measure how true the attributions are on given rows: see :func:`sasanet.audit.audit`.

        The certificate is kept as ``audit_`` and saved with the model, until the next ``fit``.
        """
        from sasanet.audit import audit  # audit stands above this room

        self.audit_ = audit(self, X, y, n_rows=n_rows, n_orders=n_orders, random_state=random_state)
        return self.audit_

    def save(self, path: str | Path) -> None:
        """Write the model to a directory: safetensors and JSON, no pickle, no training data."""
        from sasanet.persistence import save_model  # persistence stands above this room

        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that :meth:`save` wrote; :func:`sasanet.load` finds the class itself."""
        from sasanet.persistence import load  # persistence stands above this room

        model = load(path)
        if not isinstance(model, cls):
            raise InvalidInputError(
                f"{path} must hold a {cls.__name__}, however: a {type(model).__name__}; "
                "sasanet.load finds the class itself"
            )
        return model
