"""A table and labels in, a fitted model out: scikit-learn's contract, nothing else.

``fit`` reads: check, encode, configure, train, keep. What classifier and regressor do not share,
the meaning of the target, is in :mod:`sasanet.targets`.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from torch import Tensor

from sasanet import inference
from sasanet.architecture import Architecture
from sasanet.encoder import TableEncoder
from sasanet.errors import InterruptedFitWarning, InvalidInputError
from sasanet.explanation import Explanation
from sasanet.network import Columns, SASANet
from sasanet.posthoc.game import read_coalitions
from sasanet.recipe import Recipe, make_phases, resolve
from sasanet.refinement import refined
from sasanet.table import check_unique_names, read_table
from sasanet.targets import Target
from sasanet.teacher import Lesson, teach
from sasanet.training import Rows, TrainingConfig, train

if TYPE_CHECKING:
    from sasanet.audit import Audit

Floats = NDArray[np.float64]
_AT_LEAST = 0.01  # seconds left for training, whatever the trees took


class SelfExplainingModel(BaseEstimator):
    """What the classifier and the regressor share.

    A subclass says how to read labels (:meth:`_read_target`) and what its predictions are called.
    """

    def __init__(  # noqa: PLR0913 - the constructor is where scikit-learn keeps settings
        self,
        network: str | Architecture = "set",
        *,
        preset: str = "default",
        learning_rate: float = 2e-3,
        weight_decay: float = 1e-2,
        dropout: float | str = "auto",
        batch_size: int | str = "auto",
        max_epochs: int | str = "auto",
        patience: int = 8,
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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : table (n, d)
            A DataFrame (numbers, strings, categories, booleans; missing cells are absent players),
            an array, or any table pandas can read through Arrow.
        y : array-like (n,)
            Labels.
        sample_weight : array-like (n,), optional
            How much each row counts, in both losses.
        validation : (X, y), optional
            Rows that decide when to stop; by default ``validation_fraction`` of the training rows.

        Returns
        -------
        self
        """
        table, y, weights = self._check(X, y, sample_weight)
        recipe = resolve(self.get_params(deep=False), len(table))
        random = check_random_state(self.random_state)
        device = inference.pick_device(self.device)
        target = self._read_target(y, weights)
        held_out = target.hold_out(0 if validation else recipe.validation_fraction, random)
        numbers = "knots" if recipe.architecture.numbers == "knots" else "standard"
        encoder = TableEncoder(numbers, recipe.architecture.n_knots, self.categorical)
        # Levels that only held-out rows have are learned as unseen, and are no news to the user.
        cells = encoder.fit(table[~held_out]).transform(table, warn=False)
        stop = None
        if validation:
            stop = self._validation_rows(validation, encoder, target, device)
        elif weights[held_out].any():
            stop = _rows(cells[held_out], target.numbers[held_out], weights[held_out], device)
        if hasattr(self, "audit_"):
            del self.audit_  # it certified the fit that ends here
        self.encoder_, self.target_ = encoder, target.forget_labels()
        learn = cells[~held_out], target.numbers[~held_out], weights[~held_out]
        self._train(learn, stop, recipe, device, random.randint(2**31 - 1))
        return self

    def _check(self, X: Any, y: Any, sample_weight: Any) -> tuple[pd.DataFrame, Any, Floats]:
        """Refuse what cannot be learned from; remember the columns the scikit-learn way."""
        table = read_table(X)
        check_unique_names(table)  # before scikit-learn meets them
        if y is None:
            raise InvalidInputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        check_consistent_length(table, y)
        validate_data(self, table if hasattr(X, "columns") else X, skip_check_array=True)
        self.n_features_in_ = table.shape[1]
        weights = _check_sample_weight(sample_weight, np.empty((len(table), 1)), dtype=np.float64)
        if (weights < 0).any() or weights.sum() <= 0:
            raise InvalidInputError(
                "sample_weight must be at least 0 and not all 0, "
                f"however: the smallest is {weights.min()} and the sum {weights.sum()}"
            )
        return table, y, weights

    def _validation_rows(
        self, validation: tuple[Any, Any], encoder: TableEncoder, target: Target, device: Any
    ) -> Rows:
        table, labels = read_table(validation[0]), validation[1]
        check_consistent_length(table, labels)
        return _rows(encoder.transform(table), target.read(labels), np.ones(len(table)), device)

    def _train(
        self,
        learn: tuple[NDArray[np.float32], Floats, Floats],
        validation: Rows | None,
        recipe: Recipe,
        device: torch.device,
        seed: int,
    ) -> None:
        """Train a network on cells, labels and weights, after the trees' lesson."""
        start, (cells, labels, weights) = time.monotonic(), learn
        task, threads = self.target_.task, torch.get_num_threads()
        lesson = Lesson(task, recipe.teacher, recipe.time_limit / 3, threads, seed)
        taught = teach(cells, labels, weights, self.encoder_.levels, lesson)
        recipe = resolve(self.get_params(deep=False), recipe.n_rows, taught.clarity)
        rows = _rows(cells, taught.labels, weights, device)
        config = TrainingConfig(
            task=task,
            base=torch.tensor(self.target_.network_base, dtype=torch.float32, device=device),
            phases=make_phases(recipe, len(rows)),
            full_share=recipe.architecture.full_share,
            weight_decay=recipe.weight_decay,
            patience=recipe.patience,
            time_limit=max(recipe.time_limit - (time.monotonic() - start), _AT_LEAST),
            verbose=recipe.verbose,
        )
        forked = [device] if device.type == "cuda" else []
        with torch.random.fork_rng(forked):  # weights and dropout, without a global seed
            torch.manual_seed(seed)
            cap = self.target_.cap(len(rows))
            network = self._make_network(recipe.architecture, cap, recipe.dropout).to(device)
            generator = torch.Generator().manual_seed(seed)
            history = train(network, rows, validation, config, generator)
        self.network_, self.history_ = network, history.epochs
        if history.interrupted:
            warnings.warn(
                "Training was interrupted: the model is the best state so far. "
                "Call fit again to train to the end.",
                InterruptedFitWarning,
                stacklevel=3,
            )

    def _make_network(self, architecture: Architecture, cap: float, dropout: float) -> SASANet:
        columns = Columns(self.encoder_.places, self.encoder_.is_number)
        return SASANet(columns, len(self.target_.base), architecture, cap, dropout)

    # --- using --------------------------------------------------------------------------------

    @property
    def base_value_(self) -> Floats:
        """φ0 per output, raw scale: what is predicted when nothing is known."""
        return np.array(self.target_.base)

    def _encode(self, X: Any) -> tuple[pd.DataFrame, Tensor]:
        check_is_fitted(self)
        table = read_table(X)
        if not hasattr(X, "columns"):  # names are the encoder's: it repairs a changed order
            validate_data(self, X, reset=False, skip_check_array=True)
        return table, torch.from_numpy(self.encoder_.transform(table))

    def _raw(self, X: Any) -> Floats:
        """Return the raw output of every row: [n, K]."""
        _, cells = self._encode(X)
        return self.target_.to_raw(inference.outputs(self.network_, cells).numpy())

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
        errors = None
        if refine:
            found, noise = self._refine(cells, found, refine)
            errors = noise.numpy() * scale
        values = found.numpy() * scale
        names = self.encoder_.names
        table = table.set_axis([str(label) for label in table.columns], axis=1)
        single = len(self.base_value_) == 1
        base = np.tile(self.base_value_, (len(values), 1))
        return Explanation(
            values=values[..., 0] if single else values,
            base_values=base[:, 0] if single else base,
            data=table[list(names)] if self.encoder_.named else table,
            feature_names=names,
            output_names=() if single else tuple(map(str, self.target_.labels)),
            error_std=errors if errors is None or not single else errors[..., 0],
            units=self.target_.units,
        )

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
        d, names = self.n_features_in_, self.encoder_.names
        if isinstance(coalitions, list | tuple) and all(isinstance(c, str) for c in coalitions):
            if unknown := sorted(set(coalitions) - set(names)):
                raise InvalidInputError(f"coalitions must name features, however: {unknown}")
            coalitions = np.array([name in coalitions for name in names])
        remedy = "mark the known features with True, or give a list of names"
        masks = read_coalitions(coalitions, n_rows, d, remedy)
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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def _read_target(self, y: Any, weights: Floats) -> Target:
        raise NotImplementedError


def _rows(cells: Any, targets: Floats, weights: Floats, device: Any) -> Rows:
    """Put encoded rows on the device; weights are relative, so their mean becomes 1."""
    tensors = (cells, targets, weights / weights.mean())
    return Rows(*(torch.as_tensor(part, dtype=torch.float32).to(device) for part in tensors))
