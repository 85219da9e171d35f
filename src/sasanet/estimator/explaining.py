"""What a fitted model says about rows: attributions, position profiles, values of coalitions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.estimator.certified import CertifiedModel
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.players import Players, read_players
from sasanet.network import inference
from sasanet.network.attribution.closed_form import ClosedFormAttribution
from sasanet.network.attribution.distilled import can_distil
from sasanet.network.attribution.probability import Link
from sasanet.network.player_game import Game, PlayerGame
from sasanet.network.refinement.effort import read_effort
from sasanet.network.refinement.pairs import refined_pairs
from sasanet.network.refinement.run import refined
from sasanet.network.sasanet import SASANet
from sasanet.shapley.game import names_to_mask, read_coalitions
from sasanet.table.sources import frames_of, is_source
from sasanet.table.target import to_probability
from sasanet.training.distillation import distil
from sasanet.validation import check_integer, read_choice, read_real

Groups = Mapping[str, Sequence[str]]
_NAMES = {"probability": "probability", "response": "rate"}  # units of explanations
_GOOD = 0.998  # R² from which on the learned module explains by default
_FEWEST_TAUGHT, _MOST_TAUGHT = 4_000, 12_000  # rows, by default


class ExplainingModel(CertifiedModel):
    """A model that explains its predictions, and predicts from any coalition of its features."""

    network_: SASANet
    learned_attributions_: dict[str, Any]

    def explain(
        self,
        X: Any,
        *,
        n_orders: int = 0,
        max_error: float | None = None,
        groups: Groups | None = None,
        within: bool = False,
        units: str = "raw",
        method: str = "auto",
    ) -> Explanation:
        """Return the attributions of every prediction, in one forward pass.

        Parameters
        ----------
        X : table (n, d), or source
            Rows to explain; cells may be missing, and have attribution exactly 0. A source (Parquet
            files, datasets, streams, as in ``fit``) is read whole: for more rows than memory holds
            there is :func:`sasanet.scale.explain_batches`.
        n_orders : int, default=0
            Refine the attributions: a closer formula, corrected by random coalitions worth so many
            orders of the features (at least 4; an order costs d − 1 evaluations of the model).
            Rows with at most 11 present features become exact. ``error_std`` holds the expected
            size of the error that is left.
        max_error : float, optional
            Refine until the standard error of each attribution is below this, in the units of the
            attributions, or warn that 10,000 orders were not enough.
        groups : dict of str to list of str, optional
            Groups of columns, by name: each is one player with a Shapley value of its own, which is
            not the sum of its members'; that is ``explain(X).sum_of_members(groups)``. Other
            columns stay players of their own.
        within : bool, default=False
            Divide the value of every group among its columns (Owen values): what each adds while
            groups come and go as wholes. They add up to ``explain(X, groups=groups)`` by group.
        units : {"raw", "probability", "response"}, default="raw"
            ``"probability"``, of a classifier: Shapley values of the probability itself, the game
            σ(v(S)). They add up to it, and are no rescaled log-odds. Of two classes it is the
            probability of the second. ``"response"``, of a regressor whose raw output is a log
            rate: Shapley values of the rate, which add up to the prediction.
        method : {"auto", "formula", "learned"}, default="auto"
            ``"learned"``: by the module that :meth:`learn_attributions` has taught, many times
            faster; rows unlike those it was taught get the formula's attributions. ``"auto"``: that
            module, where the model has one whose R² on held-out rows as given is at least 0.998,
            and the formula everywhere else, also for groups, probabilities and refined values.

        Returns
        -------
        Explanation
            ``base_values + values.sum(axis=1)`` is the prediction in these units.
        """
        effort, groups = read_effort(n_orders, max_error), None if groups == {} else groups
        table, cells = self._encode(X)
        game = self._game(groups, units)
        self._check_within(within, groups, effort)
        plain = effort is None and groups is None and units == "raw"
        quickly = self._explains_quickly(method, plain)
        values, totals = inference.attributions_and_outputs(game, cells, quickly)
        scale, errors = self.target_.scale, None
        if effort is not None:
            wanted = effort if isinstance(effort, int) else effort / scale
            # One seed for every call: an explanation does not change when it is asked for again.
            generator = torch.Generator().manual_seed(0)
            values, noise = refined(game, cells, values, totals, wanted, generator)
            errors = noise.numpy() * scale
        if within:
            assert isinstance(game, PlayerGame)
            values = inference.members(game, cells, values)
        by_player = groups is not None and not within
        players = read_players(groups, self.encoder_.names) if by_player else None
        scaled = values.numpy()
        scaled *= scale  # in place: of a million rows it is a third of a gigabyte
        found = self._explanation(table, scaled, errors, players)
        found = replace(found, words=words) if (words := self._words(table, cells)) else found
        if units != "raw":
            base = self._in_units(self.base_value_, units)
            base = np.broadcast_to(base if len(base) > 1 else base[0], found.base_values.shape)
            found = replace(found, base_values=base, units=_NAMES[units])
        return replace(found, units=f"{found.units} (within groups)") if within else found

    def _check_within(self, within: bool, groups: Groups | None, effort: Any) -> None:
        """Refuse values of members without groups, refined, or of several quantiles."""
        if not within:
            return
        if groups is None or effort is not None:
            what = "no groups" if groups is None else "n_orders or max_error"
            raise InvalidInputError(
                "within=True divides the values of groups among their columns by the formula, got "
                f"{what} beside it; give groups, and no effort"
            )
        if len(self.target_.quantiles) > 1:
            raise InvalidInputError(
                "within=True needs one output or classes, got several quantiles; fit one quantile"
            )

    def _game(self, groups: Groups | None, units: str = "raw") -> Game:
        """Return the game to explain: the network's own, or with other players or units."""
        self._check_explains()
        self._check_units(units)
        if (groups is None or groups == {}) and units == "raw":
            return self.network_
        base = torch.tensor(self.target_.base, dtype=torch.float64)
        link = None if units == "raw" else Link(base, is_rate=units == "response")
        return self._player_game(groups, link)

    def _player_game(self, groups: Groups | None, link: Link | None = None) -> PlayerGame:
        """Return the game of groups and single columns; with a link, that of what is predicted."""
        if not self.network_.is_set:
            raise InvalidInputError(
                "groups, units and interactions need the set network, whose value is a function of "
                "a sum, got the sequence network; fit one with network='set'"
            )
        players = read_players(groups, self.encoder_.names)
        return PlayerGame(self.network_, torch.from_numpy(players.membership), link)

    def _check_units(self, units: str) -> None:
        read_choice("units", units, ("raw", *_NAMES))
        if units == "response" and not self.target_.has_log_link:
            raise InvalidInputError(
                "units='response' is for regressors that learn log rates (objective 'poisson', "
                f"'gamma' or 'tweedie'), got {self._kind()}"
            )
        if units == "probability" and self.target_.task == "regression":
            raise InvalidInputError(
                "units='probability' is for classifiers, got a regressor; "
                "its attributions are in the units of the target already, or, of log rates, "
                "with units='response'"
            )

    def _kind(self) -> str:
        """Return what the model is, and which units it has, for the sentence of an error."""
        if self.target_.task == "regression":
            return f"objective={self.target_.objective!r}, explained in the target's units already"
        return "a classifier, which has units='probability'"

    def _in_units(self, raw: Floats, units: str) -> Floats:
        """Return raw predictions in other units: [..., K] → [..., K]."""
        if units == "raw":
            return raw
        return self.target_.to_target(raw) if units == "response" else to_probability(raw)

    def learn_attributions(
        self,
        X: Any,
        *,
        n_rows: int | None = None,
        time_limit: float = math.inf,
        random_state: int = 0,
    ) -> Self:
        """Teach a small module the formula's attributions: explanations become many times faster.

        The model predicts as before, and ``save`` keeps the module. Half of the rows it learns from
        are as given, in the others cells are missing or replaced. ``learned_attributions_`` says
        how close it came to the formula on held-out rows.

        Parameters
        ----------
        X : table (n, d)
            Rows such as will be explained: those of training, for example. No labels are needed.
        n_rows : int, optional
            Rows to learn from; by default as many as X has, but 4,000 to 12,000.
        time_limit : float, default=inf
            Seconds; fewer rows and steps are then taken, where needed.
        random_state : int, default=0
            Seed for drawing rows and batches.

        Returns
        -------
        self

        Examples
        --------
        >>> from sasanet import SASANetClassifier
        >>> from sasanet.datasets import load_german_credit
        >>> X, y = load_german_credit()
        >>> model = SASANetClassifier(max_epochs=1, teacher_weight=0, random_state=0).fit(X, y)
        >>> model = model.learn_attributions(X, n_rows=400)
        >>> model.explain(X, method="learned").values.shape
        (1000, 20)
        """
        _, cells = self._encode(X)
        self._check_can_learn()
        read_real({"time_limit": time_limit}, "time_limit", above=0)
        remedy = "the module needs some rows to learn from"
        wanted = min(max(len(cells), _FEWEST_TAUGHT), _MOST_TAUGHT) if n_rows is None else n_rows
        wanted = check_integer("n_rows", wanted, 200, None, remedy)
        seed = check_integer("random_state", random_state, 0, 2**63 - 1, "give a seed such as 0")
        generator = torch.Generator().manual_seed(seed)
        module, record = distil(self.network_, cells, wanted, time_limit, generator)
        record["rmse"] = {kind: self.target_.scale * size for kind, size in record["rmse"].items()}
        self.network_.distilled, self.learned_attributions_ = module, record
        return self

    def _check_can_learn(self) -> None:
        if bags := [column.name for column in self.encoder_.columns if column.parts]:
            raise InvalidInputError(
                "learn_attributions needs columns of numbers and categories, got others: "
                f"{', '.join(map(repr, bags[:5]))}; their attributions come from the formula"
            )
        formula = isinstance(self.network_.attribution, ClosedFormAttribution)
        if not formula or not can_distil(self.network_.marginal):
            raise InvalidInputError(
                "learn_attributions needs a network whose attributions come from the formula, with "
                "knots for numbers, got another; fit one with network='set'"
            )

    def _explains_quickly(self, method: str, plain: bool = True) -> bool:
        """Tell whether the learned module explains; ``plain``: nothing but φ is asked for."""
        read_choice("method", method, ("auto", "formula", "learned"))
        taught = self.network_.distilled is not None
        if method == "learned" and not taught:
            raise InvalidInputError(
                "method='learned' needs a module that has been taught, got a model without one; "
                "call learn_attributions(X) first"
            )
        if method == "learned" and not plain:
            raise InvalidInputError(
                "method='learned' explains single columns in raw units, got groups, other units, "
                "n_orders or max_error beside it; use method='formula'"
            )
        if method == "auto":
            return taught and plain and self.learned_attributions_["r2"]["as given"] >= _GOOD
        return method == "learned"

    def _check_explains(self) -> None:
        if self.network_.attribution is None:
            raise InvalidInputError(
                "explain needs a Shapley module, got this model was built with "
                "attribution='none' (the ablation SASANet-d); fit one with another attribution"
            )

    def interactions(self, X: Any, *, groups: Groups | None = None, n_orders: int = 0) -> Floats:
        """Return what every pair of features adds together, by formula.

        Parameters
        ----------
        X : table (n, d)
            Rows; pairs with a missing cell have interaction exactly 0.
        groups : dict of str to list of str, optional
            As in :meth:`explain`: the players are then p groups and single columns.
        n_orders : int, default=0
            Refine them: rows with at most 13 present players become exact, pairs of the others are
            corrected by so many random coalitions each (at least 4), as far as their error allows.

        Returns
        -------
        ndarray (n, d, d), for multiclass (n, d, d, C)
            Φ, symmetric. Off the diagonal Φ_ij = I_ij / 2, half of the Shapley interaction index
            of :func:`sasanet.shapley.exact_interactions`: the other half is Φ_ji. On the diagonal
            Φ_ii = φ_i − Σ_{j≠i} Φ_ij, so that rows sum to the attributions of :meth:`explain`, and
            all of it to the prediction less the base value, as in shap. Rows with at most nine
            present features are exact.

        Examples
        --------
        >>> from sasanet import SASANetRegressor
        >>> model = SASANetRegressor(max_epochs=1).fit([[0, 1], [1, 1], [2, 5]], [1.0, 2.0, 3.0])
        >>> model.interactions([[1, 5]]).shape
        (1, 2, 2)
        """
        effort = read_effort(n_orders, None)
        _, cells = self._encode(X)
        game = self._player_game(groups)
        values, _ = inference.attributions_and_outputs(self._game(groups), cells)
        pairs = inference.interactions(game, cells)
        if isinstance(effort, int):
            pairs = refined_pairs(game, cells, pairs, effort)[0]
        pairs = pairs / 2
        pairs.diagonal(dim1=1, dim2=2).copy_((values - pairs.sum(2)).mT)
        found = pairs.numpy() * self.target_.scale
        return np.asarray(found[..., 0] if found.shape[-1] == 1 else found)

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

    def value(
        self, X: Any, coalitions: Any, *, groups: Groups | None = None, units: str = "raw"
    ) -> Floats:
        """Return the model's raw output when only some features are known.

        Parameters
        ----------
        X : table (n, d), or source
            Rows; a source is read part by part.
        coalitions : bool array (d,), (n, d) or (n, m, d), or list of feature names
            Which features may be used: for all rows, per row, or m times per row. Missing cells
            are absent whatever the coalition says.
        groups : dict of str to list of str, optional
            As in :meth:`explain`: the coalitions are then of its players, in the order of its
            ``feature_names``.
        units : {"raw", "probability", "response"}, default="raw"
            As in :meth:`explain`.

        Returns
        -------
        ndarray (n,) or (n, m), with a last axis of length C for multiclass
            v(S) in these units: of no feature the base value, of all of them the prediction.
        """
        if is_source(X):
            return self._value_by_part(X, coalitions, groups, units)
        _, cells = self._encode(X)
        self._check_units(units)
        players = read_players(groups, self.encoder_.names)
        masks = self._read_coalitions(coalitions, len(cells), players)
        output = inference.coalition_outputs(self.network_, cells, masks)
        values = self.target_.to_raw(output.numpy())
        values = self._in_units(values, units)
        values = values[..., 0] if values.shape[-1] == 1 else values
        return values if np.ndim(coalitions) == 3 else values[:, 0]

    def _value_by_part(self, X: Any, coalitions: Any, groups: Groups | None, units: str) -> Floats:
        """Return :meth:`value` of a source, which is read part by part."""
        by_row, first, found = np.ndim(coalitions) > 1, 0, []
        for rows in frames_of(X, self.encoder_.names):
            some = np.asarray(coalitions)[first : first + len(rows)] if by_row else coalitions
            found.append(self.value(rows, some, groups=groups, units=units))
            first += len(rows)
        if by_row and len(coalitions) != first:
            raise InvalidInputError(
                f"coalitions must be as many as the {first:,} rows, got {len(coalitions):,}; mark "
                "the known features of each row with True"
            )
        return np.concatenate(found)

    def _read_coalitions(self, coalitions: Any, n_rows: int, players: Players) -> Tensor:
        """Return coalitions of players as coalitions of features: [1 or n, m, d] bool."""
        coalitions = names_to_mask(coalitions, players.names)
        remedy = "mark the known features with True, or give a list of names"
        masks = read_coalitions(coalitions, n_rows, len(players.names), remedy)
        owner = players.membership.argmax(axis=0)  # the player of each feature
        return torch.from_numpy(masks[..., owner])
